"""Ways out of a block before its end, and the frames that catch them.

A path that leaves early (return, break, continue, raise) waits, with its condition and its changes, in the
frame that catches it.
"""

from __future__ import annotations

from typing import Any

from pathtrace.tracer.eval.slots import NUMBERING

LEAVES = {"return": ("function",), "break": ("loop",), "continue": ("iteration",)}


class Signal:
    """A statement that leaves its block: ``return``, ``break`` or ``continue``."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind = kind
        self.value = value


class Raised(Exception):
    """An exception of the evaluated code. ``exc`` is its instance, ``file:line`` where it was raised.

    ``importing`` is set where it ended the import of a module of the tree.
    """

    def __init__(self, exc: Any, file: str, line: int) -> None:
        super().__init__(exc)
        self.exc = exc
        self.file = file
        self.line = line
        self.importing = False
        self.ctrl: Any = None


class Dead(Exception):
    """No path goes on from here: every case has left for a frame further out."""


class Frame:
    """Somewhere early exits are caught: a function, loop, iteration or ``try``.

    ``parted`` is the number of the newest slots when a path last left for this frame; ``stops`` whether
    an exception may end here, and not go on to the frame around it.
    """

    __slots__ = ("kind", "mark", "parted", "pending", "stops")

    def __init__(self, kind: str, mark: int, stops: bool = False) -> None:
        self.kind = kind
        self.mark = mark
        self.stops = stops
        self.parted = 0
        self.pending: list[Pending] = []

    def catch(self, pending: Pending) -> None:
        """Keep an early exit. Other paths go on: they must not change what it can see."""
        self.pending.append(pending)
        self.parted = NUMBERING.last


class Pending:
    """An early exit under a condition, with the changes made since its frame began.

    Exits are numbered in their order; an exception that nothing stops has the number 0.
    """

    __slots__ = ("diff", "number", "test", "value")

    def __init__(self, test: Any, value: Any, diff: dict[Any, Any], number: int = 0) -> None:
        self.number = number
        self.test = test
        self.value = value
        self.diff = diff
