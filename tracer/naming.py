"""The line that sets a field, found through the tree's own setters.

Newer trees write a field through ``__setattr__``, a declaration or a published copy; the line that a
reader looks for is the one that names the field.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from pathtrace.tracer.answer import Place
from pathtrace.tracer.eval.machine import Machine

_MOST_WRITES = 60


def parts(write: Any) -> list[Any]:
    """The writes that a merged slot may hold."""
    if write is None:
        return []
    found: list[Any] = []
    stack = [write]
    while stack and len(found) < 12:
        item = stack.pop()
        if item.parts:
            stack += item.parts
        else:
            found.append(item)
    return found


def place_of(m: Machine, write: Any) -> Place:
    """The line of a write."""
    return Place(write.file, write.line, m.sources.line(write.file, write.line))


def writes_read(m: Machine, r0: int, r1: int) -> list[Any]:
    """Who wrote what these reads saw, the last read first; what loading a module wrote is left out.

    An object is looked at before its class, and a setter's value is the last of its arguments.
    """
    reads = reversed(m.reads[r0:r1])
    return [part for number, _key, written in reads if number > 0 for part in parts(written)]


def naming_write(m: Machine, writes: list[Any], field: str) -> Any | None:
    """The nearest write behind ``writes`` whose line names the field; None where none does."""
    word = re.compile(rf"\b{re.escape(field)}\b")
    waiting = deque(writes)
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_WRITES:
        write = waiting.popleft()
        if write.seq in seen or write.leaf is not None:
            continue
        seen.add(write.seq)
        if write.file and word.search(m.sources.line(write.file, write.line)):
            return write
        waiting += writes_read(m, write.r0, write.r1)
    return None


def naming_place(m: Machine, writes: list[Any], field: str) -> Place:
    """The line that names the field; where none does, that of the first write."""
    return place_of(m, naming_write(m, writes, field) or writes[0])
