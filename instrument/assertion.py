"""Whether a server is confirmed: pure logic over what is expected of it and the lines that it has said so far.

``pathtrace run`` asks after every line, ``pathtrace log`` after every line of a file; both get the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pathtrace.instrument.confirmation import Built, Failed, Line, Live, Origin
from pathtrace.instrument.settings import Prediction

State = Literal["waiting", "confirmed", "failed"]
# A mixed step runs the prefill of some requests; what it does for the others is not the worker's decode step.
COUNTS_AS = {"prefill": "prefill", "mixed": "prefill", "decode": "decode"}
BOTH_MODES = frozenset({"prefill", "decode"})


@dataclass(frozen=True, order=True)
class Rank:
    """One scheduler process of a server.

    Attributes:
        data: which replica, 0 without plain data parallelism.
        pipeline: which stage.
        tensor: which part of that stage.
    """

    data: int = 0
    pipeline: int = 0
    tensor: int = 0

    def __str__(self) -> str:
        return f"dp {self.data}, pp {self.pipeline}, tp {self.tensor}"


@dataclass(frozen=True)
class Expected:
    """What a server has to confirm.

    Attributes:
        tensor: tensor parallel size.
        pipeline: pipeline parallel size.
        data: plain data parallel size; attention data parallelism adds no process and counts as 1.
        last_stage_only: with pipeline parallel speculation the last stage alone builds a worker.
        ranks: the ranks to wait for, None for all: on one node of several, those of that node.
        live_ranks: the ranks that traffic reaches, None for all that are waited for.
        modes: what the server runs: a prefill-only or a decode-only server has one mode.
        worker: name of the class that is expected, None for any.
        prediction: the static answer, None where there is none (yet).
        run: what the lines of this server bear, None to take all lines.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    last_stage_only: bool = False
    ranks: frozenset[Rank] | None = None
    live_ranks: frozenset[Rank] | None = None
    modes: frozenset[str] = BOTH_MODES
    worker: str | None = None
    prediction: Prediction | None = None
    run: str | None = None

    @property
    def wants_no_worker(self) -> bool:
        """Whether the static answer is that no speculative worker is built."""
        return self.worker is None and self.prediction is not None and self.prediction.worker is None

    def waited_for(self) -> frozenset[Rank]:
        """The ranks that build a worker and have to say so."""
        if self.ranks is not None:
            return self.ranks
        is_partial = self.last_stage_only and not self.wants_no_worker
        stages = range(self.pipeline - 1 if is_partial else 0, self.pipeline)
        return frozenset(
            Rank(data, stage, tensor) for data in range(self.data) for stage in stages for tensor in range(self.tensor)
        )

    def rank_of(self, origin: Origin) -> Rank | None:
        """The rank of a process, None where it does not say what it takes to tell."""
        # What exists once only needs no number: a router numbers servers by dp rank that know of no others.
        parts = ((self.data, origin.data), (self.pipeline, origin.pipeline), (self.tensor, origin.tensor))
        places = [0 if size == 1 else place for size, place in parts]
        if any(place is None for place in places):
            return None
        return Rank(*(place or 0 for place in places))


@dataclass(frozen=True)
class Standing:
    """How a server stands.

    Attributes:
        state: ``waiting`` for lines that can still come, ``confirmed``, or ``failed`` for good.
        reasons: what is wrong, or what is waited for, one sentence each; none when confirmed.
        confirmed: the ranks that have said everything.
    """

    state: State
    reasons: tuple[str, ...] = ()
    confirmed: frozenset[Rank] = frozenset()


def judge(expected: Expected, lines: Iterable[Line]) -> Standing:
    """How a server stands after the lines that it has said so far, in whatever order they came."""
    ours = [line for line in lines if expected.run is None or line.origin.run == expected.run]
    wrong = [line.reason for line in ours if isinstance(line, Failed)]
    built, unplaced = _by_rank(expected, [line for line in ours if isinstance(line, Built)])
    wrong += unplaced
    waited_for = expected.waited_for()
    for rank in sorted(built):
        is_relevant = rank in waited_for or built[rank][-1].worker is not None
        wrong += _faults(expected, rank, built[rank], is_relevant)
    wrong += _differences({rank: built[rank][-1] for rank in sorted(waited_for & built.keys())})
    if wrong:
        return Standing("failed", tuple(dict.fromkeys(wrong)))
    live = _live_modes(expected, [line for line in ours if isinstance(line, Live)])
    missing = {rank: _missing(expected, rank, built, live) for rank in sorted(waited_for)}
    confirmed = frozenset(rank for rank, reason in missing.items() if reason is None)
    reasons = tuple(reason for reason in missing.values() if reason is not None)
    return Standing("waiting" if reasons else "confirmed", reasons, confirmed)


