"""The hook around one worker's steps: it counts and times them, and asks the policy which step to run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pathtrace.instrument.policy import Policy, Step

# Names of SGLang's ForwardMode. An idle step has no requests: other ranks of an attention data parallel group do.
MODES = {
    "EXTEND": "prefill",
    "SPLIT_PREFILL": "prefill",
    "DLLM_EXTEND": "prefill",
    "DECODE": "decode",
    "TARGET_VERIFY": "decode",
    "MIXED": "mixed",
    "IDLE": "idle",
}
LIVE_MODES = frozenset({"prefill", "decode", "mixed"})


class Tally:
    """What was counted for one mode.

    Attributes:
        steps: steps that finished.
        requests: sum of the batch sizes of those that said theirs.
        largest: largest batch.
        step_ns: time inside the step itself, on the host: with the overlap loop the device may still be at work.
        hook_ns: time that the hook took before the step; counting, after it, takes about as long and is not in it.
    """

    __slots__ = ("hook_ns", "largest", "requests", "step_ns", "steps")

    def __init__(self) -> None:
        self.steps = self.requests = self.largest = self.step_ns = self.hook_ns = 0


class Hook:
    """Stands around the steps of one worker.

    Attributes:
        worker: whose steps they are.
        policy: what decides about them.
        tallies: what was counted, by mode.
        failures: how often the hook itself failed and the worker's own step ran as if it were not there.
    """

    def __init__(
        self,
        worker: Any,
        policy: Policy,
        on_first: Callable[[str, int | None], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """Args:
        on_first: told the mode and the batch size when the first step of a live mode has finished.
        on_failure: told the first failure of the hook.
        """
        self.worker = worker
        self.policy = policy
        self.tallies: dict[str, Tally] = {}
        self.failures = 0
        self._on_first = on_first
        self._on_failure = on_failure
        self._lock = threading.Lock()

    def step(self, own: Step, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Runs one step and returns what it returns; what the worker's own step raises goes through.

        Args:
            own: the worker's own step.
        """
        began = time.perf_counter_ns()
        mode, size, other = "other", None, None
        is_seen = False
        # A fault of the hook must never become one of the server: hence all exceptions, here and below.
        try:
            # Before the step: workers write over the mode while they run.
            batch = args[0] if args else next(iter(kwargs.values()))
            mode = mode_of(batch)
            size = size_of(batch)
            other = self.policy.choose(batch, mode, size, own)
            is_seen = True
        except Exception as problem:
            self._failed(problem)
        entered = time.perf_counter_ns()
        result = (other or own)(*args, **kwargs)
        left = time.perf_counter_ns()
        if is_seen:
            try:
                self._record(mode, size, left - entered, entered - began)
            except Exception as problem:
                self._failed(problem)
        return result

    def _record(self, mode: str, size: int | None, step_ns: int, hook_ns: int) -> None:
        with self._lock:
            tally = self.tallies.get(mode)
            if tally is None:
                tally = self.tallies[mode] = Tally()
            tally.steps += 1
            tally.step_ns += step_ns
            tally.hook_ns += hook_ns
            if size is not None:
                tally.requests += size
                if size > tally.largest:
                    tally.largest = size
            is_first = tally.steps == 1
        if is_first and mode in LIVE_MODES:
            self._on_first(mode, size)

    def _failed(self, problem: Exception) -> None:
        with self._lock:
            self.failures += 1
            is_first = self.failures == 1
        if is_first:
            self._on_failure(problem)


def mode_of(batch: Any) -> str:
    """What a batch is about to do: one of the values of ``MODES``, or ``other``."""
    mode = batch.forward_mode
    return "other" if mode is None else MODES.get(mode.name, "other")


def size_of(batch: Any) -> int | None:
    """Requests in a batch; None where it does not say."""
    requests = getattr(batch, "reqs", None)
    if requests is None:
        requests = getattr(batch, "seq_lens", None)
    return None if requests is None else len(requests)
