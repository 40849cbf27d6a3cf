"""A sweep as JSON lines: the answer's object with ``id``, or an object with ``error``."""

from __future__ import annotations

import json
from typing import Any

from pathtrace.reports.json_report import to_json
from pathtrace.tracer.sweep import SweepResult


def sweep_line(result: SweepResult, *, changes: bool = False) -> str:
    """One line of the sweep, without the line end."""
    return json.dumps(sweep_object(result, changes=changes), allow_nan=False)


def sweep_object(result: SweepResult, *, changes: bool = False) -> dict[str, Any]:
    """The object of one line.

    Args:
        result: an answer, or why there is none.
        changes: whether changes were searched for.
    """
    if result.answer is not None:
        return {"id": result.id, **to_json(result.answer, changes=changes)}
    failure: dict[str, Any] = {"id": result.id, "error": result.error}
    if result.tree is not None:
        failure["tree"] = {"given": result.tree}
    return failure
