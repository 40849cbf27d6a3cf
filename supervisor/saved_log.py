"""A saved log: the confirmation lines of the last run in it, read in constant memory, also while it grows."""

from __future__ import annotations

import gzip
import io
import os
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from pathtrace.instrument.confirmation import Line
from pathtrace.instrument.read_line import SIGN, read_line
from pathtrace.supervisor.lines import LineSplitter
from pathtrace.supervisor.run_mark import read_mark

CHUNK = 1 << 20
PAUSE_S = 0.2
MOST_LINES = 100_000
_GZIP = b"\x1f\x8b"
_SIGN = SIGN.encode()


class UnreadableLog(Exception):
    """The log cannot be read; the sentence says why and what to do."""


@dataclass
class LastRun:
    """The lines of the last run in a log: the one whose token was the last to appear.

    Attributes:
        run: its token, None for a server without a supervisor.
        lines: what its processes said, each once.
    """

    run: str | None = None
    lines: dict[Line, None] = field(default_factory=dict)
    _seen: set[str | None] = field(default_factory=set)

    def begin(self, run: str | None) -> None:
        """Takes note of a run; one that is known already does not begin again."""
        if run not in self._seen:
            self._seen.add(run)
            self.run, self.lines = run, {}

    def hear(self, line: Line) -> None:
        """Takes one line.

        Raises:
            UnreadableLog: more lines than servers say.
        """
        run = line.origin.run
        self.begin(run)
        if run == self.run:
            self.lines[line] = None
        if len(self.lines) > MOST_LINES or len(self._seen) > MOST_LINES:
            raise UnreadableLog(f"it holds more than {MOST_LINES} confirmation lines; give the log of one server")


def read_log(path: str, last: LastRun) -> None:
    """Reads a whole log, ``-`` for standard input; plain or gzip.

    Raises:
        UnreadableLog: it is not there, cannot be read, or is a gzip file that breaks off.
    """
    splitter = LineSplitter()
    try:
        with _open(path) as stream:
            first = stream.peek(2)[:2] if isinstance(stream, io.BufferedReader) else b""
            source = gzip.GzipFile(fileobj=stream) if first == _GZIP else stream
            while data := source.read(CHUNK):
                _hear(splitter.skim(data, _SIGN, 0), last)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise UnreadableLog(f"it is not a whole gzip file ({problem}); unpack it as far as it goes") from None
    except (OSError, ValueError) as problem:
        raise UnreadableLog(f"it cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    _hear([splitter.end()], last)


def follow_log(path: str, last: LastRun, until: float) -> Iterator[None]:
    """Reads a log as it grows, from its beginning; yields whenever there may be news, and several times a second.

    A log that is not there yet is waited for. One that is replaced is read to its end before the new one, one that
    is cut is read from its beginning again.

    Args:
        until: the time, on the monotonic clock, at which to stop.

    Raises:
        UnreadableLog: it cannot be read, or was not there all the time.
    """
    stream: BinaryIO | None = None
    splitter = LineSplitter()
    try:
        while True:
            about = _about(path)
            if stream is not None:
                yield from _rest(stream, splitter, last)
                if about is not None and not os.path.samestat(about, os.fstat(stream.fileno())):
                    _hear([splitter.end()], last)
                    stream.close()
                    stream = None
                elif os.fstat(stream.fileno()).st_size < stream.tell():
                    stream.seek(0)
                    splitter = LineSplitter()
            if stream is None and about is not None:
                stream = _open_growing(path)
                splitter = LineSplitter()
                yield from _rest(stream, splitter, last)
            yield
            if time.monotonic() >= until:
                break
            time.sleep(min(PAUSE_S, max(0.0, until - time.monotonic())))
    except (OSError, ValueError) as problem:
        raise UnreadableLog(f"it cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    finally:
        if stream is not None:
            stream.close()
    if stream is None:
        raise UnreadableLog("it is not there; give the file that the server's output goes to")


def _about(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _open_growing(path: str) -> BinaryIO:
    # A pipe that nobody writes to would be waited for without end.
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    if not os.path.isfile(path):
        stream.close()
        raise UnreadableLog("it is no file; for a pipe write: ... | pathtrace log - --wait S")
    if stream.read(2) == _GZIP:
        stream.close()
        raise UnreadableLog("it is compressed, so it does not grow; leave --wait out")
    stream.seek(0)
    return stream


def _rest(stream: BinaryIO, splitter: LineSplitter, last: LastRun) -> Iterator[None]:
    while data := stream.read(CHUNK):
        _hear(splitter.skim(data, _SIGN, 0), last)
        yield


def follow_stream(descriptor: int, last: LastRun, until: float) -> Iterator[None]:
    """Reads a pipe as it comes, until its end or the time; yields whenever there may be news."""
    import select

    splitter = LineSplitter()
    while (left := until - time.monotonic()) > 0:
        if select.select([descriptor], [], [], min(left, 1.0))[0]:
            data = os.read(descriptor, CHUNK)
            _hear(splitter.skim(data, _SIGN, 0) if data else [splitter.end()], last)
            if not data:
                yield
                return
        yield


def _open(path: str) -> BinaryIO:
    return os.fdopen(os.dup(sys.stdin.fileno()), "rb") if path == "-" else open(path, "rb")


def _hear(lines: Iterator[bytes] | list[bytes], last: LastRun) -> None:
    for line in lines:
        if _SIGN in line:
            text = line.decode("utf-8", "replace")
            said = read_line(text)
            begun = None if said is not None else read_mark(text)
            if said is not None:
                last.hear(said)
            elif begun is not None:
                last.begin(begun)
