"""State whose changes can be taken down, undone and made again.

Every write goes through :meth:`Heap.store`, which journals the old value where more than one path can
see it.
"""

from __future__ import annotations

from typing import Any

from pathtrace.tracer.eval.conditions import Conditions
from pathtrace.tracer.eval.exits import Frame
from pathtrace.tracer.eval.slots import NUMBERING, Slots
from pathtrace.tracer.eval.values import ABSENT, CARRIERS, Instance, is_value


class Write:
    """Who wrote a slot: a line, the branch it stood under, and the reads that made the value.

    ``leaf`` is set where the value enters from outside (a flag, a variable, a config key, a default);
    ``parts`` where states were merged; ``leads`` where what was written is an object that only leads to
    values (a module, a function, an instance), so that what made it says nothing about them.
    """

    __slots__ = ("ctrl", "file", "leads", "leaf", "line", "parts", "r0", "r1", "seq")

    def __init__(self, seq: int, file: str, line: int, ctrl: Any, r0: int, r1: int) -> None:
        self.seq = seq
        self.file = file
        self.line = line
        self.ctrl = ctrl
        self.r0 = r0
        self.r1 = r1
        self.leaf: tuple[str, str] | None = None
        self.leads = False
        self.parts: tuple[Any, ...] = ()

    def leading(self) -> Write:
        """The same write of an object that only leads to values; one line may write others too."""
        copy = Write(self.seq, self.file, self.line, self.ctrl, self.r0, self.r1)
        copy.leaf, copy.parts, copy.leads = self.leaf, self.parts, True
        return copy


class Heap:
    """The journal, the path condition and who wrote what."""

    def __init__(self) -> None:
        self.conditions = Conditions()
        self.pc: Any = True
        self.trail: list[tuple[Slots, Any, Any, Any]] = []
        self.parted: float = 0
        self.writers: dict[tuple[int, Any], Any] = {}
        self.objects: dict[int, Any] = {}
        self.frames: list[Frame] = []
        self.reads: list[tuple[int, Any, Any]] = []
        self.seq = 0
        self.exits = 0
        self.unknowns: dict[str, int] = {}
        self.file = ""
        self.line = 0
        self.ctrl: Any = None

    def tick(self) -> int:
        """The next number in the order of events."""
        self.seq += 1
        return self.seq

    def written(self, r0: int) -> Write:
        """A record of a write on the current line whose value was made from the reads since ``r0``."""
        self.seq += 1
        return Write(self.seq, self.file, self.line, self.ctrl, r0, len(self.reads))

    def saw(self, slots: Slots, key: Any) -> None:
        """Note that ``slots[key]`` was read, and who had written it by then."""
        number = slots.number
        self.reads.append((number, key, self.writers.get((number, key))))

    def store(self, slots: Slots, key: Any, value: Any, write: Any = None) -> None:
        """Set ``slots[key]``, journalled unless only the current path can see these slots."""
        where = (slots.number, key)
        if slots.number <= self.parted:
            self.trail.append((slots, key, slots.get(key, ABSENT), self.writers.get(where)))
        if type(value) in CARRIERS and write is not None and not (type(value) is Instance and is_value(value)):
            write = write if write.leads else write.leading()
        slots[key] = value
        self.writers[where] = write

    def store_visibly(self, obj: Any, key: Any, value: Any, write: Any = None) -> None:
        """:meth:`store` into an object's slots. The chain may ask for whose attribute or item it was."""
        self.objects[obj.slots.number] = obj
        self.store(obj.slots, key, value, write)

    def undo(self, mark: int) -> None:
        """Take back every write since ``mark``."""
        trail, writers = self.trail, self.writers
        while len(trail) > mark:
            slots, key, old, write = trail.pop()
            slots[key] = old
            writers[(slots.number, key)] = write

    def diff(self, mark: int) -> dict[Any, Any]:
        """The slots written since ``mark`` with their current values."""
        writers = self.writers
        found: dict[Any, Any] = {}
        for slots, key, _old, _write in self.trail[mark:]:
            where = (slots.number, key)
            if where not in found:
                found[where] = (slots, key, slots.get(key, ABSENT), writers.get(where))
        return found

    def replay(self, diff: dict[Any, Any]) -> None:
        """Write again what :meth:`diff` took down."""
        for slots, key, new, write in diff.values():
            self.store(slots, key, new, write)

    def part(self) -> float:
        """Paths part here: slots made from now on belong to one of them. Returns what :meth:`join` wants back."""
        before = self.parted
        self.parted = max(before, NUMBERING.last)
        return before

    def join(self, before: float) -> None:
        """The paths that parted have joined again, save those that wait in a frame."""
        if self.parted != before:
            waiting = (frame.parted for frame in self.frames if frame.kind != "root")
            self.parted = max(before, max(waiting, default=0))
