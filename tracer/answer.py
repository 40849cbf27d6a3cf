"""What the tracer says about one launch on one tree.

Everything here is a frozen value: reports and rules read it, nothing writes it. File names are
relative to the folder that holds the ``sglang`` package (``sglang/srt/server_args.py``), lines are
1-based.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["worker", "none", "refused", "undecided"]
EventLoop = Literal["overlap", "synchronous"]
Phase = Literal["parse", "resolve", "validate", "dispatch"]
OriginKind = Literal["flag", "variable", "default", "config", "hook", "assumption", "unknown"]
Scalar = None | bool | int | float | str


@dataclass(frozen=True)
class Place:
    """A line of the tree. ``text`` is the source line, stripped."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Worker:
    """The class that runs speculative decoding, and where it is defined."""

    cls: str
    module: str
    file: str
    line: int


@dataclass(frozen=True)
class Refusal:
    """Why the server does not start: the tree's own exception.

    ``phase`` is where it is raised: ``parse`` (argparse), ``resolve`` (argument resolution),
    ``validate`` (``check_server_args``), ``dispatch`` (the worker choice, or importing its module).
    ``hint`` is ours, not the tree's: the nearest real flag for an unknown one.
    """

    phase: Phase
    exception: str
    message: str
    file: str | None = None
    line: int | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Condition:
    """What an undecided result hangs on, in the tree's words, and what would decide it.

    ``supply`` lists inputs to give: ``--assume sm=90``, ``--model-config FILE``.
    """

    text: str
    supply: tuple[str, ...] = ()


@dataclass(frozen=True)
class PossibleRefusal:
    """A refusal under a condition that the given facts do not decide."""

    when: Condition
    refusal: Refusal


@dataclass(frozen=True)
class Alternative:
    """One of several possible results of an undecided launch."""

    when: Condition
    outcome: Outcome
    worker: Worker | None = None
    event_loop: EventLoop | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Origin:
    """Where a value came from: ``--flag``, a variable, a default at file:line, a config key, a hook."""

    kind: OriginKind
    text: str
    place: Place | None = None


@dataclass(frozen=True)
class Reading:
    """A value that a decision saw, as the source names it (``self.speculative_algorithm``)."""

    name: str
    value: str
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class Decision:
    """One step of the chain.

    ``kind``: ``branch`` (a condition was tested: ``result`` is ``true``, ``false`` or ``undecided``),
    ``write`` (a value that matters was set: ``result`` is the value), ``choice`` (the class was chosen).
    """

    kind: Literal["branch", "write", "choice"]
    place: Place
    result: str
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True)
class Change:
    """A smallest change of inputs that leads to another result (``edits`` as instructions)."""

    edits: tuple[str, ...]
    outcome: Outcome
    worker: Worker | None = None
    event_loop: EventLoop | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Ignored:
    """An input without effect, or one whose value the resolution replaces.

    ``kind``: ``variable`` or ``flag``. ``why``: ``unread`` (nothing reads it), ``warned`` (read only to
    warn), ``overwritten`` (``became`` holds the value that replaced it).
    """

    kind: Literal["variable", "flag"]
    name: str
    value: str
    why: Literal["unread", "warned", "overwritten"]
    became: str | None = None
    place: Place | None = None


@dataclass(frozen=True)
class Assumption:
    """A fact about the machine that the answer depends on.

    ``source``: ``default`` (assumed without being said), ``given`` (``--assume``), ``unknown`` (not given),
    ``installed`` (read from the chosen interpreter's packages).
    """

    name: str
    value: str | None
    source: Literal["default", "given", "unknown", "installed"]


@dataclass(frozen=True)
class LogLine:
    """A warning that the server will log. ``when`` is set if it hangs on an unknown fact."""

    level: str
    message: str
    place: Place
    when: Condition | None = None


@dataclass(frozen=True)
class Expect:
    """``--expect CLASS`` and whether the answer meets it."""

    wanted: str
    met: bool


@dataclass(frozen=True)
class TreeInfo:
    """The tree that was read. ``version`` is what the tree says of itself; it decides nothing."""

    given: str
    kind: Literal["directory", "wheel", "installed", "release", "git"]
    path: str
    version: str | None = None


@dataclass(frozen=True)
class Site:
    """A line of a file on this machine, where a deployment or a change is written.

    Attributes:
        file: the path as the user would give it.
        line: 1-based; None for the whole file.
        column: 1-based, in characters; None where it is not known.
    """

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Finding:
    """A rule's verdict.

    Attributes:
        code: ``PTnnn``.
        message: a sentence that stands alone.
        place: the line of the tree that shows it.
        input: what of the launch it is about: ``--speculative-algorithm`` or ``SGLANG_ENABLE_SPEC_V2``.
        at: where a user would mend it; None where the launch was typed.
    """

    code: str
    message: str
    place: Place | None = None
    input: str | None = None
    at: Site | None = None


@dataclass(frozen=True)
class Answer:
    """The whole answer for one launch on one tree."""

    outcome: Outcome
    tree: TreeInfo
    worker: Worker | None = None
    event_loop: EventLoop | None = None
    refusal: Refusal | None = None
    alternatives: tuple[Alternative, ...] = ()
    possible_refusals: tuple[PossibleRefusal, ...] = ()
    resolved: dict[str, Scalar] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[LogLine, ...] = ()
    changes: tuple[Change, ...] = ()
    changes_note: str | None = None
    ignored: tuple[Ignored, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    expect: Expect | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 decided and as expected, 1 refused, undecided, unexpected or with a finding."""
        if self.outcome in ("refused", "undecided") or self.findings:
            return 1
        return 1 if self.expect is not None and not self.expect.met else 0
