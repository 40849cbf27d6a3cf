"""The answer as text, made to be read in ten seconds.

One line with the answer; the chain that leads there; what would change it; then the facts beside it.
Lists that can be long show their first entries and a count: JSON has them all.
"""

from __future__ import annotations

from typing import TextIO

from pathtrace.reports.document import Line, Piece, line, printable, sections, shortened
from pathtrace.reports.phrases import (
    LONGEST_MESSAGE,
    class_names,
    origin_text,
    place_text,
    refusal_place,
    refusal_text,
    result_of,
    step_result,
    supplies,
)
from pathtrace.reports.terminal import write_document
from pathtrace.reports.text_lists import (
    assumptions_line,
    findings_block,
    ignored_block,
    notes_block,
    possible_refusals_block,
    warnings_block,
)
from pathtrace.tracer.answer import Answer, Change, Decision, Expect, Reading, Refusal, TreeInfo

LONGEST_HEADLINE = 110
LONGEST_CODE = 240
MESSAGE_LINES = 12
WIDEST_EDIT = 48


def render_text(answer: Answer, stream: TextIO, *, terminal: bool | None = None, width: int | None = None) -> None:
    """Write the answer to the stream, in colour and wrapped where that is a terminal.

    Args:
        answer: what the tracer says.
        stream: where it goes.
        terminal: treat the stream as a terminal or not; found out where None.
        width: columns of the terminal; found out where None.
    """
    write_document(text_document(answer), stream, terminal=terminal, width=width)


def headline(answer: Answer) -> str:
    """The answer in one line, without style."""
    return _headline(answer)[0].plain


def text_document(answer: Answer) -> list[Line]:
    """The report as lines, in the order of what a reader asks."""
    facts = [*_resolved_lines(answer), *assumptions_line(answer.assumptions)]
    return sections(
        [
            _head_block(answer),
            findings_block(answer.findings),
            _chain_block(answer.decisions),
            _changes_block(answer),
            facts,
            ignored_block(answer.ignored),
            possible_refusals_block(answer.possible_refusals),
            warnings_block(answer.warnings),
            notes_block(answer.notes),
        ]
    )


def _head_block(answer: Answer) -> list[Line]:
    lines = _headline(answer)
    if answer.expect is not None:
        lines.append(_expect_line(answer, answer.expect))
    lines.append(line(Piece(_tree_text(answer.tree), "dim")))
    return lines


def _expect_line(answer: Answer, expect: Expect) -> Line:
    """Whether the expectation is met, and if not, the first change that meets it."""
    pieces = [Piece(f"expected {printable(expect.wanted)}: ")]
    if expect.met:
        return line(*pieces, Piece("yes", "good"))
    pieces.append(Piece("no", "bad"))
    for change in answer.changes:
        if change.worker is not None and change.worker.cls == expect.wanted:
            return line(*pieces, "; this gives it: ", Piece(_edit_text(change), "good"))
    return line(*pieces)


def _edit_text(change: Change) -> str:
    return " and ".join(printable(each) for each in change.edits)


def _headline(answer: Answer) -> list[Line]:
    loop = f"{answer.event_loop} event loop" if answer.event_loop else ""
    if answer.outcome == "refused":
        return _refused_lines(answer.refusal)
    if answer.outcome == "undecided":
        return _undecided_lines(answer)
    if answer.outcome == "none" or answer.worker is None:
        return [line(Piece(result_of(answer).partition(",")[0], "answer"), f"  {loop}")]
    worker = answer.worker
    place = f"{printable(worker.file)}:{worker.line}"
    return [line(Piece(printable(worker.cls), "answer"), "  ", Piece(place, "place"), f"  {loop}")]


def _refused_lines(refusal: Refusal | None) -> list[Line]:
    if refusal is None:
        return [line(Piece("refused", "bad"))]
    phase = {
        "parse": "parsing the command line",
        "resolve": "resolving the arguments",
        "validate": "validating the arguments",
        "dispatch": "choosing the worker",
    }[refusal.phase]
    lines = [
        line(Piece("refused: ", "bad"), Piece(refusal_text(refusal), "answer")),
        line(f"the server does not start: it fails while {phase}  ", Piece(refusal_place(refusal), "place")),
    ]
    if refusal.hint:
        lines.append(line("hint: ", Piece(printable(refusal.hint), "good")))
    message = [printable(each) for each in refusal.message.splitlines() if each.strip()]
    if len(" ".join(message)) > LONGEST_MESSAGE:
        lines.append(line("the whole message:"))
        lines.extend(line(Piece(each, "dim"), indent=4) for each in message[:MESSAGE_LINES])
        if len(message) > MESSAGE_LINES:
            lines.append(line(Piece(f"({len(message) - MESSAGE_LINES} more lines)", "dim"), indent=4))
    return lines


