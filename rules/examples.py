"""Subjects for the examples of rules: a launch of a small story, with one thing changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pathtrace.rules.model import Subject
from pathtrace.tracer.answer import Answer, Ignored, Place, TreeInfo, Worker
from pathtrace.tracer.change.judge import JudgedChange

V1 = "sglang/srt/speculative/eagle_worker.py"
V2 = "sglang/srt/speculative/eagle_worker_v2.py"
ARGS = "sglang/srt/server_args.py"
SCHEDULER = "sglang/srt/managers/scheduler.py"
_OF_THE_SUBJECT = (
    "mismatches", "unmet_reader", "missing", "limit_set_at", "threshold", "hooks", "comments", "asked",
)  # fmt: skip

LOADS_V1 = Answer(
    outcome="worker",
    tree=TreeInfo("0.5.9", "release", "sglang-0.5.9", "0.5.9"),
    worker=Worker("EAGLEWorker", "sglang.srt.speculative.eagle_worker", V1, 78),
    event_loop="synchronous",
)


def launch(*changes: JudgedChange, **fields: Any) -> Subject:
    """A launch that loads EAGLEWorker, with other fields of its answer or of what else is known of it."""
    known = {name: fields.pop(name) for name in _OF_THE_SUBJECT if name in fields}
    return Subject(replace(LOADS_V1, **fields), changes, **known)


def ignored(**fields: Any) -> Ignored:
    """An input without effect."""
    place = Place(ARGS, 2384, "self.disable_overlap_schedule = True")
    return Ignored(**{"kind": "variable", "name": "SGLANG_X", "value": "1", "why": "unread", "place": place, **fields})
