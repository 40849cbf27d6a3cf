"""The answer as JSON: the one documented schema, ``docs/json-schema.json``.

The shape is flat where the dataclasses nest: a place becomes ``file`` and ``line`` beside what stands
there. Every key is always present, but for ``changes`` and ``changes_note``, which are left out where
changes were not searched for.
"""

from __future__ import annotations

import json
import math
from typing import Any, TextIO

from pathtrace.tracer.answer import (
    Alternative,
    Answer,
    Change,
    Condition,
    Decision,
    Finding,
    Ignored,
    Origin,
    Place,
    PossibleRefusal,
    Refusal,
    Scalar,
    Worker,
)

SCHEMA_VERSION = "1"

Json = dict[str, Any]


def to_json(answer: Answer, *, changes: bool = True) -> Json:
    """The answer as a JSON object.

    Args:
        answer: what the tracer says.
        changes: False leaves ``changes`` and ``changes_note`` out (they were not searched for).
    """
    report: Json = {
        "schema_version": SCHEMA_VERSION,
        "outcome": answer.outcome,
        "worker": _worker(answer.worker),
        "event_loop": answer.event_loop,
        "refusal": _refusal(answer.refusal),
        "alternatives": [_alternative(each) for each in answer.alternatives],
        "possible_refusals": [_possible_refusal(each) for each in answer.possible_refusals],
        "warnings": [
            {
                "level": each.level,
                "message": each.message,
                **_place(each.place),
                "when": None if each.when is None else _condition(each.when),
            }
            for each in answer.warnings
        ],
        "resolved": {name: _scalar(value) for name, value in answer.resolved.items()},
        "decisions": [_decision(each) for each in answer.decisions],
    }
    if changes:
        report["changes"] = [_change(each) for each in answer.changes]
        report["changes_note"] = answer.changes_note
    report["ignored"] = [_ignored(each) for each in answer.ignored]
    report["assumptions"] = [
        {"name": each.name, "value": each.value, "source": each.source} for each in answer.assumptions
    ]
    expect = answer.expect
    report["expect"] = None if expect is None else {"wanted": expect.wanted, "met": expect.met}
    tree = answer.tree
    report["tree"] = {"given": tree.given, "kind": tree.kind, "path": tree.path, "version": tree.version}
    report["findings"] = [_finding(each) for each in answer.findings]
    report["notes"] = list(answer.notes)
    return report


def write_json(answer: Answer, stream: TextIO) -> None:
    """Write the answer as indented JSON. ASCII only, so that every terminal and file takes it."""
    json.dump(to_json(answer), stream, indent=2, allow_nan=False)
    stream.write("\n")


def _finding(finding: Finding) -> Json:
    at = finding.at
    site = None if at is None else {"file": at.file, "line": at.line, "column": at.column}
    return {
        "code": finding.code,
        "message": finding.message,
        **_place(finding.place),
        "input": finding.input,
        "at": site,
    }


def _place(place: Place | None) -> Json:
    if place is None:
        return {"file": None, "line": None}
    return {"file": place.file, "line": place.line}


def _scalar(value: Scalar) -> Scalar:
    """JSON has no infinity and no NaN: their names stand for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _worker(worker: Worker | None) -> Json | None:
    if worker is None:
        return None
    return {"class": worker.cls, "module": worker.module, "file": worker.file, "line": worker.line}


def _refusal(refusal: Refusal | None) -> Json | None:
    if refusal is None:
        return None
    return {
        "phase": refusal.phase,
        "exception": refusal.exception,
        "message": refusal.message,
        "file": refusal.file,
        "line": refusal.line,
        "hint": refusal.hint,
    }


def _condition(when: Condition) -> Json:
    return {"text": when.text, "supply": list(when.supply)}


def _result(result: Alternative | Change) -> Json:
    return {
        "outcome": result.outcome,
        "worker": _worker(result.worker),
        "event_loop": result.event_loop,
        "refusal": _refusal(result.refusal),
    }


def _alternative(alternative: Alternative) -> Json:
    return {"when": _condition(alternative.when), **_result(alternative)}


def _change(change: Change) -> Json:
    return {"edits": list(change.edits), **_result(change)}


def _possible_refusal(possible: PossibleRefusal) -> Json:
    refusal = possible.refusal
    return {
        "when": _condition(possible.when),
        "phase": refusal.phase,
        "exception": refusal.exception,
        "message": refusal.message,
        "file": refusal.file,
        "line": refusal.line,
    }


def _origin(origin: Origin) -> Json:
    return {"kind": origin.kind, "text": origin.text, **_place(origin.place)}


def _decision(decision: Decision) -> Json:
    return {
        "kind": decision.kind,
        **_place(decision.place),
        "text": decision.place.text,
        "result": decision.result,
        "readings": [
            {
                "name": each.name,
                "value": each.value,
                "origins": [_origin(origin) for origin in each.origins],
            }
            for each in decision.readings
        ],
    }


def _ignored(ignored: Ignored) -> Json:
    return {
        "kind": ignored.kind,
        "name": ignored.name,
        "value": ignored.value,
        "why": ignored.why,
        "became": ignored.became,
        **_place(ignored.place),
        "text": None if ignored.place is None else ignored.place.text,
    }
