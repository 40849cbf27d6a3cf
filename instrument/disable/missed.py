"""What the draft has missed while speculation was off: tokens and the target's hidden states, in a bounded buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Gap:
    """The positions of some requests that the draft has not seen.

    Attributes:
        members: which requests of the batch, by index.
        lengths: how many positions of each, at its end.
        rows: rows of the buffer, member by member, each member's in order.
    """

    members: tuple[int, ...]
    lengths: tuple[int, ...]
    rows: tuple[int, ...]


class Missed:
    """A ledger of what the draft missed; the tensors lie on the device, what is where is known here.

    Attributes:
        capacity: rows of the buffer; a row is one position of one request.
        dropped: positions that were given up, because their request is no longer there.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.dropped = 0
        self._tokens: Any = None
        self._hidden: Any = None
        self._used = 0
        self._rows: dict[str, list[int]] = {}

    def __contains__(self, rid: object) -> bool:
        return rid in self._rows

    @property
    def positions(self) -> int:
        """How many positions are held."""
        return sum(map(len, self._rows.values()))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was noted since it was cleared last."""
        return self._used == 0

    def has_room(self, size: int) -> bool:
        """Whether one more step over ``size`` requests fits."""
        return self._used + size <= self.capacity

    def add(self, rids: Sequence[str], tokens: Any, hidden: Any) -> None:
        """Notes one step.

        Args:
            rids: names of the requests.
            tokens: the token that each fed to the target, shape (requests,).
            hidden: what the target made of it, shape (requests, width); None where the draft does not read it.
        """
        end = self._used + len(rids)
        if self._tokens is None:
            self._tokens = tokens.new_empty((self.capacity,))
        self._tokens[self._used : end].copy_(tokens)
        if hidden is not None:
            if self._hidden is None:
                self._hidden = hidden.new_empty((self.capacity, hidden.shape[-1]))
            self._hidden[self._used : end].copy_(hidden)
        for row, rid in enumerate(rids, self._used):
            self._rows.setdefault(rid, []).append(row)
        self._used = end

    def gap(self, rids: Sequence[str]) -> Gap | None:
        """What the requests of a batch have missed; None where they have missed nothing."""
        members = tuple(index for index, rid in enumerate(rids) if rid in self._rows)
        if not members:
            return None
        rows = [self._rows[rids[index]] for index in members]
        return Gap(members, tuple(map(len, rows)), tuple(row for each in rows for row in each))

    def taken(self, gap: Gap) -> tuple[Any, Any]:
        """The tokens and the hidden states of a gap, in its order."""
        index = self._tokens.new_tensor(gap.rows)
        return self._tokens[index], None if self._hidden is None else self._hidden[index]

    def forget(self, rids: Sequence[str]) -> None:
        """Takes out requests whose draft state is whole again, because the draft saw all of their tokens anew."""
        for rid in rids:
            self._rows.pop(rid, None)

    def clear(self) -> tuple[str, ...]:
        """Empties the buffer; returns the requests whose positions are given up with it."""
        self.dropped += self.positions
        left = tuple(self._rows)
        self._rows.clear()
        self._used = 0
        return left
