"""What evaluations leave does not pile up, however many evaluators there were."""

from __future__ import annotations

import gc
import weakref

from pathtrace.tracer.collecting import LEFT_AT_MOST, Collector


class Loop:
    """A cycle, which counting references alone never frees."""

    def __init__(self) -> None:
        self.me = self


def test_a_cycle_frozen_by_an_earlier_evaluation_is_collected_later() -> None:
    collector = Collector()
    with collector.paused():
        left = weakref.ref(Loop())
    assert left() is not None
    collector.left = LEFT_AT_MOST + 1000
    with collector.paused():
        pass
    assert left() is None


def test_what_is_left_counts_up_from_one_evaluation_to_the_next() -> None:
    collector = Collector()
    kept = []
    for _ in range(4):
        with collector.paused():
            kept.append([[] for _ in range(1000)])
    assert collector.left > 2500


def test_a_collector_that_was_off_stays_off() -> None:
    collector = Collector()
    gc.disable()
    try:
        with collector.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
