"""The lists below the answer: ignored inputs, possible refusals, warnings, assumptions, notes."""

from __future__ import annotations

from dataclasses import replace

from pathtrace.reports.document import Line, Piece, line, printable, shortened
from pathtrace.reports.locations import shown_path, site_text
from pathtrace.reports.phrases import place_text, refusal_place, refusal_text
from pathtrace.tracer.answer import (
    Assumption,
    Condition,
    Finding,
    Ignored,
    LogLine,
    PossibleRefusal,
)

SHOWN_REFUSALS = 3
SHOWN_WARNINGS = 6
IN_FULL = "(--output-format json has them all)"


def findings_block(findings: tuple[Finding, ...]) -> list[Line]:
    """The verdicts of the rules."""
    if not findings:
        return []
    lines = [line(Piece(f"Findings ({len(findings)})", "head"))]
    for each in findings:
        places = [] if each.at is None else [site_text(replace(each.at, file=shown_path(each.at.file)))]
        if each.place is not None and not (each.at is not None and each.at.file.endswith(each.place.file)):
            places.append(place_text(each.place))
        shown = [Piece(f"  {place}", "place") for place in places]
        lines.append(line(Piece(printable(each.code), "bad"), f"  {printable(each.message)}", *shown, indent=2))
    return lines


def ignored_block(ignored: tuple[Ignored, ...]) -> list[Line]:
    """Inputs without effect, each with the line that does it."""
    if not ignored:
        return []
    return [line(Piece("Without effect", "head")), *(_ignored_line(each) for each in ignored)]


def _ignored_line(each: Ignored) -> Line:
    joint = "=" if each.kind == "variable" else " "
    given = f"{printable(each.name)}{joint}{shortened(each.value)}" if each.value else printable(each.name)
    became = "another value" if each.became is None else shortened(each.became)
    effect = {
        "unread": "nothing in this tree reads it",
        "warned": "read only to log a warning",
        "overwritten": f"replaced by {became}",
    }[each.why]
    pieces = [Piece(given, "value"), Piece(f"  {effect}")]
    if each.place is not None:
        pieces.append(Piece(f"  {place_text(each.place)}", "place"))
        if each.place.text.strip():
            pieces.append(Piece(f"  {shortened(each.place.text)}", "code"))
    return line(*pieces, indent=2)


def possible_refusals_block(possible: tuple[PossibleRefusal, ...]) -> list[Line]:
    """Refusals that hang on facts not given: a count and the first few."""
    if not possible:
        return []
    lines = [line(Piece(f"Would be refused under conditions not known here ({len(possible)})", "head"))]
    for each in possible[:SHOWN_REFUSALS]:
        refusal = each.refusal
        place = Piece(refusal_place(refusal), "place")
        lines.append(line(refusal_text(refusal, 120), "  ", place, indent=2))
        lines.append(line("if ", *_condition_pieces(each.when), indent=6))
    lines.extend(_rest(len(possible) - SHOWN_REFUSALS))
    return lines


def warnings_block(warnings: tuple[LogLine, ...]) -> list[Line]:
    """What the server will log."""
    if not warnings:
        return []
    sure = [each for each in warnings if each.when is None]
    lines = [line(Piece(f"The server will log ({len(warnings)})", "head"))]
    for each in sure[:SHOWN_WARNINGS]:
        pieces: list[Piece | str] = [
            Piece(f"{printable(each.level).upper()}  ", "dim"),
            shortened(each.message, 200),
            Piece(f"  {place_text(each.place)}", "place"),
        ]
        lines.append(line(*pieces, indent=2))
    lines.extend(_rest(len(warnings) - min(len(sure), SHOWN_WARNINGS)))
    return lines


def assumptions_line(assumptions: tuple[Assumption, ...]) -> list[Line]:
    """The facts that the answer depends on, and how to give those that are unknown."""
    if not assumptions:
        return []
    pieces: list[Piece] = [Piece("Assumes  ", "head")]
    for each in assumptions:
        name = printable(each.name)
        if each.source == "unknown" or each.value is None:
            pieces += [Piece(name), Piece(" unknown", "dim"), Piece(f" (--assume {name}=...)  ", "dim")]
        else:
            pieces += [Piece(f"{name}="), Piece(shortened(each.value), "value")]
            pieces.append(Piece(f" ({each.source})  ", "dim"))
    return [line(*pieces)]


def notes_block(notes: tuple[str, ...]) -> list[Line]:
    """What else the reader should know, a line each."""
    return [line(Piece("note: ", "dim"), printable(each)) for each in notes]


def _condition_pieces(when: Condition) -> list[Piece]:
    pieces = [Piece(shortened(when.text, 160), "code")]
    if when.supply:
        supply = ", ".join(printable(each) for each in when.supply)
        pieces.append(Piece(f"  (supply {supply})", "dim"))
    return pieces


def _rest(count: int) -> list[Line]:
    return [line(Piece(f"and {count} more {IN_FULL}", "dim"), indent=2)] if count > 0 else []
