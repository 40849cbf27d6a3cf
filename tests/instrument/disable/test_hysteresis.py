"""When speculation goes off and comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.instrument.disable.hysteresis import Hysteresis, Switch


def decisions(switch: Switch, sizes: list[int]) -> str:
    """One letter a step: s with speculation, o off."""
    return "".join("o" if switch.decide(size) else "s" for size in sizes)


@pytest.mark.parametrize(
    ("threshold", "sizes", "decided"),
    [
        # Up to the threshold it speculates, above it is off at once.
        (4, [1, 4, 5, 4], "ssoo"),
        # Below 0.8 of 10 for 8 steps in a row, the eighth of which speculates again.
        (10, [11] + [7] * 9, "o" + "o" * 7 + "ss"),
        # 8 is not below 0.8 of 10: it begins anew.
        (10, [11] + [7] * 7 + [8] + [7] * 8, "o" + "o" * 7 + "o" + "o" * 7 + "s"),
        (10, [11] + [8] * 20, "o" * 21),
        # One request is small enough for any threshold.
        (1, [2] + [1] * 8, "o" + "o" * 7 + "s"),
        # A threshold of 0 means: never, except that one request may come back only where one is allowed.
        (0, [1, 1, 1], "ooo"),
        (None, [1, 500], "ss"),
    ],
)
def test_a_run_of_batches(threshold: int | None, sizes: list[int], decided: str) -> None:
    assert decisions(Switch(threshold, Hysteresis()), sizes) == decided


def test_both_figures_can_be_set() -> None:
    assert decisions(Switch(10, Hysteresis(share=1.0, steps=2)), [11, 9, 9, 9]) == "ooss"


def test_every_switch_is_counted() -> None:
    switch = Switch(1, Hysteresis(steps=1))
    decisions(switch, [2, 1, 2, 1, 2])
    assert (switch.turned_off, switch.turned_on) == (3, 2)


@given(st.integers(1, 64), st.lists(st.integers(1, 128), max_size=60))
def test_a_batch_above_the_threshold_never_speculates(threshold: int, sizes: list[int]) -> None:
    decided = decisions(Switch(threshold, Hysteresis()), sizes)
    assert all(letter == "o" for size, letter in zip(sizes, decided, strict=True) if size > threshold)


@given(st.integers(1, 64), st.lists(st.integers(1, 128), max_size=60))
def test_it_comes_back_after_as_many_small_batches_in_a_row_as_asked_for(threshold: int, sizes: list[int]) -> None:
    decided = decisions(Switch(threshold, Hysteresis()), [*sizes, *([1] * 8)])
    assert decided[-1] == "s"


@given(st.integers(1, 64), st.lists(st.integers(1, 128), max_size=60))
def test_ranks_that_see_the_same_batches_agree(threshold: int, sizes: list[int]) -> None:
    assert decisions(Switch(threshold, Hysteresis()), sizes) == decisions(Switch(threshold, Hysteresis()), sizes)
