"""Gather what the chosen rules look at, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.change.filled_field import filled_at
from pathtrace.tracer.change.judge import JudgedChange
from pathtrace.tracer.handoff.kept import WorkerFacts, worker_facts
from pathtrace.tracer.tree.model import Tree

LIMIT = "max_running_requests"
OF_WORKER = frozenset(each.name for each in fields(WorkerFacts))


def subject_of(tree: Tree, answer: Answer, changes: tuple[JudgedChange, ...], rules: Iterable[type[Rule]]) -> Subject:
    """A launch's answer and change, with the facts about its worker that these rules read."""
    worker, loop = answer.worker, answer.event_loop
    if worker is None or loop is None:
        return Subject(answer, changes)
    wanted = {name for rule in rules for name in rule.reads}
    of_worker = OF_WORKER & wanted
    facts = worker_facts(tree, worker.module, worker.cls, loop, of_worker) if of_worker else WorkerFacts()
    return Subject(
        answer,
        changes,
        facts.mismatches,
        facts.unmet_reader,
        facts.missing,
        filled_at(tree, answer, LIMIT) if "limit_set_at" in wanted else None,
    )
