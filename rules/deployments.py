"""Rules over all deployments of a project: a change is dead only where none of them runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pathtrace.rules.model import Rule
from pathtrace.rules.registry import findings
from pathtrace.rules.subject import subject_of
from pathtrace.tracer.change.given import given_change, judged
from pathtrace.tracer.change.judge import JudgedChange
from pathtrace.tracer.project.check import Checked


def with_findings(
    checked: Sequence[Checked], rules: Sequence[type[Rule]], patches: Sequence[str], revision: str | None, staged: bool
) -> Iterator[Checked]:
    """The deployments with what the rules find in each.

    Raises:
        BadInput: the change cannot be read, or fits no tree.
    """
    changes: list[tuple[JudgedChange, ...]] = [() for _ in checked]
    if patches or revision is not None or staged:
        trees = {id(each.tree): each.tree for each in checked}
        files = {key: given_change(tree, patches, revision, staged) for key, tree in trees.items()}
        changes = [judged(each.tree, files[id(each.tree)], each.answer) for each in checked]
    run = {(change.file, change.line) for judgements in changes for change in judgements if change.runs}
    for each, judgements in zip(checked, changes, strict=True):
        dead = tuple(change for change in judgements if (change.file, change.line) not in run)
        answer = replace(each.answer, findings=findings(rules, subject_of(each.tree, each.answer, dead, rules)))
        yield replace(each, answer=answer)
