"""The ledger of what the draft missed. Lists stand for tensors here; the live servers run it on real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pathtrace.instrument.disable.missed import Gap, Missed


class Column:
    """As much of a tensor as the ledger uses: rows of anything."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = list(rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), 1

    def new_empty(self, shape: tuple[int, ...]) -> Column:
        return Column([None] * shape[0])

    def new_tensor(self, rows: Sequence[Any]) -> Column:
        return Column(rows)

    def __getitem__(self, key: slice | Column) -> Column:
        if isinstance(key, slice):
            return _View(self, key)
        return Column([self.rows[row] for row in key.rows])

    def copy_(self, other: Column) -> None:
        raise NotImplementedError


class _View(Column):
    def __init__(self, of: Column, key: slice) -> None:
        super().__init__(of.rows[key])
        self.of, self.key = of, key

    def copy_(self, other: Column) -> None:
        assert len(other.rows) == len(self.rows)
        self.of.rows[self.key] = other.rows


def note(missed: Missed, step: dict[str, str]) -> None:
    """``step``: request -> the token that it fed to the target; its hidden state is the same in capitals."""
    missed.add(list(step), Column(list(step.values())), Column([token.upper() for token in step.values()]))


def held(missed: Missed, gap: Gap | None) -> tuple[list[Any], list[Any]]:
    assert gap is not None
    tokens, hidden = missed.taken(gap)
    return tokens.rows, hidden.rows


def test_each_request_gets_its_own_positions_in_order() -> None:
    missed = Missed(16)
    note(missed, {"a": "a1", "b": "b1"})
    note(missed, {"b": "b2", "a": "a2"})
    gap = missed.gap(["b", "a"])
    assert gap == Gap(members=(0, 1), lengths=(2, 2), rows=(1, 2, 0, 3))
    assert held(missed, gap) == (["b1", "b2", "a1", "a2"], ["B1", "B2", "A1", "A2"])


def test_a_request_that_joined_after_the_draft_saw_its_prompt_has_missed_nothing() -> None:
    missed = Missed(16)
    note(missed, {"a": "a1"})
    assert missed.gap(["new", "a"]) == Gap(members=(1,), lengths=(1,), rows=(0,))
    assert missed.gap(["new"]) is None


def test_a_request_whose_prompt_was_run_again_has_missed_nothing_before() -> None:
    missed = Missed(16)
    note(missed, {"a": "a1", "b": "b1"})
    missed.forget(["a"])
    note(missed, {"a": "a2", "b": "b2"})
    assert held(missed, missed.gap(["a", "b"]))[0] == ["a2", "b1", "b2"]


def test_it_holds_no_more_than_its_capacity() -> None:
    missed = Missed(4)
    note(missed, {"a": "a1", "b": "b1", "c": "c1"})
    assert missed.has_room(1) and not missed.has_room(2)


def test_what_is_given_up_is_counted() -> None:
    missed = Missed(8)
    note(missed, {"a": "a1", "b": "b1"})
    note(missed, {"a": "a2", "b": "b2"})
    missed.forget(["a"])
    assert missed.clear() == ("b",)
    assert (missed.dropped, missed.positions, missed.has_room(8)) == (2, 0, True)


def test_it_is_empty_until_something_is_noted_and_again_once_it_is_cleared() -> None:
    missed = Missed(4)
    assert missed.is_empty
    note(missed, {"a": "a1"})
    missed.forget(["a"])
    assert not missed.is_empty, "its rows are taken until it is cleared"
    missed.clear()
    assert missed.is_empty


def test_a_draft_that_reads_no_hidden_states_gets_none() -> None:
    missed = Missed(4)
    missed.add(["a"], Column(["a1"]), None)
    gap = missed.gap(["a"])
    assert gap is not None
    tokens, hidden = missed.taken(gap)
    assert (tokens.rows, hidden) == (["a1"], None)
