"""What is found in a file: launches, each with the place of every word and variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pathtrace.tracer.launch.model import Launch


@dataclass(frozen=True)
class Spot:
    """A place in a file; line and column are 1-based, the column counts characters."""

    line: int
    column: int


@dataclass(frozen=True)
class FoundLaunch:
    """One launch in a file.

    Attributes:
        name: what tells it from the others of the file: ``services.llm``, ``Deployment/llm server``,
            ``start_server``; empty where the file has one and gives it no name.
        file: the file, as it was given.
        spot: the first word of the command.
        launch: the launch. Words and values may have pieces that are not stated
            (:mod:`pathtrace.tracer.launch.open_text`).
        words: where each word of ``launch.argv`` stands.
        variables: where each variable of ``launch.env`` is set.
        notes: what was taken for granted in reading it, a sentence each.
        refers_to: variables that the file itself uses, as in ``$TP``: they are not there for the server alone.
    """

    name: str
    file: str
    spot: Spot
    launch: Launch
    words: tuple[Spot, ...] = ()
    variables: Mapping[str, Spot] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refers_to: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UnreadLaunch:
    """A command that starts a server and cannot be told: a word of it may stand for any flags.

    Attributes:
        name: as of a :class:`FoundLaunch`.
        file: the file.
        spot: what cannot be told.
        reason: a sentence that says why, and what to give.
    """

    name: str
    file: str
    spot: Spot
    reason: str


Found = FoundLaunch | UnreadLaunch
