"""The hook: it counts and times steps, and its own faults never reach the server."""

from __future__ import annotations

import threading
import types
from typing import Any

import pytest

from pathtrace.instrument.hook import Hook, Step
from pathtrace.instrument.policy import Observe


def batch(mode: str | None, size: int = 1) -> Any:
    """A batch as the scheduler hands it over: an enum's member has a name."""
    return types.SimpleNamespace(forward_mode=mode and types.SimpleNamespace(name=mode), reqs=[None] * size)


class Watched:
    """A hook, and what it told."""

    def __init__(self, policy: Any = None) -> None:
        self.first: list[tuple[str, int | None]] = []
        self.problems: list[BaseException] = []
        self.hook = Hook(object(), policy or Observe(), lambda *said: self.first.append(said), self.problems.append)


def own(batch: Any, *args: Any, **kwargs: Any) -> Any:
    return "own"


@pytest.mark.parametrize(
    ("mode", "counted_as"),
    [
        ("EXTEND", "prefill"),
        ("SPLIT_PREFILL", "prefill"),
        ("DLLM_EXTEND", "prefill"),
        ("DECODE", "decode"),
        ("TARGET_VERIFY", "decode"),
        ("MIXED", "mixed"),
        ("IDLE", "idle"),
        ("PREBUILT", "other"),
        ("A_MODE_OF_TOMORROW", "other"),
        (None, "other"),
    ],
)
def test_each_mode_has_its_own_count(mode: str | None, counted_as: str) -> None:
    watched = Watched()
    assert watched.hook.step(own, (batch(mode),), {}) == "own"
    assert {name: tally.steps for name, tally in watched.hook.tallies.items()} == {counted_as: 1}


def test_the_mode_is_the_one_before_the_step() -> None:
    def verifies(batch: Any) -> None:
        batch.forward_mode = types.SimpleNamespace(name="EXTEND")

    watched = Watched()
    watched.hook.step(verifies, (batch("DECODE"),), {})
    assert list(watched.hook.tallies) == ["decode"]


def test_batch_sizes_are_added_up_and_the_largest_is_kept() -> None:
    watched = Watched()
    for size in (3, 7, 2):
        watched.hook.step(own, (batch("DECODE", size),), {})
    tally = watched.hook.tallies["decode"]
    assert (tally.steps, tally.requests, tally.largest) == (3, 12, 7)


def test_a_batch_without_requests_has_the_size_of_its_lengths() -> None:
    watched = Watched()
    lengths = types.SimpleNamespace(forward_mode=types.SimpleNamespace(name="DECODE"), reqs=None, seq_lens=[5, 6])
    watched.hook.step(lambda model_worker_batch: None, (), {"model_worker_batch": lengths})
    assert watched.first == [("decode", 2)]


def test_time_is_the_steps_own_and_the_hooks_own() -> None:
    wait = threading.Event()
    watched = Watched()
    watched.hook.step(lambda batch: wait.wait(0.02), (batch("DECODE"),), {})
    tally = watched.hook.tallies["decode"]
    assert 20_000_000 <= tally.step_ns < 2_000_000_000
    assert 0 < tally.hook_ns < tally.step_ns


def test_the_first_step_of_each_live_mode_is_told_once_after_it_ran() -> None:
    watched = Watched()
    seen_before = []
    for mode in ("IDLE", "EXTEND", "EXTEND", "DECODE", "IDLE", "DECODE", "MIXED"):
        watched.hook.step(lambda batch: seen_before.append(len(watched.first)), (batch(mode),), {})
    assert watched.first == [("prefill", 1), ("decode", 1), ("mixed", 1)]
    assert seen_before == [0, 0, 1, 1, 2, 2, 2]


class TestWhatTheStepRaises:
    def test_goes_through_and_is_not_the_hooks_failure(self) -> None:
        calls = []

        def fails(batch: Any) -> None:
            calls.append(batch)
            raise MemoryError("out of memory")

        watched = Watched()
        with pytest.raises(MemoryError, match="out of memory") as caught:
            watched.hook.step(fails, (batch("DECODE"),), {})
        assert len(calls) == 1
        assert caught.value.__context__ is None
        assert (watched.hook.failures, watched.hook.tallies, watched.first) == (0, {}, [])


class TestAFaultOfTheHook:
    @pytest.mark.parametrize(
        "arguments",
        [(), (None,), (object(),), (types.SimpleNamespace(forward_mode=5),)],
        ids=("nothing", "none", "no mode", "a mode without a name"),
    )
    def test_in_reading_the_batch_leaves_the_step_alone(self, arguments: tuple[Any, ...]) -> None:
        watched = Watched()
        for _ in range(3):
            assert watched.hook.step(lambda *args: ("own", args), arguments, {}) == ("own", arguments)
        assert watched.hook.failures == 3
        assert len(watched.problems) == 1

    def test_in_telling_leaves_the_result_alone(self) -> None:
        calls = []

        def tells(mode: str, size: int | None) -> None:
            raise OSError("no space")

        problems: list[BaseException] = []
        hook = Hook(object(), Observe(), tells, problems.append)
        assert hook.step(lambda batch: calls.append(batch) or "own", (batch("DECODE"),), {}) == "own"
        assert (len(calls), hook.failures, len(problems)) == (1, 1, 1)

    def test_in_the_policy_runs_the_own_step(self) -> None:
        class Broken(Observe):
            def choose(self, batch: Any, mode: str, size: int | None, own: Step) -> Step | None:
                raise KeyError(mode)

        watched = Watched(Broken())
        assert watched.hook.step(own, (batch("DECODE"),), {}) == "own"
        assert (watched.hook.failures, len(watched.problems)) == (1, 1)


class TestAPolicy:
    def test_replaces_the_step_and_sees_mode_and_size(self) -> None:
        seen = []

        class Other(Observe):
            def choose(self, batch: Any, mode: str, size: int | None, own: Step) -> Step | None:
                seen.append((mode, size))
                return (lambda *args, **kwargs: ("other", kwargs)) if mode == "decode" else None

        watched = Watched(Other())
        assert watched.hook.step(own, (batch("EXTEND", 4),), {}) == "own"
        assert watched.hook.step(own, (batch("DECODE", 9),), {"on_publish": 1}) == ("other", {"on_publish": 1})
        assert seen == [("prefill", 4), ("decode", 9)]
        assert {name: tally.steps for name, tally in watched.hook.tallies.items()} == {"prefill": 1, "decode": 1}

    def test_whose_step_raises_has_decided_that_no_other_may_run(self) -> None:
        def broken(*args: Any, **kwargs: Any) -> None:
            raise RuntimeError("policy")

        class Other(Observe):
            def choose(self, batch: Any, mode: str, size: int | None, own: Step) -> Step | None:
                return broken

        watched = Watched(Other())
        with pytest.raises(RuntimeError, match="policy"):
            watched.hook.step(own, (batch("DECODE"),), {})
        assert watched.hook.failures == 0


def test_no_step_is_lost_between_threads() -> None:
    watched = Watched()

    def run() -> None:
        for _ in range(500):
            watched.hook.step(own, (batch("DECODE", 2),), {})

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally = watched.hook.tallies["decode"]
    assert (tally.steps, tally.requests, watched.first) == (4000, 8000, [("decode", 2)])
