"""``NAME=value``, ``export``, ``local``, ``unset``: what they do to a shell's variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from pathtrace.tracer.launch.open_text import opened
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.shell_arithmetic import integer
from pathtrace.tracer.manifests.shell_commands import Assigned, assignment_of
from pathtrace.tracer.manifests.shell_state import Field, Variable, joined

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_walk import Walker

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def set_variable(walker: Walker, node: Node) -> None:
    """``NAME=value``."""
    assigned = assignment_of(node, walker.source)
    if assigned is not None:
        assign(walker, assigned)


def run_declaration(walker: Walker, node: Node) -> None:
    """``export``, ``declare``, ``local``, ``readonly`` and ``unset``."""
    words: list[tuple[Field, Assigned | None]] = []
    for child in node.children[1:]:
        if child.type == "variable_assignment":
            assigned = assignment_of(child, walker.source)
            if assigned is not None:
                place = walker.source.spot(child.start_byte)
                words.append((Field(assigned.name, place), assigned))
        elif child.is_named and child.type != "comment":
            fields = walker.expander.fields(walker.source.of(child), child.start_byte)
            words += [(each, None) for each in fields]
    declare(walker, walker.source.of(node.children[0]), words)


def declare(walker: Walker, command: str, words: Sequence[tuple[Field, Assigned | None]]) -> None:
    """Run a declaration whose words are filled in."""
    options = "".join(each.text[1:] for each, assigned in words if assigned is None and each.text.startswith("-"))
    off = command == "export" and "n" in options
    exports = (command == "export" and not off) or (
        command in ("declare", "typeset", "local", "readonly") and "x" in options
    )
    for each, assigned in words:
        text = each.text
        if assigned is None and (each.any_words or text.startswith(("-", "+"))):
            if each.any_words:
                walker.state.source()
            continue
        if command == "unset":
            _unset(walker, text, options)
            continue
        name, equals, value = text.partition("=")
        name = assigned.name if assigned is not None else name
        if not _NAME.fullmatch(name) or ("f" in options):
            continue
        local = command == "local" or (command in ("declare", "typeset") and "g" not in options and bool(walker.names))
        if local:
            walker.local(name)
        if assigned is not None:
            assign(walker, assigned, export=exports)
        elif equals:
            walker.state.assign(name, Variable(value, spot=each.spot, notes=each.notes), export=exports)
        elif local or "a" in options or "A" in options:
            empty = () if "a" in options or "A" in options else None
            if local or walker.state.variable(name) is None:
                walker.state.put(name, Variable(None, empty))
        if off:
            walker.state.export(name, on=False)
        elif exports:
            walker.state.export(name, on=True)
        if "n" in options and command != "export":
            walker.state.open_up([name], "it stands for another variable")


def _unset(walker: Walker, name: str, options: str) -> None:
    if "f" in options:
        walker.state.undefine(name)
    elif _NAME.fullmatch(name):
        walker.state.put(name, Variable(None))
    elif "[" in name:
        walker.state.open_up([name.partition("[")[0]], "an element of it is removed")


def assign(walker: Walker, each: Assigned, *, export: bool = False) -> None:
    """Set a variable as an assignment says."""
    walker.state.assign(each.name, variable_of(walker, each), export=export)


def variable_of(walker: Walker, each: Assigned) -> Variable:
    """The variable that an assignment makes."""
    state, expander = walker.state, walker.expander
    spot = walker.source.spot(each.offset - len(each.name) - 1 - each.append - len(each.index or ""))
    place = walker.source.spot(each.offset)
    before = state.variable(each.name)
    if each.array is not None:
        elements: list[Field] = []
        expander.vanished = ()
        for text, offset in each.array:
            if re.match(r"\[[^\]]*\]=", text):
                source = f"${{{each.name}[@]}}"
                reason = f"{source} may hold any flags: its elements are set by name; write the flags in its place"
                elements.append(Field(opened(source), place, any_words=reason, listed=True))
            else:
                elements += expander.fields(text, offset)
        if each.append:
            elements = [*_elements(each.name, before, place), *elements]
        expander.budget.spend(sum(50 + len(element.text) for element in elements))
        notes = joined(before.notes if each.append and before is not None else (), expander.vanished)
        return Variable("", tuple(elements), spot=spot, notes=notes)
    answer = expander.value(each.value)
    value = answer.as_text()
    notes = answer.notes
    if each.index is not None:
        elements = list(_elements(each.name, before, place)) if before is not None else []
        number = integer(each.index[1:-1])
        plain = not any(element.any_words for element in elements)
        if number is not None and plain and 0 <= number <= len(elements) and not each.append:
            elements[number : number + 1] = [Field(value, place, notes)]
            return Variable("", tuple(elements), spot=spot)
        source = f"${{{each.name}[@]}}"
        reason = f"{source} may hold any flags and is known only when it runs; write the flags in its place"
        return Variable("", (Field(opened(source), place, any_words=reason, listed=True),), spot=spot)
    if each.append:
        if before is not None and before.elements is not None:
            head = before.elements[:1]
            if head and not head[0].any_words:
                grown = replace(head[0], text=head[0].text + value)
                return replace(before, elements=(grown, *before.elements[1:]), spot=spot)
            return Variable("", (Field(value, place, notes),) if not head else before.elements, spot=spot)
        front = opened(f"${each.name}") if before is None else before.text or ""
        value = front + value
        expander.budget.spend(len(value))
        notes = joined(before.notes if before is not None else (), notes)
    may_launch = answer.may_launch or (each.append and before is not None and before.may_launch)
    return Variable(value, spot=spot, place=place, notes=notes, cause=answer.cause, may_launch=may_launch)


def _elements(name: str, before: Variable | None, place: Spot) -> tuple[Field, ...]:
    if before is None:
        source = f"${{{name}[@]}}"
        reason = f"{source} may hold any flags and nothing in the file sets it first; set it first ({name}=())"
        return (Field(opened(source), place, any_words=reason, listed=True),)
    if before.elements is not None:
        return before.elements
    return () if before.text is None else (Field(before.text, before.spot or place, before.notes),)
