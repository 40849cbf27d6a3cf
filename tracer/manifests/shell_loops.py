"""Loops: round by round where the words are known, else one round that stands for all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from pathtrace.tracer.manifests.shell_arithmetic import SET_IN_ARITHMETIC, integer
from pathtrace.tracer.manifests.shell_state import Field, Variable

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_walk import Outcome, Run, Walker

_MOST_ROUNDS = 16
_COUNTED = re.compile(
    r"for\s*\(\(\s*(\w+)\s*=\s*([^;]+?)\s*;\s*\1\s*(<=?)\s*([^;]+?)\s*;\s*(?:\1\s*\+\+|\+\+\s*\1)\s*\)\)", re.ASCII
)


def run_for(walker: Walker, node: Node) -> Outcome:
    """``for NAME in WORDS`` and ``select``."""
    name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    if name is None or body is None:
        return "unknown"
    variable = walker.source.of(name)
    words = node.children_by_field_name("value")
    if words:
        values = [f for word in words for f in walker.expander.fields(walker.source.of(word), word.start_byte)]
    else:
        whole = any(child.type == "in" for child in node.children)
        values = [] if whole else walker.expander.fields('"$@"', node.start_byte)
    selects = node.children[0].type == "select"
    if selects or len(values) > _MOST_ROUNDS or any(each.any_words for each in values):
        _loop(walker, [], [body], "", {variable}, node)
        return "unknown"
    _rounds(walker, variable, values, body)
    return "assumed"


def _rounds(walker: Walker, variable: str, values: Sequence[Field], body: Node) -> None:
    walker.begin_frame()
    for value in values:
        walker.state.assign(variable, Variable(value.text, spot=value.spot, place=value.spot, notes=value.notes))
        walker.block([body])
        if walker.ended == "continue":
            walker.ended = ""
        if walker.ended:
            break
    walker.end_frame("a round of the loop may end early")
    walker.ended = "" if walker.ended == "break" else walker.ended


def run_counted_for(walker: Walker, node: Node) -> Outcome:
    """``for ((i = 0; i < 4; i++))``."""
    body = node.child_by_field_name("body")
    if body is None:
        return "unknown"
    match = _COUNTED.match(walker.source.of(node))
    if match:
        bounds = [integer(walker.expander.value(f"$(({each}))").as_text()) for each in match.group(2, 4)]
        first, last = bounds
        if first is not None and last is not None and last - first < _MOST_ROUNDS:
            numbers = range(first, last + (match.group(3) == "<="))
            place = walker.source.spot(node.start_byte)
            _rounds(walker, match.group(1), [Field(str(number), place) for number in numbers], body)
            after = Variable(str(max(first, last + (match.group(3) == "<="))), spot=place)
            walker.state.assign(match.group(1), after)
            return "assumed"
    names = {first or second for first, second in SET_IN_ARITHMETIC.findall(walker.source.of(node)[:500])}
    _loop(walker, [], [body], "", names, node)
    return "unknown"


def run_while(walker: Walker, node: Node) -> Outcome:
    """``while`` and ``until``."""
    body = node.child_by_field_name("body")
    condition = [child for child in node.children_by_field_name("condition") if child.type in walker.handlers]
    if body is None:
        return "unknown"
    word = "fails" if node.children[0].type == "until" else "holds"
    _loop(walker, condition, [body], word, set(), node)
    return "unknown"


def _loop(walker: Walker, condition: list[Node], body: list[Node], word: str, names: set[str], node: Node) -> None:
    """One round that stands for all of them: what the loop changes is not known in it."""
    cause = f"the loop of line {walker.line(node)} changes it"
    never = "yes" if word == "fails" else "no"
    if condition:
        walker.state.begin()
        first = walker.block(condition)
        walker.state.take_back()
        if first == never or walker.ended:
            return
    found, notes = len(walker.search.found), walker.notes
    for _ in range(0 if walker.dry else 2):
        walker.dry = True
        walker.state.begin()
        walker.state.open_up(names, cause)
        walker.left.append(set())
        walker.block(condition)
        walker.block(body)
        names |= walker.left.pop() | walker.state.changed()
        walker.state.take_back()
        walker.ended = ""
        walker.dry = False
        del walker.search.found[found:]
        walker.notes = notes
    walker.begin_frame()
    walker.state.open_up(names, cause)
    outcome = walker.block(condition) if condition else "yes"
    always = outcome == ("no" if word == "fails" else "yes")
    runs: list[Run] = [(body, "" if always else f"{walker.shown(condition)} {word}")]
    walker.either(runs if always else [*runs, ((), "")], walker.line(node))
    walker.state.open_up(walker.state.changed(), cause)
    walker.end_frame(cause)
    walker.ended = "" if walker.ended in ("break", "continue") else walker.ended
