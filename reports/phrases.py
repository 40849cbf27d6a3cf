"""How results, refusals and origins are put into words. Shared by every text renderer."""

from __future__ import annotations

from pathtrace.reports.document import printable, shortened
from pathtrace.tracer.answer import (
    Alternative,
    Answer,
    Change,
    Decision,
    EventLoop,
    Origin,
    Outcome,
    Place,
    Refusal,
    Worker,
)

LONGEST_MESSAGE = 200
MOST_SUPPLIES = 3


def place_text(place: Place) -> str:
    """``sglang/srt/server_args.py:2368``."""
    return f"{printable(place.file)}:{place.line}"


def refusal_place(refusal: Refusal) -> str:
    """Where the tree raises, or nothing where that is not a line of the tree."""
    if refusal.file is None:
        return ""
    file = printable(refusal.file)
    return file if refusal.line is None else f"{file}:{refusal.line}"


def refusal_text(refusal: Refusal, limit: int = LONGEST_MESSAGE) -> str:
    """``ValueError: Spec v2 currently only supports topk = 1``."""
    exception = "" if refusal.phase == "parse" else printable(refusal.exception)
    message = shortened(refusal.message, limit)
    return f"{exception}: {message}" if message and exception else message or exception


def result_text(outcome: Outcome, worker: Worker | None, event_loop: EventLoop | None, refusal: Refusal | None) -> str:
    """A result in a few words: ``EAGLEWorkerV2, overlap``."""
    if outcome == "refused":
        return "refused" if refusal is None else f"refused: {refusal_text(refusal, 100)}"
    if outcome == "none":
        return "no speculative decoding"
    if outcome == "undecided":
        return "undecided"
    name = "a worker" if worker is None else printable(worker.cls)
    return name if event_loop is None else f"{name}, {event_loop}"


def result_of(result: Alternative | Change | Answer) -> str:
    """``result_text`` of anything that carries a result."""
    return result_text(result.outcome, result.worker, result.event_loop, result.refusal)


def class_names(answer: Answer) -> str:
    """The possible results of an undecided answer: ``EAGLEWorker or EAGLEWorkerV2``."""
    short = list(dict.fromkeys(_short_result(each, loop=False) for each in answer.alternatives))
    if len(short) < 2 <= len(answer.alternatives):
        short = list(dict.fromkeys(_short_result(each, loop=True) for each in answer.alternatives))
    if len(short) < 2:
        return "".join(short)
    return f"{', '.join(short[:-1])} or {short[-1]}"


def _short_result(alternative: Alternative, *, loop: bool) -> str:
    if alternative.outcome == "refused":
        return "refused"
    if alternative.outcome == "undecided":
        return "a class that is not known"
    event_loop = alternative.event_loop if loop else None
    return result_text(alternative.outcome, alternative.worker, event_loop, None)


def supplies(answer: Answer) -> tuple[str, ...]:
    """What would decide an undecided answer, each input once; of many inputs the missing files, if there are any."""
    found = tuple(dict.fromkeys(each for one in answer.alternatives for each in one.when.supply))
    files = tuple(each for each in found if each.endswith(" FILE"))
    return files if files and len(found) > MOST_SUPPLIES else found


def step_result(decision: Decision) -> str:
    """What a step of the chain did: ``condition is false``, ``sets True``, ``chooses EAGLEWorker``."""
    verb = {"branch": "condition is", "write": "sets", "choice": "chooses"}[decision.kind]
    return f"{verb} {shortened(decision.result)}"


def origin_text(origin: Origin) -> str:
    """Where a value came from, in a few words and with the line where there is one."""
    text = shortened(origin.text)
    lead = {
        "flag": "",
        "variable": "",
        "default": "default of" if text else "default",
        "config": "config",
        "hook": "hook",
        "assumption": "assumed",
        "unknown": "unknown",
    }[origin.kind]
    if lead and lead.split()[0] not in text.lower():
        text = f"{lead} {text}".rstrip()
    if origin.place is None:
        return text
    return f"{text} at {place_text(origin.place)}".strip()
