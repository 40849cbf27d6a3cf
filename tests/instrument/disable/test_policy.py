"""What the policy does with each step. A stand-in decodes here; the live servers decode for real."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pathtrace.instrument.disable.hysteresis import Hysteresis, Switch
from pathtrace.instrument.disable.policy import FAILURES_IN_A_ROW, Disable
from pathtrace.instrument.disable.v1 import CannotUndo


class Decode:
    """The decoding and the draft's state in one: writes down what is asked of it; has room for so many steps."""

    name = "v2"

    def __init__(self, steps: int = 100) -> None:
        self.left = self.size = steps
        self.log: list[str] = []
        self.fails: set[str] = set()

    def _do(self, what: str) -> None:
        self.log.append(what)
        if what in self.fails:
            raise RuntimeError(what)

    def step(self, batch: Any) -> str:
        self._do("off")
        self.left -= 1
        return "off"

    def prefilled(self, batch: Any) -> None:
        self._do("prefilled")

    def has_room(self, size: int) -> bool:
        return self.left > 0

    def show(self, batch: Any, own: Any) -> None:
        self._do("caught up")
        self.left = self.size

    def give_up(self) -> None:
        self._do("given up")


class Steps:
    def __init__(self, decode: Decode, threshold: int = 2) -> None:
        self.decode = decode
        self.now = 0.0
        stand_in: Any = decode
        self.policy = Disable(Switch(threshold, Hysteresis(steps=1)), stand_in, stand_in, lambda: self.now)

    def own(self, batch: Any) -> str:
        self.decode.log.append("own")
        return "own"

    def run(self, size: int, mode: str = "decode") -> str:
        batch = SimpleNamespace()
        step = self.policy.choose(batch, mode, size, self.own)
        return str((step or self.own)(batch))


def test_large_batches_decode_without_speculation_and_the_draft_catches_up_before_it_is_used() -> None:
    steps = Steps(Decode())
    assert [steps.run(size) for size in (1, 3, 3, 1)] == ["own", "off", "off", "own"]
    assert steps.decode.log == ["caught up", "own", "off", "off", "caught up", "own"]
    assert steps.policy.off_steps == 2


def test_a_full_ledger_is_emptied_before_the_step() -> None:
    steps = Steps(Decode(steps=2))
    for _ in range(5):
        steps.run(3)
    assert steps.decode.log == ["off", "off", "caught up", "off", "off", "caught up", "off"]


def test_a_prefill_is_the_worker_s_own_and_the_ledger_is_told() -> None:
    steps = Steps(Decode())
    assert steps.run(9, "prefill") == "own"
    assert steps.decode.log == ["prefilled", "own"]


@pytest.mark.parametrize("mode", ["idle", "mixed", "other"])
def test_other_steps_are_left_alone(mode: str) -> None:
    steps = Steps(Decode())
    assert steps.run(9, mode) == "own"
    assert steps.decode.log == ["own"]


def test_a_failed_step_runs_with_speculation_after_the_draft_has_caught_up(capfd: pytest.CaptureFixture[str]) -> None:
    steps = Steps(Decode())
    steps.decode.fails = {"off"}
    assert [steps.run(3), steps.run(3)] == ["own", "own"]
    assert steps.decode.log == ["off", "caught up", "own"] * 2
    assert steps.policy.failures == {"a step without speculation: RuntimeError": 2}
    assert capfd.readouterr().err.count("a step without speculation failed") == 1


def test_failures_in_a_row_end_it(capfd: pytest.CaptureFixture[str]) -> None:
    steps = Steps(Decode())
    steps.decode.fails = {"off"}
    for _ in range(FAILURES_IN_A_ROW + 2):
        steps.run(3)
    assert steps.decode.log.count("off") == FAILURES_IN_A_ROW
    assert (steps.policy.is_given_up, steps.policy.threshold) == (True, None)
    assert "given up" in capfd.readouterr().err


def test_a_step_that_cannot_be_undone_ends_as_it_would_without_the_hook() -> None:
    steps = Steps(Decode())

    def step(batch: Any) -> str:
        raise CannotUndo from MemoryError("out of slots")

    steps.decode.step = step  # type: ignore[method-assign]
    with pytest.raises(MemoryError):
        steps.run(3)
    assert steps.decode.log == []


def test_one_success_begins_the_count_anew() -> None:
    steps = Steps(Decode())
    for number in range(3 * FAILURES_IN_A_ROW):
        steps.decode.fails = set() if number % 3 == 2 else {"off"}
        steps.run(3)
    assert not steps.policy.is_given_up


def test_a_draft_that_cannot_catch_up_is_let_go_cold_and_counted() -> None:
    steps = Steps(Decode())
    steps.run(3)
    steps.decode.fails = {"caught up"}
    assert steps.run(1) == "own"
    assert steps.decode.log == ["off", "caught up", "given up", "own"]
    assert steps.policy.failures == {"letting the draft catch up: RuntimeError": 1}


def test_switches_are_said_at_most_once_a_second(capfd: pytest.CaptureFixture[str]) -> None:
    steps = Steps(Decode())
    for size in (3, 1, 3, 1):
        steps.run(size)
    steps.now = 2.0
    steps.run(3)
    said = [line for line in capfd.readouterr().err.splitlines() if "speculation" in line]
    assert said == [
        "pathtrace: speculation off at batch size 3, threshold 2: off 1 times, on again 0 times",
        "pathtrace: speculation off at batch size 3, threshold 2: off 3 times, on again 2 times "
        "(3 switches before it were not said)",
    ]
