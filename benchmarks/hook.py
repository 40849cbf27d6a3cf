"""What the hook costs a step: the same method bare and wrapped, 100,000 calls each, p50 and p99.

``python benchmarks/hook.py`` measures a stand-in worker, whose step does nothing. ``--worker MODULE:CLASS``
measures a real class that can be imported, with its entry method replaced by one that does nothing: what the
step itself does is no cost of the hook. The two are called in turn, so that what else the machine does falls
on both.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import types
from enum import IntEnum
from typing import Any

from pathtrace.instrument.binding import ENTRIES, bind, entry_of
from pathtrace.instrument.hook import Hook
from pathtrace.instrument.policy import Observe

GOAL_US = 5.0


class ForwardMode(IntEnum):
    """As SGLang's: an enum, whose names are looked up at every step."""

    EXTEND = 1
    DECODE = 2


class Batch:
    """As much of a batch as the hook looks at."""

    def __init__(self, size: int) -> None:
        self.forward_mode = ForwardMode.DECODE
        self.reqs = [None] * size


class Worker:
    """A worker that does nothing."""

    def forward_batch_generation(self, batch: Batch, on_publish: Any = None) -> None:
        """Takes a step."""


def _bare_class(name: str | None) -> type:
    """The class to measure: a subclass of the one that is named, so that this one stays as it is."""
    real: type = Worker
    if name is not None:
        module, _, cls = name.partition(":")
        real = getattr(importlib.import_module(module), cls)
    entry = next(entry for entry in ENTRIES if hasattr(real, entry))
    return type("Measured", (real,), {"__init__": lambda self: None, entry: Worker.forward_batch_generation})


def _measure(name: str | None, calls: int) -> tuple[list[int], list[int]]:
    bare, wrapped = _bare_class(name)(), _bare_class(name)()
    entry = entry_of(wrapped)
    hook = Hook(wrapped, Observe(), lambda mode, size: None, lambda problem: None)
    bind(hook, types.SimpleNamespace(draft_worker=wrapped))
    batch, now = Batch(16), time.perf_counter_ns
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(calls):
        for worker, kept in zip((bare, wrapped), times, strict=True):
            step = getattr(worker, entry)
            began = now()
            step(batch, on_publish=None)
            kept.append(now() - began)
    if hook.tallies["decode"].steps != calls or hook.failures:
        sys.exit("the hook did not count every call: nothing was measured")
    return times


def _percentile(times: list[int], share: float) -> float:
    return sorted(times)[int(share * (len(times) - 1))] / 1000


def main() -> None:
    """Prints the table; exit status 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--worker", metavar="MODULE:CLASS")
    given = parser.parse_args()
    bare, wrapped = _measure(given.worker, given.calls)
    print("| step | p50 (µs) | p99 (µs) |\n| --- | ---: | ---: |")
    for name, times in (("bare", bare), ("wrapped", wrapped)):
        print(f"| {name} | {_percentile(times, 0.5):.2f} | {_percentile(times, 0.99):.2f} |")
    cost = _percentile(wrapped, 0.5) - _percentile(bare, 0.5)
    print(f"\nThe hook costs {cost:.2f} µs a step at p50; the goal is {GOAL_US:.0f} µs.")
    sys.exit(cost > GOAL_US)


if __name__ == "__main__":
    main()
