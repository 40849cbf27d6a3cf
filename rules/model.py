"""What a rule is, and what it looks at."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pathtrace.rules.suppressions import Suppression
from pathtrace.tracer.answer import Answer, Finding, Place
from pathtrace.tracer.change.hook_model import JudgedHook
from pathtrace.tracer.change.judge import JudgedChange
from pathtrace.tracer.handoff.missing import MissingHandoff
from pathtrace.tracer.handoff.model import Consumer
from pathtrace.tracer.handoff.signature import Mismatch

HEADINGS = ("What it does", "Why is this bad", "Example", "Use instead")


@dataclass(frozen=True)
class Subject:
    """One launch on one tree, and the change that is about to be made to the tree.

    Attributes:
        answer: what the launch does.
        changes: functions that are changed, each judged for this launch.
        mismatches: keywords that the scheduler gives the worker and that it does not take.
        unmet_reader: the statement of the overlap loop that reads what the worker never sets, if there is one.
        missing: ways out of the worker's step without what the overlap loop uses.
        limit_set_at: the line of the tree that sets max_running_requests where the launch does not.
        threshold: the batch size above which speculation is to be off, if the deployment has one.
        hooks: what the project's hooks name, each judged for this launch.
        comments: suppressions, each with the codes that let nothing pass.
        asked: codes of the rules that are asked for.
    """

    answer: Answer
    changes: tuple[JudgedChange, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    unmet_reader: Consumer | None = None
    missing: tuple[MissingHandoff, ...] = ()
    limit_set_at: Place | None = None
    threshold: int | None = None
    hooks: tuple[JudgedHook, ...] = ()
    comments: tuple[Suppression, ...] = ()
    asked: frozenset[str] = frozenset()


class Rule(ABC):
    """One rule. Its docstring, under ``HEADINGS``, is what the user reads.

    Attributes:
        code: ``PTnnn``; never given to another rule.
        name: the bad pattern, in words joined by hyphens.
        reads: fields of the subject that take work to fill.
        VALID: subjects without a finding.
        INVALID: subjects with one, and the message of each.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    VALID: ClassVar[tuple[Subject, ...]]
    INVALID: ClassVar[tuple[tuple[Subject, str], ...]]

    @abstractmethod
    def check(self, subject: Subject) -> Iterator[Finding]:
        """What is found."""

    @classmethod
    def documentation(cls) -> str:
        """The docstring, without indentation."""
        return inspect.cleandoc(cls.__doc__ or "")
