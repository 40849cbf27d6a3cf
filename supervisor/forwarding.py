"""Passing a server's output on, byte for byte."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from pathtrace.supervisor.lines import LineSplitter

# What a reader that has fallen behind may leave unread before the server has to wait for it.
MOST_PENDING = 64 * 1024 * 1024
# A reader that takes nothing for so long does not read: output is left out, and the server waits no more.
STALLED_S = 30.0
CHUNK = 65536
_OVERHEAD = 64


class Writer:
    """Writes to one descriptor from a thread of its own."""

    def __init__(
        self,
        descriptor: int,
        on_trouble: Callable[[str], None],
        most_pending: int = MOST_PENDING,
        stalled_s: float = STALLED_S,
    ) -> None:
        """Args:
        on_trouble: told why bytes do not arrive: once when nobody reads any more, once when some are left out.
        """
        self._descriptor = descriptor
        self._on_trouble = on_trouble
        self._most_pending = most_pending
        self._stalled_s = stalled_s
        self._pending: deque[bytes] = deque()
        self._size = 0
        self._lost = 0
        self._moved_at = time.monotonic()
        self._is_closed = False
        self._is_draining = False
        self._is_ending = False
        self._last = b"\n"
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"write-{descriptor}", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """Bytes that were left out."""
        with self._changed:
            return self._lost

    def write(self, data: bytes) -> None:
        """Hands over bytes; waits while the reader is far behind, as long as it reads at all."""
        with self._changed:
            while self._is_full() and not self.is_stalled(self._stalled_s):
                self._changed.wait(0.5)
            is_left_out = self._is_full()
            if is_left_out:
                self._lost += len(data)
            else:
                self._take(data)
            is_news = is_left_out and self._lost == len(data)
        if is_news:
            self._on_trouble(
                f"is not read for {self._stalled_s:g} s: output is left out until it is; the server runs on"
            )

    def write_line(self, text: str) -> None:
        """Hands over a line of our own, at once; it begins a new line wherever the others stopped."""
        data = text.replace("\n", " ").encode("utf-8", "replace") + b"\n"
        with self._changed:
            self._take(data if self._last == b"\n" else b"\n" + data)

    def is_stalled(self, seconds: float) -> bool:
        """Whether something is left to be read, and nobody has read for so long."""
        return bool(self._pending or self._size) and time.monotonic() - self._moved_at >= seconds

    def begin_drain(self) -> None:
        """From now on nobody waits for the reader: what still comes is the little that the server left behind."""
        with self._changed:
            self._is_draining = True
            self._changed.notify_all()

    def finish(self, patience_s: float) -> bool:
        """Waits until everything is written, or nobody reads; returns whether that is so when the time is over."""
        with self._changed:
            self._is_draining = self._is_ending = True
            self._changed.notify_all()
        self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _is_full(self) -> bool:
        return self._size > self._most_pending and not self._is_closed and not self._is_draining

    def _take(self, data: bytes) -> None:
        if self._is_closed or not data:
            return
        if not self._size:
            self._moved_at = time.monotonic()
        self._pending.append(data)
        self._size += len(data) + _OVERHEAD
        self._last = data[-1:]
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._pending and not self._is_ending:
                    self._changed.wait()
                if not self._pending:
                    return
                data = self._pending.popleft()
            try:
                self._write_all(data)
            except OSError as problem:
                with self._changed:
                    self._is_closed = True
                    self._pending.clear()
                    self._size = 0
                    self._changed.notify_all()
                self._on_trouble(f"takes no more output: {problem.strerror}; the server runs on")
                return
            with self._changed:
                self._size -= len(data) + _OVERHEAD
                self._changed.notify_all()

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view[:CHUNK]) :]
                self._moved_at = time.monotonic()
            except BlockingIOError:
                # The descriptor is shared with whoever started this process, who may have made it non-blocking.
                select.select((), (self._descriptor,), ())


class Pump:
    """Reads one stream of the server until its end and hands it on: by lines to a listener, whole to writers."""

    def __init__(
        self, descriptor: int, writers: Sequence[Writer], on_line: Callable[[bytes], None], sign: bytes, last: int
    ) -> None:
        """Args:
        sign: what a line holds that must not be missed.
        last: how many of the last lines are wanted; of a flood, others are left out.
        """
        self._descriptor = descriptor
        self._writers = writers
        self._on_line = on_line
        self._sign = sign
        self._last = last
        self._thread = threading.Thread(target=self._run, name=f"read-{descriptor}", daemon=True)
        self._thread.start()

    def finish(self, patience_s: float) -> None:
        """Waits for the stream's end, which comes when the last process that holds it has ended."""
        self._thread.join(patience_s)

    def _run(self) -> None:
        splitter = LineSplitter()
        while data := os.read(self._descriptor, CHUNK):
            for line in splitter.skim(data, self._sign, self._last):
                self._on_line(line)
            for writer in self._writers:
                writer.write(data)
        rest = splitter.end()
        if rest:
            self._on_line(rest)
