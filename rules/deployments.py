"""Rules over all deployments of a project: a change is dead only where none of them runs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pathtrace.rules.dead_variable import DeadVariable
from pathtrace.rules.fingerprint import fingerprint
from pathtrace.rules.locate import located
from pathtrace.rules.model import Rule, Subject
from pathtrace.rules.registry import findings
from pathtrace.rules.subject import subject_of
from pathtrace.rules.suppressions import Suppression, covering, suppressions_in
from pathtrace.rules.unused_suppression import UnusedSuppression
from pathtrace.tracer.answer import Finding, Site
from pathtrace.tracer.change.given import Change, given_change, judged
from pathtrace.tracer.change.hook_targets import HookTarget, judged_hooks
from pathtrace.tracer.manifests.model import FoundLaunch
from pathtrace.tracer.project.check import Answered, Checked


def judge_deployments(
    answered: Sequence[Answered],
    rules: Sequence[type[Rule]],
    change: Change,
    targets: Sequence[HookTarget] = (),
    baseline: frozenset[str] = frozenset(),
) -> tuple[Checked, ...]:
    """The deployments with what the rules find in each.

    Args:
        answered: the deployments.
        rules: the rules that are asked for.
        change: the change that is about to be made to the tree.
        targets: what the project's own hooks name.
        baseline: fingerprints of findings that are known.

    Raises:
        BadInput: the change cannot be read, or fits no tree.
    """
    subjects = _subjects(answered, rules, change, targets)
    found = [
        tuple(located(each, one.deployment) for each in findings(rules, subject) if not _for_the_file(each, one))
        for one, subject in zip(answered, subjects, strict=True)
    ]
    comments = _comments(answered, found)
    checked = [_checked(one, each, comments, baseline) for one, each in zip(answered, found, strict=True)]
    if UnusedSuppression in rules and checked:
        used = {each for one, some in zip(answered, found, strict=True) for each in _used(one, some, comments)}
        unused = Subject(
            answered[0].answer,
            comments=tuple(each for comment in comments for each in _without(comment, used)),
            asked=frozenset(rule.code for rule in rules),
        )
        more = [
            each
            for each in UnusedSuppression().check(unused)
            if fingerprint(each, answered[0].deployment.name) not in baseline
        ]
        checked[0] = _with_more(checked[0], more)
    return tuple(checked)


def _for_the_file(finding: Finding, one: Answered) -> bool:
    """Whether a variable that the tree does not read is there for the file that sets it: ``export TP=8; ... $TP``."""
    found = one.deployment.found
    is_used = isinstance(found, FoundLaunch) and finding.input in found.refers_to
    return is_used and finding.code == DeadVariable.code


def _subjects(
    answered: Sequence[Answered], rules: Sequence[type[Rule]], change: Change, targets: Sequence[HookTarget]
) -> list[Subject]:
    """What the rules look at: of changes and hooks, those that another deployment runs are left out."""
    trees = {id(one.tree): one.tree for one in answered}
    files = {key: given_change(tree, change) if change else () for key, tree in trees.items()}
    changes = [judged(one.tree, files[id(one.tree)], one.answer) for one in answered]
    hooks = [judged_hooks(one.tree, targets, one.answer) if targets else () for one in answered]
    run = {(each.file, each.line) for some in changes for each in some if each.runs}
    hooked = {each.target for some in hooks for each in some if each.runs}
    return [
        replace(
            subject_of(one.tree, one.answer, tuple(each for each in some if (each.file, each.line) not in run), rules),
            hooks=tuple(each for each in named if each.target not in hooked),
            threshold=one.deployment.threshold,
        )
        for one, some, named in zip(answered, changes, hooks, strict=True)
    ]


def _comments(answered: Sequence[Answered], found: Sequence[Sequence[Finding]]) -> tuple[Suppression, ...]:
    """The suppressions in every file that a deployment or a finding stands in."""
    files = [one.deployment.file for one in answered if one.deployment.file]
    files += [each.at.file for some in found for each in some if each.at is not None]
    return tuple(comment for file in dict.fromkeys(files) for comment in suppressions_in(file))


def _checked(
    one: Answered, found: Sequence[Finding], comments: Sequence[Suppression], baseline: frozenset[str]
) -> Checked:
    deployment = one.deployment
    known = [
        each
        for each in found
        if covering(comments, each, _site(one)) is not None or fingerprint(each, deployment.name) in baseline
    ]
    answer = replace(one.answer, findings=tuple(each for each in found if each not in known))
    column = None if deployment.found is None else deployment.found.spot.column
    at = Site(deployment.file, deployment.line, column)
    return Checked(deployment.name, at, one.tree, answer, frozenset(each.code for each in known), len(known))


def _used(
    one: Answered, found: Iterable[Finding], comments: Sequence[Suppression]
) -> Iterator[tuple[Suppression, str]]:
    for each in found:
        comment = covering(comments, each, _site(one))
        if comment is not None:
            yield comment, each.code


def _without(comment: Suppression, used: set[tuple[Suppression, str]]) -> Iterator[Suppression]:
    """The comment with the codes that let nothing pass; nothing where all of them do."""
    codes = tuple(code for code in comment.codes if (comment, code) not in used)
    if codes or not comment.codes:
        yield replace(comment, codes=codes)


def _with_more(checked: Checked, found: Iterable[Finding]) -> Checked:
    return replace(checked, answer=replace(checked.answer, findings=(*checked.answer.findings, *found)))


def _site(one: Answered) -> Site:
    return Site(one.deployment.file, one.deployment.line)
