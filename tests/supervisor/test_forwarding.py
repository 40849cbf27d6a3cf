"""The way of a server's output: whole, bounded in memory, and never a reason for the server to hang."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

import pytest

from pathtrace.supervisor.forwarding import Pump, Writer
from pathtrace.supervisor.lines import LONGEST, LineSplitter


@pytest.mark.parametrize(
    ("pieces", "lines", "rest"),
    [
        ([b"a\nb\n"], [b"a", b"b"], b""),
        ([b"a", b"b\nc", b"d"], [b"ab"], b"cd"),
        ([b"\n\n"], [b"", b""], b""),
        ([b"a\r\n"], [b"a\r"], b""),
        ([], [], b""),
    ],
)
def test_lines_are_cut_out_of_whatever_pieces(pieces: list[bytes], lines: list[bytes], rest: bytes) -> None:
    splitter = LineSplitter()
    assert [line for piece in pieces for line in splitter.feed(piece)] == lines
    assert splitter.end() == rest


def test_of_a_line_without_end_its_last_part_is_kept() -> None:
    splitter = LineSplitter()
    for _ in range(100):
        assert list(splitter.feed(b"x" * 65536)) == []
    (line,) = splitter.feed(b"END\n")
    assert len(line) == LONGEST
    assert line.endswith(b"xEND")


@pytest.mark.parametrize(
    ("pieces", "last", "lines"),
    [
        # Few lines: all of them.
        ([b"a\nb\nc\n"], 2, [b"a", b"b", b"c"]),
        # Many: the first, which may have begun before, and the last two.
        ([b"a\nb\nc\nd\ne\nf\nrest"], 2, [b"a", b"e", b"f"]),
        ([b"a\nb\nc\nd\n"], 0, [b"a"]),
        # The sign is never missed: in the middle, or begun in the piece before.
        ([b"a\nb\nSIGN\nd\ne\nf\n"], 1, [b"a", b"b", b"SIGN", b"d", b"e", b"f"]),
        ([b"x SI", b"GN y\nb\nc\nd\ne\n"], 1, [b"x SIGN y", b"e"]),
        ([b"a\nb\nc\nd\nx SI", b"GN y\n"], 1, [b"a", b"d", b"x SIGN y"]),
    ],
)
def test_of_many_lines_those_that_matter_are_seen(pieces: list[bytes], last: int, lines: list[bytes]) -> None:
    splitter = LineSplitter()
    assert [line for piece in pieces for line in splitter.skim(piece, b"SIGN", last)] == lines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        # Unless the test has closed it.
        with contextlib.suppress(OSError):
            os.close(descriptor)


def read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def test_everything_arrives_in_order_through_a_small_buffer(pipe: tuple[int, int]) -> None:
    read, write = pipe
    writer = Writer(write, lambda _what: None, most_pending=100_000)
    pieces = [bytes([number % 256]) * 10_000 for number in range(300)]

    def produce() -> None:
        for piece in pieces:
            writer.write(piece)
        assert writer.finish(20)
        os.close(write)

    thread = threading.Thread(target=produce)
    thread.start()
    assert read_all(read) == b"".join(pieces)
    thread.join()
    assert writer.lost == 0


def test_a_reader_that_takes_nothing_holds_nobody_up_for_ever(pipe: tuple[int, int]) -> None:
    trouble: list[str] = []
    writer = Writer(pipe[1], trouble.append, most_pending=200_000, stalled_s=0.3)
    began = time.monotonic()
    for _ in range(200):
        writer.write(b"x" * 10_000)
    assert time.monotonic() - began < 20
    assert writer.lost > 0
    assert len(trouble) == 1
    assert "is not read for 0.3 s" in trouble[0]


def test_a_reader_that_has_gone_ends_the_writing_and_nothing_else(pipe: tuple[int, int]) -> None:
    trouble: list[str] = []
    os.close(pipe[0])
    writer = Writer(pipe[1], trouble.append)
    for _ in range(100):
        writer.write(b"x" * 100_000)
    assert writer.finish(10)
    assert trouble == ["takes no more output: Broken pipe; the server runs on"]


def test_a_descriptor_that_does_not_block_gets_everything(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.set_blocking(write, False)
    writer = Writer(write, lambda _what: None)
    writer.write(b"x" * 3_000_000)
    received = b""
    while len(received) < 3_000_000:
        received += os.read(read, 1 << 20)
    assert writer.finish(10)
    assert received == b"x" * 3_000_000


@pytest.mark.parametrize(("before", "expected"), [(b"", b"own\n"), (b"half", b"half\nown\n"), (b"a\n", b"a\nown\n")])
def test_a_line_of_our_own_begins_a_line(pipe: tuple[int, int], before: bytes, expected: bytes) -> None:
    read, write = pipe
    writer = Writer(write, lambda _what: None)
    writer.write(before)
    writer.write_line("own")
    assert writer.finish(10)
    os.close(write)
    assert read_all(read) == expected


def test_a_pump_hands_on_every_byte_and_every_line(pipe: tuple[int, int]) -> None:
    out_read, out_write = os.pipe()
    lines: list[bytes] = []
    writer = Writer(out_write, lambda _what: None)
    pump = Pump(pipe[0], [writer], lines.append, b"sign", 30)
    os.write(pipe[1], b"one\ntwo\nthr")
    os.write(pipe[1], b"ee")
    os.close(pipe[1])
    pump.finish(10)
    assert writer.finish(10)
    os.close(out_write)
    assert read_all(out_read) == b"one\ntwo\nthree"
    os.close(out_read)
    assert lines == [b"one", b"two", b"three"]
