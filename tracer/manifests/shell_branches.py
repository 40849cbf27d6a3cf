"""``if`` and ``case``: the side that is taken, or both where nothing in the file decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from pathtrace.tracer.launch.open_text import is_open
from pathtrace.tracer.manifests.shell_state import joined
from pathtrace.tracer.manifests.shell_words import read_word

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_walk import Outcome, Run, Walker


def run_if(walker: Walker, node: Node) -> Outcome:
    """``if``, with its ``elif`` and ``else``."""
    cases: list[tuple[list[Node], list[Node]]] = []
    otherwise: list[Node] = []
    clauses = [node, *(child for child in node.children if child.type == "elif_clause")]
    for clause in clauses:
        condition: list[Node] = []
        body: list[Node] = []
        place = condition
        for child in clause.children:
            if child.type == "then":
                place = body
            elif child.type == "else_clause":
                otherwise = list(child.children)
            elif child.type != "elif_clause":
                place.append(child)
        cases.append((condition, body))
    runs: list[Run] = []
    undecided: list[str] = []
    for condition, body in cases:
        outcome = walker.block(condition)
        if walker.ended:
            return "unknown"
        if outcome == "no":
            continue
        if outcome == "yes":
            runs.append((body, _none_of(undecided)))
            break
        shown = walker.shown(condition)
        undecided.append(shown)
        runs.append((body, f"{shown} holds"))
    else:
        runs.append((otherwise, _none_of(undecided)))
    walker.either(runs, walker.line(node))
    return "assumed"


def _none_of(conditions: Sequence[str]) -> str:
    if not conditions:
        return ""
    return f"{conditions[0]} does not hold" if len(conditions) == 1 else f"none of {', '.join(conditions[:5])} holds"


def run_case(walker: Walker, node: Node) -> Outcome:
    """``case``."""
    subject = node.child_by_field_name("value")
    if subject is None:
        return "unknown"
    answer = walker.expander.value(walker.source.of(subject))
    written = _shown_word(walker, subject)
    items = [child for child in node.children if child.type == "case_item"]
    falls = any(child.type in (";&", ";;&") for item in items for child in item.children)
    runs: list[Run] = []
    for item in items:
        patterns = [walker.source.of(child) for child in item.children_by_field_name("value")]
        end = next((index for index, child in enumerate(item.children) if child.type == ")"), -1)
        fits = [_fits(walker, answer.as_text(), pattern) for pattern in patterns]
        body = item.children[end + 1 :]
        if not falls and not any(fit or fit is None for fit in fits):
            continue
        if not falls and any(fits):
            runs.append((body, f"{written} matches no other pattern of the `case`" if runs else ""))
            break
        runs.append((body, f"{written} matches {'|'.join(patterns)[:60]}"))
    else:
        runs.append(((), ""))
    if not is_open(answer.as_text()):
        walker.notes = joined(walker.notes, answer.notes)
    walker.either(runs, walker.line(node))
    return "assumed"


def _shown_word(walker: Walker, node: Node) -> str:
    """A word as a condition names it."""
    return walker.source.written(walker.source.of(node)).strip('"')[:60]


def _fits(walker: Walker, text: str, written: str) -> bool | None:
    if written == "*":
        return True
    pattern = walker.expander.parameters.pattern(read_word(written))
    return None if pattern is None or is_open(text) else pattern.fits(text)
