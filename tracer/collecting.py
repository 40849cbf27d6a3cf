"""When Python's garbage collector runs: between evaluations, and by what they left.

An evaluation makes many objects that live long and few cycles, so a collector that walks them every few
hundred allocations costs a third of its time. It stands still while one runs. What one leaves (a state
taken down, an evaluator given up) is collected once it is worth the walk.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

LEFT_AT_MOST = 2_000_000
"""Container objects, about 200 bytes each, that evaluations may leave before they are collected."""


class Collector:
    """The collector of this process; one for all evaluators, since garbage of one is seen only by a walk of all."""

    def __init__(self) -> None:
        self.left: int | None = None  # nothing ran yet

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No collection inside; afterwards one if enough was left. Nothing, where it was off already."""
        if not gc.isenabled():
            yield
            return
        gc.disable()
        before = gc.get_count()[0]
        try:
            yield
        finally:
            # What the first evaluation leaves are mostly the modules it loaded: a walk would find little.
            self.left = 0 if self.left is None else self.left + gc.get_count()[0] - before
            if self.left > LEFT_AT_MOST:
                self.left = 0
                gc.unfreeze()
                gc.collect()
            gc.freeze()  # what is left stays out of the walks that other code brings about
            gc.enable()


COLLECTOR = Collector()
