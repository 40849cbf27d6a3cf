"""Markdown for a comment on a pull request: a table of the deployments, and below it what was found in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from pathtrace.reports.document import shortened
from pathtrace.reports.locations import shown_path, site_text, written_at
from pathtrace.reports.markdown_text import code, plain
from pathtrace.reports.phrases import class_names, place_text, result_of, step_result
from pathtrace.reports.problems import Problem, counted, problems_of, summary
from pathtrace.tracer.answer import Answer, Decision, Site
from pathtrace.tracer.project.check import Checked

# GitHub refuses a comment of more than 65,536 characters; the rest is for what a workflow puts around it.
LONGEST_COMMENT = 60_000
LONGEST_MESSAGE = 1_000
LONGEST_CELL = 200
UNNAMED = "launch"
_ROOM_FOR_THE_LAST_SENTENCE = 300


def write_markdown(checked: Sequence[Checked], stream: TextIO) -> None:
    """Write a comment of at most ``LONGEST_COMMENT`` characters; deployments that do not fit are counted."""
    head = f"## pathtrace\n\n{summary(checked)}\n\n| deployment | worker | event loop | verdict |\n"
    head += "| --- | --- | --- | --- |\n"
    room = LONGEST_COMMENT - len(head) - _ROOM_FOR_THE_LAST_SENTENCE
    rows, sections, left_out = [], [], []
    for each in checked:
        row, section = _row(each), _section(each)
        if len(row) + len(section) > room:
            left_out.append(each)
            continue
        room -= len(row) + len(section)
        rows.append(row)
        sections.append(section)
    stream.writelines([head, *rows, *sections, _left_out(left_out)])


def _left_out(checked: Sequence[Checked]) -> str:
    if not checked:
        return ""
    found = sum(len(each.answer.findings) for each in checked)
    what = f"{counted(len(checked), 'deployment')} with {counted(found, 'finding')}"
    verb = "is" if len(checked) == 1 else "are"
    return f"\n{what} {verb} left out: the comment would be too long. `pathtrace check` shows them.\n"


def _name(checked: Checked) -> str:
    return plain(shortened(checked.name, LONGEST_CELL)) or UNNAMED


def _row(checked: Checked) -> str:
    answer = checked.answer
    cells = (_name(checked), _worker(answer), answer.event_loop or "", plain(_verdict(checked)))
    return f"| {' | '.join(cells)} |\n"


def _worker(answer: Answer) -> str:
    if answer.outcome == "undecided":
        return plain(shortened(class_names(answer), LONGEST_CELL))
    if answer.outcome == "none":
        return "no speculative decoding"
    return "" if answer.worker is None else plain(shortened(answer.worker.cls, LONGEST_CELL))


def _verdict(checked: Checked) -> str:
    answer = checked.answer
    parts = []
    if answer.findings:
        parts.append(counted(len(answer.findings), "finding"))
    if checked.known:
        parts.append(counted(checked.known, "known finding"))
    if answer.outcome in ("refused", "undecided"):
        parts.append(result_of(answer))
    elif answer.expect is not None and not answer.expect.met:
        parts.append(f"{shortened(answer.expect.wanted)} is expected")
    return "; ".join(parts) or "clean"


def _section(checked: Checked) -> str:
    """What was found in a deployment, and the chain; nothing where nothing was."""
    if not checked.answer.findings:
        return ""
    site = written_at(checked)
    where = "" if site is None else f"{code(site_text(Site(shown_path(site.file), site.line)))}\n\n"
    items = "".join(_item(problem) for problem in problems_of(checked) if problem.code is not None)
    return f"\n### {_name(checked)}\n\n{where}{items}{_chain(checked)}"


def _item(problem: Problem) -> str:
    places = [code(each) for each in dict.fromkeys([_site(problem), problem.place]) if each]
    tail = f" ({', '.join(places)})" if places else ""
    return f"- **{plain(problem.code or '')}** {plain(shortened(problem.message, LONGEST_MESSAGE))}{tail}\n"


def _site(problem: Problem) -> str:
    return "" if problem.site is None else site_text(problem.site)


def _chain(checked: Checked) -> str:
    decisions = checked.answer.decisions
    if not decisions:
        return ""
    steps = "".join(_step(number, each) for number, each in enumerate(decisions, 1))
    return f"\n<details>\n<summary>How the worker is chosen</summary>\n\n{steps}\n</details>\n"


def _step(number: int, decision: Decision) -> str:
    source = code(shortened(decision.place.text))
    shown = f": {source}" if source else ""
    return f"{number}. {code(place_text(decision.place))} {plain(step_result(decision))}{shown}\n"
