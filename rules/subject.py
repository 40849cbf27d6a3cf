"""Gather what the chosen rules look at, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable

from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.change.filled_field import filled_at
from pathtrace.tracer.change.judge import JudgedChange
from pathtrace.tracer.handoff.loop import unmet_reader
from pathtrace.tracer.handoff.missing import missing_handoffs
from pathtrace.tracer.handoff.signature import mismatches
from pathtrace.tracer.tree.model import Tree

LIMIT = "max_running_requests"


def subject_of(tree: Tree, answer: Answer, changes: tuple[JudgedChange, ...], rules: Iterable[type[Rule]]) -> Subject:
    """A launch's answer and change, with the facts about its worker that these rules read."""
    worker, loop = answer.worker, answer.event_loop
    if worker is None or loop is None:
        return Subject(answer, changes)
    wanted = {name for rule in rules for name in rule.reads}
    in_overlap = loop == "overlap"
    return Subject(
        answer,
        changes,
        mismatches(tree, worker.module, worker.cls, loop) if "mismatches" in wanted else (),
        unmet_reader(tree, worker.module, worker.cls) if "unmet_reader" in wanted and in_overlap else None,
        missing_handoffs(tree, worker.module, worker.cls) if "missing" in wanted and in_overlap else (),
        filled_at(tree, answer, LIMIT) if "limit_set_at" in wanted else None,
    )
