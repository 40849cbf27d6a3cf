"""From explored points to rows: merge what has the same result, and put it into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pathtrace.tracer.answer import PossibleRefusal, Refusal
from pathtrace.tracer.table_inputs import UNSET, Input
from pathtrace.tracer.verdict import Verdict

ANY = "any"
MESSAGE = 90


@dataclass(frozen=True)
class Result:
    """What one launch comes to, in words; two launches with equal results share a row."""

    worker: str
    loop: str
    note: str = ""
    refused: bool = False
    undecided: bool = False


@dataclass(frozen=True)
class Box:
    """Launches with one result: the values of each input that was told apart; an input left out may be any."""

    cells: Mapping[Input, frozenset[str]]
    result: Result


def result_of(found: Verdict) -> Result:
    """A verdict in words."""
    if found.outcome == "refused" and found.refusal is not None:
        return Result("refused", "-", refusal_text(found.refusal), True)
    if found.outcome == "undecided":
        names = [_name(each.worker.cls if each.worker else None, each.outcome) for each in found.alternatives]
        loops = [each.event_loop for each in found.alternatives if each.event_loop]
        waits = dict.fromkeys(item for each in found.alternatives for item in each.when.supply)
        note = f"give {', '.join(waits)}" if waits else found.note or "not decided"
        return Result(" or ".join(dict.fromkeys(names)), " or ".join(dict.fromkeys(loops)) or "-", note, undecided=True)
    name = _name(found.worker.cls if found.worker else None, found.outcome)
    return Result(name, found.event_loop or "-", "; ".join(dict.fromkeys(map(_or_refused, found.possible_refusals))))


def _or_refused(possible: PossibleRefusal) -> str:
    supply = f" (give {', '.join(possible.when.supply)})" if possible.when.supply else ""
    return f"or {refusal_text(possible.refusal)}{supply}"


def _name(cls: str | None, outcome: str) -> str:
    return cls or ("no speculation" if outcome == "none" else outcome)


def refusal_text(refusal: Refusal) -> str:
    """A refusal on one short line."""
    text = " ".join(f"{refusal.exception}: {refusal.message}".split()).removesuffix(": ")
    return f"refused in {refusal.phase}: {text if len(text) <= MESSAGE else text[: MESSAGE - 3].rstrip() + '...'}"


def merged(boxes: Sequence[Box], domains: Mapping[Input, Sequence[str]]) -> list[Box]:
    """The boxes, with those joined that have one result and differ in one input only."""
    left = list(boxes)
    while True:
        pairs = ((i, j, _joined(left[i], left[j], domains)) for i, j in combinations(range(len(left)), 2))
        first = next(((i, j, box) for i, j, box in pairs if box is not None), None)
        if first is None:
            return left
        left[first[0]] = first[2]
        del left[first[1]]


def _joined(one: Box, other: Box, domains: Mapping[Input, Sequence[str]]) -> Box | None:
    if one.result != other.result:
        return None
    full = {item: frozenset(values) for item, values in domains.items()}
    inputs = dict.fromkeys((*one.cells, *other.cells))
    differing = [item for item in inputs if one.cells.get(item, full[item]) != other.cells.get(item, full[item])]
    if len(differing) > 1:
        return None
    cells = dict(one.cells)
    for item in differing:
        cells[item] = one.cells.get(item, full[item]) | other.cells.get(item, full[item])
    return Box({item: values for item, values in cells.items() if values != full[item]}, one.result)


def rows_of(
    tables: Mapping[str, Sequence[Box]], domains: Mapping[str, Mapping[Input, Sequence[str]]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Headings and rows. Algorithms with the same row share it."""
    used = {item for boxes in tables.values() for box in boxes for item in box.cells}
    order = dict.fromkeys(item for domain in domains.values() for item in domain if item in used)
    inputs = sorted(order, key=lambda item: item.kind != "variable")
    grouped: dict[tuple[str, ...], list[str]] = {}
    for algorithm, boxes in tables.items():
        for box in boxes:
            cells = tuple(_cell(box.cells.get(item), domains[algorithm].get(item, ())) for item in inputs)
            row = (*cells, box.result.worker, box.result.loop, box.result.note)
            grouped.setdefault(row, []).append(algorithm)
    rows = [(", ".join(names), *row) for row, names in grouped.items()]
    columns = ("algorithm", *(item.name for item in inputs), "worker", "event loop", "note")
    return columns, tuple(rows)


def _cell(values: frozenset[str] | None, domain: Sequence[str]) -> str:
    if values is None:
        return ANY
    ordered = [value for value in domain if value in values]
    return " or ".join(sorted(ordered, key=lambda value: value == UNSET and len(ordered) > 1))
