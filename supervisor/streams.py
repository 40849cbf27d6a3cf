"""The standard streams of a run: the server's go through pipes, so that its lines can be read on the way."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pathtrace.instrument.read_line import SIGN
from pathtrace.supervisor.forwarding import Pump, Writer

LINES_SHOWN = 30
LONGEST_SHOWN = 2000


def open_standard_streams() -> None:
    """Makes sure that no pipe of ours gets the number of a standard stream that was closed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def open_log(path: Path) -> int:
    """Opens a log to append to.

    Raises:
        OSError: it cannot be written.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)


def are_one() -> bool:
    """Whether standard output and standard error are one file: their lines then keep their order."""
    return os.path.sameopenfile(1, 2)


@dataclass
class ServerPipes:
    """The pipes between a server and this process.

    Attributes:
        sources: where to read its output and its errors; the same number where they are one file.
        there: what the server gets as its streams.
    """

    sources: dict[int, int] = field(default_factory=dict)
    there: dict[int, int] = field(default_factory=dict)

    @classmethod
    def open(cls) -> ServerPipes:
        """Opens them."""
        pipes = cls()
        for number in (1, 2):
            if number == 2 and are_one():
                pipes.there[2] = pipes.there[1]
            else:
                pipes.sources[number], pipes.there[number] = os.pipe()
        return pipes

    def close_there(self) -> None:
        """Leaves the server's ends to the server: the streams end when its last process does."""
        for descriptor in set(self.there.values()):
            os.close(descriptor)


class Streams:
    """Where the server's output and the lines of this process go."""

    def __init__(self, log: int | None, log_name: str, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self.error = Writer(2, partial(self._trouble, "standard error"))
        self.output = self.error if are_one() else Writer(1, partial(self._trouble, "standard output"))
        self.log = None if log is None else Writer(log, partial(self._trouble, log_name))
        self.last_lines: deque[bytes] = deque(maxlen=LINES_SHOWN)
        self._pumps: list[Pump] = []

    @property
    def writers(self) -> list[Writer]:
        """All of them."""
        return [*dict.fromkeys((self.output, self.error)), *([] if self.log is None else [self.log])]

    def forward(self, sources: dict[int, int]) -> None:
        """Passes on what comes."""
        copies = [] if self.log is None else [self.log]
        to = {1: self.output, 2: self.error}
        self._pumps = [
            Pump(source, [to[number], *copies], self._line, SIGN.encode(), LINES_SHOWN)
            for number, source in sources.items()
        ]

    def say(self, text: str) -> None:
        """Says a line of our own."""
        self.error.write_line(f"pathtrace: {text}")

    def say_everywhere(self, text: str) -> None:
        """Says a line of our own, in the log too."""
        self.say(text)
        if self.log is not None:
            self.log.write_line(f"pathtrace: {text}")

    def drain(self, patience_s: float) -> None:
        """Takes what an ended server has left in its pipes."""
        for writer in self.writers:
            writer.begin_drain()
        for pump in self._pumps:
            pump.finish(patience_s)

    def _line(self, line: bytes) -> None:
        self.last_lines.append(line[-LONGEST_SHOWN:])
        self._on_line(line)

    def _trouble(self, name: str, what: str) -> None:
        self.error.write_line(f"pathtrace: {name} {what}")
