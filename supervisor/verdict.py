"""What is asserted of a server: its launch, the static answer and its lines, put together and judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pathtrace.instrument.assertion import Expected, Standing, judge
from pathtrace.instrument.confirmation import Built, Line, Live
from pathtrace.supervisor.shape import Shape
from pathtrace.supervisor.static_answer import StaticAnswer


@dataclass(frozen=True)
class Assertion:
    """What a server has to confirm.

    Attributes:
        shape: of the server.
        answer: the static answer, None where there is none (yet).
        worker: name of the class that is expected, None for any.
        run: what its lines bear, None to take all lines.
        all_nodes: whether the lines of the other nodes are waited for.
    """

    shape: Shape
    answer: StaticAnswer | None = None
    worker: str | None = None
    run: str | None = None
    all_nodes: bool = False

    def expected(self) -> Expected:
        """The same for ``judge``."""
        shape = self.shape
        return Expected(
            tensor=shape.tp_size,
            pipeline=shape.pp_size,
            data=shape.data,
            last_stage_only=shape.pp_size > 1,
            ranks=None if self.all_nodes else shape.local_ranks(),
            modes=shape.modes,
            worker=self.worker,
            prediction=None if self.answer is None else self.answer.prediction,
            run=self.run,
        )

    def judge(self, lines: Sequence[Line]) -> Standing:
        """How the server stands."""
        standing = judge(self.expected(), lines)
        refused = self.answer is not None and self.answer.outcome == "refused"
        if refused and any(isinstance(line, Built) for line in lines):
            assert self.answer is not None
            reason = f"the server started, the static answer is that it does not: {self.answer.sentence}"
            return replace(standing, state="failed", reasons=(reason, *standing.reasons))
        return standing

    def all_built(self, lines: Iterable[Line]) -> bool:
        """Whether every rank that is waited for has built its worker."""
        expected = self.expected()
        built = {expected.rank_of(line.origin) for line in lines if isinstance(line, Built)}
        return expected.waited_for() <= built


def confirmed_sentence(standing: Standing, lines: Sequence[Line]) -> str:
    """What was confirmed: class, place, ranks, modes, and whether the threshold is acted upon."""
    built = next(line for line in lines if isinstance(line, Built))
    with_worker = next((line for line in lines if isinstance(line, Built) and line.worker is not None), None)
    count = len(standing.confirmed)
    ranks = f"{count} rank" + ("" if count == 1 else "s")
    if not standing.confirmed:
        return "confirmed: no rank of this node builds a worker"
    if with_worker is None:
        return f"confirmed: {built.words().partition(',')[0]}, on {ranks}; there is nothing to hook"
    place = "" if with_worker.file is None else f" {with_worker.file.rpartition('/')[2]}:{with_worker.line or 1}"
    seen = {line.mode for line in lines if isinstance(line, Live)}
    modes = " and ".join(mode for mode in ("prefill", "decode", "mixed") if mode in seen)
    said = f"confirmed: {with_worker.worker}{place} on {ranks}; {modes} seen"
    if with_worker.acts_at is not None:
        return f"{said}; Dynamic speculation disable enabled at threshold={with_worker.acts_at}"
    if with_worker.threshold is not None:
        return f"{said}; the threshold {with_worker.threshold} is NOT acted upon"
    return said
