"""Words and values put together from stretches of a file, so that each character keeps its place."""

from __future__ import annotations

from bisect import bisect_right

from pathtrace.tracer.manifests.command import Run, Written
from pathtrace.tracer.manifests.model import Spot


class Pieces:
    """A word that is being put together.

    Args:
        spot: where the word starts, which may be a quote in front of its first character.
    """

    def __init__(self, spot: Spot) -> None:
        self.spot = spot
        self._texts: list[str] = []
        self._runs: list[Run] = []
        self._length = 0

    def add(self, text: str, spot: Spot, *, moves: bool = True) -> None:
        """Append text that starts at ``spot``; without ``moves`` all of it stands there."""
        if not text:
            return
        last = self._runs[-1] if self._runs else None
        follows = (
            last is not None
            and moves
            and last.moves
            and last.spot.line == spot.line
            and last.spot.column + self._length - last.start == spot.column
        )
        if not follows:
            self._runs.append(Run(self._length, spot, moves))
        self._texts.append(text)
        self._length += len(text)

    def add_part(self, source: Written, start: int, end: int) -> None:
        """Append a stretch of another text, with its places."""
        if not source.runs:
            self.add(source.text[start:end], source.at(start))
            return
        index = max(0, bisect_right(source.runs, start, key=lambda run: run.start) - 1)
        while start < end:
            following = source.runs[index + 1].start if index + 1 < len(source.runs) else end
            stop = min(end, max(following, start))
            self.add(source.text[start:stop], source.at(start), moves=source.runs[index].moves)
            start, index = stop, index + 1

    def written(self) -> Written:
        """The word as put together so far."""
        return Written("".join(self._texts), self.spot, tuple(self._runs))


def part(source: Written, start: int, end: int) -> Written:
    """A stretch of a text, with its places."""
    spot = source.at(start)
    if len(source.runs) == 1 and source.runs[0].moves:
        return on_one_line(source.text[start:end], spot)
    pieces = Pieces(spot)
    pieces.add_part(source, start, end)
    return pieces.written()


def on_one_line(text: str, spot: Spot) -> Written:
    """Text that stands in the file as it is, on one line."""
    return Written(text, spot, (Run(0, spot),))
