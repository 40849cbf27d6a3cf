"""Replace pieces of a text, every character of the result keeping its place in the file."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.command import Run, Written, start_of
from pathtrace.tracer.manifests.model import Spot

_LIMIT = 1 << 20


class Filling:
    """Puts a text together from stretches of another and from what is put between them."""

    def __init__(self, written: Written) -> None:
        self.written = written if written.runs else replace(written, runs=_line_runs(written))
        self.lines = self.written.runs
        self.parts: list[str] = []
        self.runs: list[Run] = []
        self.length = 0

    def keep(self, start: int, end: int) -> None:
        """Take over a stretch."""
        if start >= end:
            return
        first = bisect_right(self.lines, start, key=start_of)
        moves = first == 0 or self.lines[first - 1].moves
        self.runs.append(Run(self.length, self.written.at(start), moves))
        for run in self.lines[first : bisect_left(self.lines, end, key=start_of)]:
            self.runs.append(Run(self.length + run.start - start, run.spot, run.moves))
        self._add(self.written.text[start:end])

    def put(self, text: str, at: int) -> None:
        """Add text that stands where the character ``at`` of the other text stands."""
        self.runs.append(Run(self.length, self.written.at(at), moves=False))
        self._add(text)

    def done(self) -> Written:
        """The text."""
        return Written("".join(self.parts), self.written.spot, tuple(self.runs))

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
        if self.length > _LIMIT:
            raise BadInput("a value grows over 1 MB when its variables are filled in; shorten it")


def fill(written: Written, pattern: re.Pattern[str], piece: Callable[[re.Match[str]], str]) -> Written:
    """A text with every match of a pattern replaced."""
    filling = Filling(written)
    position = 0
    for match in pattern.finditer(written.text):
        filling.keep(position, match.start())
        filling.put(piece(match), match.start())
        position = match.end()
    if position == 0:
        return written
    filling.keep(position, len(written.text))
    return filling.done()


def _line_runs(written: Written) -> tuple[Run, ...]:
    lines = enumerate(re.finditer("\n", written.text), start=written.spot.line + 1)
    return (Run(0, written.spot), *(Run(match.end(), Spot(line, 1)) for line, match in lines))
