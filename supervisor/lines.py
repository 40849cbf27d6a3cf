"""Bytes as they come -> lines of bounded length."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.instrument.read_line import LONGEST_READ

# Of a longer line its end is kept: what another process left unfinished stands before our line, not after it.
LONGEST = 2 * LONGEST_READ


class LineSplitter:
    """Cuts a stream into lines, whatever pieces it comes in."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that ``data`` completes, without their ends."""
        *complete, rest = data.split(b"\n")
        if complete:
            complete[0] = self._rest + complete[0]
        else:
            rest = self._rest + rest
        self._rest = rest[-LONGEST:]
        for line in complete:
            yield line[-LONGEST:]

    def skim(self, data: bytes, sign: bytes, last: int) -> Iterator[bytes]:
        """The lines that ``data`` completes; of many lines without ``sign`` only the first and the last ones."""
        if sign in data or data.count(b"\n") <= last + 1:
            yield from self.feed(data)
            return
        first, _, after = data.partition(b"\n")
        yield (self._rest + first)[-LONGEST:]
        _, *lines, rest = after.rsplit(b"\n", last + 1)
        self._rest = rest[-LONGEST:]
        for line in lines:
            yield line[-LONGEST:]

    def end(self) -> bytes:
        """What came after the last line end."""
        rest, self._rest = self._rest, b""
        return rest
