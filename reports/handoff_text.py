"""A worker's hand-off as text: who makes it, which ways out carry it, every line on the path, who reads it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from pathtrace.reports.document import Line, Piece, line, printable, sections, shortened
from pathtrace.reports.terminal import write_document
from pathtrace.tracer.handoff.model import FunctionRole, Handoff, Site, StepReturn

_CARRIES = {True: "carries it", False: "leaves without it", None: "carries it on some paths only"}


def write_text(handoff: Handoff, stream: TextIO) -> None:
    """Write it, in colour where the stream is a terminal."""
    write_document(text_document(handoff), stream)


def text_document(handoff: Handoff) -> list[Line]:
    """The report as lines, in the order of what a reader asks."""
    return sections(
        [
            _head(handoff),
            _makers(handoff),
            _ways_out(handoff),
            _path(handoff),
            _readers(handoff),
            _alike(handoff),
        ]
    )


def _head(handoff: Handoff) -> list[Line]:
    place = Piece(f"{handoff.file}:{handoff.line}", "place")
    first = line(Piece(printable(handoff.worker), "answer"), "  ", place)
    entry = f"step: {printable(handoff.entry)}"
    if handoff.field is None:
        return [first, line(f"{entry}; nothing that one step hands to the next was found")]
    if handoff.named:
        return [first, line(f"{entry}; hands on {handoff.field}")]
    return [first, line(f"{entry}; no such field: the draft input in batch.{handoff.field} plays its role")]


def _makers(handoff: Handoff) -> list[Line]:
    if handoff.field is None:
        return []
    lines = [line(Piece("Made", "head"))]
    for phase in ("prefill", "decode"):
        makers = ", ".join(map(printable, handoff.producers(phase))) or "nowhere: what was handed in is put back"
        lines.append(line(f"{phase:<8} ", makers, indent=2, hang=9))
    return lines


def _ways_out(handoff: Handoff) -> list[Line]:
    if handoff.field is None or not handoff.returns:
        return []
    missing = [each for each in handoff.returns if each.carries is not True]
    title = "Every way out carries it" if not missing else "Ways out of the step"
    return [line(Piece(title, "head")), *(_way_out(each) for each in handoff.returns)]


def _way_out(each: StepReturn) -> Line:
    style = {True: "good", False: "bad", None: "bad"}[each.carries]
    phase = "" if each.phase == "any" else f"{each.phase}  "
    place = Piece(f"{each.file}:{each.line}", "place")
    said = Piece(_CARRIES[each.carries], "good" if style == "good" else "bad")
    return line(place, f"  {printable(each.function)}  {phase}", said, indent=2)


def _path(handoff: Handoff) -> list[Line]:
    if not handoff.sites:
        return []
    lines = [line(Piece("On the path", "head"))]
    for role in handoff.functions:
        if role.on_path:
            lines.append(_function(role))
            lines += _sites(site for site in handoff.sites if (site.file, site.function) == (role.file, role.name))
    return lines


def _function(role: FunctionRole) -> Line:
    called = f", called at {_places(role.called_at, role.file)}" if role.called_at else ""
    return line(printable(role.name), "  ", Piece(f"{role.file}:{role.line}", "place"), Piece(called, "dim"), indent=2)


def _places(places: Iterable[str], file: str) -> str:
    """Lines of the same file by their number alone."""
    return ", ".join(place.removeprefix(file) for place in places)


def _sites(sites: Iterable[Site]) -> list[Line]:
    return [
        line(
            f"{site.line:>5} {site.kind:<8}  ",
            Piece(shortened(site.text), "code"),
            Piece("  (replaced before the step ends)" if site.replaced else "", "dim"),
            indent=2,
            hang=16,
        )
        for site in sites
    ]


def _readers(handoff: Handoff) -> list[Line]:
    if not handoff.consumers:
        return []
    lines = [line(Piece("Read outside of the workers", "head"))]
    for each in handoff.consumers:
        loop = "" if each.loop == "any" else f"{each.loop} loop  "
        place = Piece(f"{each.file}:{each.line}", "place")
        lines.append(
            line(place, f"  {printable(each.function)}  {loop}", Piece(shortened(each.text), "code"), indent=2)
        )
    return lines


def _alike(handoff: Handoff) -> list[Line]:
    twins = [role for role in handoff.functions if not role.on_path]
    if not twins and not handoff.look_alikes:
        return []
    lines = [line(Piece("Looks alike, and is not on this worker's path as far as it is followed", "head"))]
    lines += [_function(role) for role in twins]
    by_function: dict[tuple[str, str], list[Site]] = {}
    for site in handoff.look_alikes:
        by_function.setdefault((site.file, site.function), []).append(site)
    for (file, function), sites in by_function.items():
        places = ", ".join(f"{site.line} {site.kind}" for site in sites)
        lines.append(line(Piece(file, "place"), f"  {printable(function)}  ", Piece(places, "dim"), indent=2))
    return lines
