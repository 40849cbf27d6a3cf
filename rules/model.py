"""What a rule is, and what it looks at."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pathtrace.tracer.answer import Answer, Finding
from pathtrace.tracer.change.judge import JudgedChange

HEADINGS = ("What it does", "Why is this bad", "Example", "Use instead")


@dataclass(frozen=True)
class Subject:
    """One launch on one tree, and the change that is about to be made to the tree.

    Attributes:
        answer: what the launch does.
        changes: functions that are changed, each judged for this launch.
    """

    answer: Answer
    changes: tuple[JudgedChange, ...] = ()


class Rule(ABC):
    """One rule. Its docstring, under ``HEADINGS``, is what the user reads.

    Attributes:
        code: ``PTnnn``; never given to another rule.
        name: the bad pattern, in words joined by hyphens.
        VALID: subjects without a finding.
        INVALID: subjects with one, and the message of each.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    VALID: ClassVar[tuple[Subject, ...]]
    INVALID: ClassVar[tuple[tuple[Subject, str], ...]]

    @abstractmethod
    def check(self, subject: Subject) -> Iterator[Finding]:
        """What is found."""

    @classmethod
    def documentation(cls) -> str:
        """The docstring, without indentation."""
        return inspect.cleandoc(cls.__doc__ or "")
