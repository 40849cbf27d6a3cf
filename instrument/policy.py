"""What decides, before each step, whether the worker's own step runs or another one in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pathtrace.instrument.settings import Settings

Step = Callable[..., Any]


class Policy(Protocol):
    """Decides about one worker's steps; there is one policy for each worker.

    Attributes:
        mechanism: what the policy does, in one word: ``observe``, or how it turns speculation off.
        threshold: batch size that it acts upon; None where it acts upon none.
    """

    @property
    def mechanism(self) -> str: ...

    @property
    def threshold(self) -> int | None: ...

    def choose(self, batch: Any, mode: str, size: int | None, own: Step) -> Step | None:
        """The step to run in place of the worker's own, called with the same arguments; None for its own.

        When it raises, the worker's own step runs. What the step that it returns raises goes through: whether
        the worker's own can still run then is known to the policy alone.

        Args:
            batch: what the scheduler hands the worker.
            mode: ``prefill``, ``decode``, ``mixed``, ``idle`` or ``other``.
            size: requests in the batch, None where the batch does not say.
            own: the worker's own step.
        """


class Observe:
    """Lets every step be the worker's own."""

    mechanism = "observe"
    threshold: int | None = None

    def choose(self, batch: Any, mode: str, size: int | None, own: Step) -> Step | None:
        """None, always."""
        return None


class Refused(Exception):
    """A threshold is asked for, and this worker cannot act upon it; the sentence says why."""


def policy_for(settings: Settings, scheduler: Any, worker: Any) -> Policy:
    """The policy for the worker that a scheduler has built.

    Raises:
        Refused: a threshold is asked for, and speculation of this worker cannot be turned off.
    """
    if settings.threshold is None:
        return Observe()
    from pathtrace.instrument.disable.start import disable_for

    return disable_for(settings, scheduler, worker)
