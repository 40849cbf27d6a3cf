"""Where evaluated objects keep their state, and which writes to it need a journal entry.

Slots carry a number that grows with every slots made. Where paths part, the heap remembers the next
number: what is made later belongs to one path alone, so a write to it never has to be taken back. What
outlasts an evaluation (modules, the machine's own objects) has a negative number: every write to it is
journalled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Numbering:
    """The numbers of one process; ``sign`` is +1 only while an evaluation makes objects of its own."""

    def __init__(self) -> None:
        self.last = 0
        self.sign = -1

    @contextmanager
    def signed(self, sign: int) -> Iterator[None]:
        """Inside, slots get numbers of this sign."""
        before, self.sign = self.sign, sign
        try:
            yield
        finally:
            self.sign = before


NUMBERING = Numbering()


class Slots(dict[Any, Any]):
    """A dictionary with a number that no other slots of this process have."""

    __slots__ = ("number",)

    def __init__(self, *items: Any) -> None:
        super().__init__(*items)
        NUMBERING.last += 1
        self.number = NUMBERING.sign * NUMBERING.last