def _undecided_lines(answer: Answer) -> list[Line]:
    """On one line where it fits, else one line for each alternative under a shorter headline."""
    cases = [
        (result_of(each), shortened(each.when.text, LONGEST_HEADLINE) or "otherwise") for each in answer.alternatives
    ]
    wanted = ", ".join(printable(each) for each in supplies(answer))
    supply = f"; supply {wanted}" if wanted else ""
    joined = "; ".join(f"{result} if {when}" for result, when in cases)
    lead = Piece("undecided: ", "bad")
    if joined and len(joined) + len(supply) <= LONGEST_HEADLINE:
        return [line(lead, Piece(joined, "answer"), Piece(supply, "good"))]
    lines = [line(lead, Piece(class_names(answer) or "nothing is known", "answer"), Piece(supply, "good"))]
    for result, when in cases:
        lines.append(line(Piece(result, "answer"), "  if ", Piece(when, "code"), indent=2))
    return lines


def _tree_text(tree: TreeInfo) -> str:
    version = f"SGLang {printable(tree.version)}" if tree.version else "SGLang of no stated version"
    given = printable(tree.given)
    return f"{version}, {tree.kind}" if given == tree.kind else f"{version}, {tree.kind} {given}"


def _chain_block(decisions: tuple[Decision, ...]) -> list[Line]:
    if not decisions:
        return []
    lines = [line(Piece("Why", "head"))]
    digits = len(str(len(decisions)))
    for number, decision in enumerate(decisions, 1):
        lines.extend(_step_lines(f"{number:>{digits}}. ", decision))
    return lines


def _step_lines(number: str, decision: Decision) -> list[Line]:
    result = Piece(step_result(decision), "answer" if decision.kind == "choice" else "head")
    indent = 1 + len(number)
    lines = [line(number, Piece(place_text(decision.place), "place"), "  ", result, indent=1, hang=indent)]
    if decision.place.text.strip():
        code = Piece(shortened(decision.place.text, LONGEST_CODE), "code")
        lines.append(line(code, indent=indent + 1, hang=4))
    lines.extend(_reading_line(each, indent + 3) for each in decision.readings)
    return lines


def _reading_line(reading: Reading, indent: int) -> Line:
    pieces = [Piece(shortened(reading.name)), Piece(" = "), Piece(shortened(reading.value), "value")]
    if reading.origins:
        came_from = ", ".join(dict.fromkeys(origin_text(each) for each in reading.origins))
        pieces.append(Piece(f"  from {came_from}", "dim"))
    return line(*pieces, indent=indent)


def _changes_block(answer: Answer) -> list[Line]:
    if not answer.changes and not answer.changes_note:
        return []
    lines = [line(Piece("What would change it", "head"))]
    edits = [_edit_text(change) for change in answer.changes]
    widest = max((len(each) for each in edits if len(each) <= WIDEST_EDIT), default=0)
    for edit, change in zip(edits, answer.changes, strict=True):
        pieces = (Piece(f"{edit:<{widest}}", "good"), "  ->  ", Piece(result_of(change), "answer"))
        lines.append(line(*pieces, indent=2))
    if answer.changes_note:
        lines.append(line(Piece(printable(answer.changes_note), "dim"), indent=2))
    return lines


SHOWN_FIELDS = (
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "enable_multi_layer_eagle",
    "disable_overlap_schedule",
    "max_running_requests",
)


def _resolved_lines(answer: Answer) -> list[Line]:
    if not answer.resolved:
        return []
    pieces: list[Piece] = [Piece("Resolved  ", "head")]
    for name, value in answer.resolved.items():
        if name not in SHOWN_FIELDS:
            continue
        shown = "none" if value is None else shortened(str(value))
        pieces += [Piece(f"{printable(name)}="), Piece(shown, "value"), Piece("  ")]
    return [line(*pieces)]
