"""When speculation is off: a function of the batch sizes alone, so that ranks which see one batch agree."""

from __future__ import annotations

from dataclasses import dataclass

LOW_SHARE = 0.8
CALM_STEPS = 8


@dataclass(frozen=True)
class Hysteresis:
    """How much smaller batches have to become, and for how long, before speculation comes back.

    Attributes:
        share: part of the threshold that a batch has to stay below.
        steps: decode steps in a row that have to be so small.
    """

    share: float = LOW_SHARE
    steps: int = CALM_STEPS


class Switch:
    """On or off, step by step.

    Attributes:
        threshold: the largest batch that speculates; None where all do.
        is_off: whether the last decode step ran without speculation.
        turned_off: how often it went off.
        turned_on: how often it came back.
    """

    def __init__(self, threshold: int | None, hysteresis: Hysteresis) -> None:
        self.threshold = threshold
        self.hysteresis = hysteresis
        self.is_off = False
        self.turned_off = self.turned_on = 0
        self._calm = 0

    def decide(self, size: int) -> bool:
        """Whether a decode step over ``size`` requests is to run without speculation."""
        if self.threshold is None:
            is_off = False
        elif size > self.threshold:
            is_off, self._calm = True, 0
        elif self.is_off:
            # A threshold of 1 leaves nothing below 0.8: one request is small enough there.
            is_calm = size < self.hysteresis.share * self.threshold or size == 1
            self._calm = self._calm + 1 if is_calm else 0
            is_off = self._calm < self.hysteresis.steps
        else:
            is_off = False
        if is_off != self.is_off:
            self.is_off = is_off
            self._calm = 0
            if is_off:
                self.turned_off += 1
            else:
                self.turned_on += 1
        return self.is_off