def _by_rank(expected: Expected, lines: Sequence[Built]) -> tuple[dict[Rank, list[Built]], list[str]]:
    """The lines of each rank, and what is wrong with those that have none of the server's."""
    found: dict[Rank, list[Built]] = {}
    wrong = []
    for line in lines:
        rank = expected.rank_of(line.origin)
        if rank is None:
            wrong.append(f"process {line.origin.pid} does not say which rank it is: {line.origin.words()}")
        elif rank.data >= expected.data or rank.pipeline >= expected.pipeline or rank.tensor >= expected.tensor:
            wrong.append(f"process {line.origin.pid} says that it is rank {rank}, which the launch does not have")
        else:
            found.setdefault(rank, []).append(line)
    return found, wrong


def _faults(expected: Expected, rank: Rank, lines: Sequence[Built], is_relevant: bool) -> list[str]:
    wrong = []
    processes = sorted({line.origin.pid for line in lines})
    if len(processes) > 1:
        wrong.append(f"rank {rank}: several processes say that they are it: {', '.join(map(str, processes))}")
    line = lines[-1]
    if not is_relevant:
        return wrong
    if expected.worker is not None and line.worker != expected.worker:
        wrong.append(f"rank {rank}: {line.worker or 'no worker'} was built, {expected.worker} is expected")
    prediction = expected.prediction
    if prediction is not None and not prediction.agrees(line.worker, line.module, line.loop):
        wrong.append(f"rank {rank}: {_what(line)} was built, the static answer is {_said(prediction)}")
    elif line.agrees is False and line.predicted is not None:
        wrong.append(f"rank {rank}: {_what(line)} was built, the process was told {_said(line.predicted)}")
    if line.worker is None and not expected.wants_no_worker and expected.worker is None:
        wrong.append(f"rank {rank}: {line.words()}")
    if line.worker is not None and line.problem is not None:
        wrong.append(f"rank {rank}: {line.worker} is not hooked: {line.problem}")
    elif line.worker is not None and line.refused is not None:
        wrong.append(f"rank {rank}: the threshold {line.threshold} is not acted upon: {line.refused}")
    return wrong


def _what(line: Built) -> str:
    if line.worker is None:
        return "no worker"
    return f"{line.worker} of {line.module}" + ("" if line.loop is None else f" ({line.loop} loop)")


def _said(prediction: Prediction) -> str:
    if prediction.worker is None:
        return "no worker"
    module = "" if prediction.module is None else f" of {prediction.module}"
    return f"{prediction.worker}{module}" + ("" if prediction.loop is None else f" ({prediction.loop} loop)")


def _differences(built: dict[Rank, Built]) -> list[str]:
    """What ranks of one server do not have in common."""
    wrong = []
    for field in ("worker", "module", "loop", "mechanism", "threshold", "acts_at", "pathtrace"):
        values: dict[object, Rank] = {}
        for rank, line in built.items():
            values.setdefault(getattr(line, field), rank)
        if len(values) > 1:
            said = "; ".join(f"{value} on rank {rank}" for value, rank in values.items())
            wrong.append(f"the ranks are not alike: {field} is {said}")
    return wrong


def _live_modes(expected: Expected, lines: Sequence[Live]) -> dict[Rank, set[str]]:
    found: dict[Rank, set[str]] = {}
    for line in lines:
        rank = expected.rank_of(line.origin)
        if rank is not None and line.mode in COUNTS_AS:
            found.setdefault(rank, set()).add(COUNTS_AS[line.mode])
    return found


def _missing(expected: Expected, rank: Rank, built: dict[Rank, list[Built]], live: dict[Rank, set[str]]) -> str | None:
    if rank not in built:
        return f"rank {rank} has not said that it has built its worker"
    reached = expected.live_ranks is None or rank in expected.live_ranks
    if built[rank][-1].worker is None or not reached:
        return None
    modes = sorted(expected.modes - live.get(rank, set()))
    return f"rank {rank}: no {' and no '.join(modes)} step has gone through the hook" if modes else None
