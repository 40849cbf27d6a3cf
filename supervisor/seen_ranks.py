"""What to expect of a server whose launch is not given: the ranks that spoke, and how many there have to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pathtrace.instrument.assertion import Expected, Standing, State, judge
from pathtrace.instrument.confirmation import Built, Line


@dataclass(frozen=True)
class SeenRanks:
    """An assertion over the ranks that spoke.

    Attributes:
        worker: name of the class that is expected, None for any.
        count: how many ranks build a worker, None where that is not known.
    """

    worker: str | None = None
    count: int | None = None

    def judge(self, lines: Iterable[Line]) -> Standing:
        """How the server stands."""
        lines = list(lines)
        origins = [line.origin for line in lines if isinstance(line, Built)]
        places = [(origin.pipeline or 0, origin.tensor or 0, origin.data or 0) for origin in origins]
        stages = {place[:2] for place in places}
        # Attention data parallelism numbers parts that are one replica's: no part is there under two numbers.
        is_plain = len(stages) < len(set(places))
        expected = Expected(
            tensor=1 + max((place[1] for place in places), default=0),
            pipeline=1 + max((place[0] for place in places), default=0),
            data=1 + max((place[2] for place in places), default=0) if is_plain else 1,
            worker=self.worker,
        )
        expected = replace(expected, last_stage_only=expected.pipeline > 1)
        if not origins:
            standing = judge(expected, lines)
            if standing.state == "failed":
                return standing
            return Standing("waiting", ("no scheduler process has said that it has built its worker",))
        standing = judge(expected, lines)
        found = len(expected.waited_for())
        if standing.state != "failed" and self.count is not None and found != self.count:
            state: State = "waiting" if found < self.count else "failed"
            reason = f"{found} ranks have spoken, {self.count} build a worker"
            return replace(standing, state=state, reasons=(reason, *standing.reasons))
        return standing
