"""Every rule, and which of them are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pathtrace.rules.call_signature import CallSignatureMismatch
from pathtrace.rules.dead_patch import DeadPatch
from pathtrace.rules.dead_variable import DeadVariable
from pathtrace.rules.hook_on_wrong_class import HookOnWrongClass
from pathtrace.rules.launch_refused import LaunchRefused
from pathtrace.rules.loop_mismatch import WorkerLoopMismatch
from pathtrace.rules.missing_handoff import StepWithoutHandoff
from pathtrace.rules.model import Rule, Subject
from pathtrace.rules.native_switch_ignored import NativeSwitchIgnored
from pathtrace.rules.overridden_variable import OverriddenVariable
from pathtrace.rules.rewritten_argument import SilentlyRewrittenArgument
from pathtrace.rules.threshold_never_reached import ThresholdNeverReached
from pathtrace.rules.unexpected_worker import UnexpectedWorker
from pathtrace.rules.unimportable_worker import UnimportableWorker
from pathtrace.rules.unused_suppression import UnusedSuppression
from pathtrace.rules.worker_undecided import WorkerUndecided
from pathtrace.tracer.answer import Finding
from pathtrace.tracer.errors import BadInput

RULES: tuple[type[Rule], ...] = (
    DeadPatch,
    DeadVariable,
    OverriddenVariable,
    LaunchRefused,
    SilentlyRewrittenArgument,
    WorkerLoopMismatch,
    UnexpectedWorker,
    WorkerUndecided,
    StepWithoutHandoff,
    CallSignatureMismatch,
    UnimportableWorker,
    ThresholdNeverReached,
    NativeSwitchIgnored,
    HookOnWrongClass,
    UnusedSuppression,
)
ALL = "ALL"


def rule_named(word: str) -> type[Rule]:
    """A rule by its code or name.

    Raises:
        BadInput: there is no such rule.
    """
    for rule in RULES:
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    known = ", ".join(f"{rule.code} {rule.name}" for rule in RULES)
    raise BadInput(f"no such rule: {word}; the rules are {known}")


def chosen(select: Sequence[str], ignore: Sequence[str]) -> tuple[type[Rule], ...]:
    """Rules by codes, names, beginnings of codes (``PT1``) or ``ALL``.

    Raises:
        BadInput: words that name no rule, all of them in one sentence.
    """
    wrong = [word for word in (*select, *ignore) if not _matching(word)]
    if wrong:
        known = ", ".join(rule.code for rule in RULES)
        raise BadInput(f"no such rule: {', '.join(wrong)}; the rules are {known}, and ALL")
    left_out = {rule for word in ignore for rule in _matching(word)}
    wanted = {rule for word in select for rule in _matching(word)} - left_out
    return tuple(rule for rule in RULES if rule in wanted)


def _matching(word: str) -> list[type[Rule]]:
    text = word.strip()
    if text.upper() == ALL:
        return list(RULES)
    starts = text.upper() if text.upper().startswith("PT") else None
    return [rule for rule in RULES if rule.name == text.lower() or (starts and rule.code.startswith(starts))]


def findings(rules: Iterable[type[Rule]], subject: Subject) -> tuple[Finding, ...]:
    """What these rules find, in their order."""
    return tuple(finding for rule in rules for finding in rule().check(subject))
