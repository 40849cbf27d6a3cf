"""The lines by which a process confirms what it has built, and what ran: written, and read again from any log.

A line reads ``pathtrace: built WORDS {json}``: words for a person, then one JSON object, which is all that is
read again. It never leaves out a field and never changes the meaning of one; a reader ignores fields that it
does not know.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from pathtrace.instrument.output import say
from pathtrace.instrument.settings import Prediction

PREFIX = "pathtrace: "
VERSION = 1
# A pipe takes this much in one piece, whoever else writes to it.
LONGEST_LINE = 4096
LONGEST_WORDS = 1000


@dataclass(frozen=True)
class Origin:
    """The process that a line comes from.

    Attributes:
        pid: its number; two machines or containers may have the same.
        run: what the supervisor gave it to tell its lines from another server's, None without a supervisor.
        tensor: tensor parallel rank, None where the scheduler does not say.
        pipeline: pipeline parallel rank, likewise.
        data: data parallel rank, None where there is none.
    """

    pid: int
    run: str | None = None
    tensor: int | None = None
    pipeline: int | None = None
    data: int | None = None

    def words(self) -> str:
        """The rank, as a person writes it: ``tp 0, pp 0``."""
        ranks = (("dp", self.data), ("pp", self.pipeline), ("tp", self.tensor))
        return ", ".join(f"{name} {rank}" for name, rank in ranks if rank is not None) or "unknown"


@dataclass(frozen=True)
class Built:
    """A scheduler has built its worker.

    Attributes:
        origin: the process.
        worker: name of the class that loaded, None where this process has no speculative worker.
        module: its module.
        file: its file, as this process sees it, None where it has none.
        line: where it begins in there.
        entry: the method that takes the steps.
        inherited_from: the class that defines that method, where it is another one.
        loop: ``overlap`` or ``synchronous``, None where the scheduler does not say.
        algorithm: the scheduler's own name for the algorithm, None without speculation.
        mechanism: what the hook does: ``observe``, or how it turns speculation off; ``none`` where it is not bound.
        threshold: the threshold that was asked for.
        acts_at: the threshold that the mechanism acts upon, None where it acts upon none.
        carrier: what brought pathtrace into the process.
        predicted: the static answer that the process was given.
        agrees: whether it is what happened, None without one.
        problem: why the worker is not hooked, None where it is or where there is none.
        refused: why the threshold that was asked for is not acted upon, None where it is or none was asked for.
        pathtrace: version of pathtrace.
    """

    origin: Origin
    worker: str | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None
    entry: str | None = None
    inherited_from: str | None = None
    loop: str | None = None
    algorithm: str | None = None
    mechanism: str = "none"
    threshold: int | None = None
    acts_at: int | None = None
    carrier: str | None = None
    predicted: Prediction | None = None
    agrees: bool | None = None
    problem: str | None = None
    refused: str | None = None
    pathtrace: str = ""

    kind: ClassVar[str] = "built"

    def words(self) -> str:
        """The same for a person."""
        if self.worker is None:
            parts = [f"{self._absence()}, rank {self.origin.words()}"]
        else:
            place = "" if self.file is None else f" ({self.file}:{self.line or 1})"
            loop = "event loop unknown" if self.loop is None else f"{self.loop} loop"
            parts = [f"{self.worker}{place}, {loop}, rank {self.origin.words()}", self._effect()]
        if self.agrees is not None and self.predicted is not None:
            verb = "agrees" if self.agrees else f"DISAGREES, it said {self.predicted.worker or 'no worker'}"
            parts.append(f"the static answer {verb}")
        return "; ".join(parts)

    def _absence(self) -> str:
        if self.algorithm is None:
            return "no speculative worker in this server"
        return f"no speculative worker in this process, though {self.algorithm} is configured"

    def _effect(self) -> str:
        if self.problem is not None:
            return f"NOT HOOKED: {self.problem}"
        if self.acts_at is not None:
            return f"Dynamic speculation disable enabled at threshold={self.acts_at}, mechanism {self.mechanism}"
        reason = "" if self.refused is None else f": {self.refused}"
        ignored = "" if self.threshold is None else f"; THE THRESHOLD {self.threshold} IS NOT ACTED UPON{reason}"
        return f"mechanism {self.mechanism}: steps are counted and timed, nothing is changed{ignored}"


@dataclass(frozen=True)
class Live:
    """The first step of a mode went through the hook.

    Attributes:
        origin: the process.
        worker: name of the class.
        mode: ``prefill``, ``decode`` or ``mixed``.
        size: requests in the batch, None where the batch did not say.
    """

    origin: Origin
    worker: str
    mode: str
    size: int | None = None

    kind: ClassVar[str] = "live"

    def words(self) -> str:
        """The same for a person."""
        batch = "" if self.size is None else f", {self.size} in the batch"
        return f"first {self.mode} step went through the hook of {self.worker}, rank {self.origin.words()}{batch}"


@dataclass(frozen=True)
class Failed:
    """A process could not be prepared: no worker in it will be hooked.

    Attributes:
        origin: the process; its rank is not known yet.
        reason: one sentence.
    """

    origin: Origin
    reason: str

    kind: ClassVar[str] = "failed"

    def words(self) -> str:
        """The same for a person."""
        return self.reason


Line = Built | Live | Failed


def write_line(line: Line) -> None:
    """Says a line on standard error, in one piece and past the server's own logging."""
    say(line_text(line))


def line_text(line: Line) -> str:
    """The line as it is written, without its end."""
    fields: dict[str, Any] = asdict(line)
    origin = fields.pop("origin")
    data = json.dumps({"v": VERSION, **origin, **fields}, separators=(",", ":"))
    words = "".join(character if character.isprintable() else " " for character in line.words())
    room = max(0, LONGEST_LINE - len(PREFIX) - len(line.kind) - len(data) - 3)
    room = min(room, LONGEST_WORDS)
    shown = words.encode("utf-8")[:room].decode("utf-8", "ignore")
    return f"{PREFIX}{line.kind} {shown} {data}"
