"""Where the characters of a YAML scalar stand: folding, indentation and escapes change its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pathtrace.tracer.manifests.command import Run
from pathtrace.tracer.manifests.model import Spot

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z))*[ \t]*)*")
_WORD = re.compile(r"\S+")
_WORD_OR_QUOTE = re.compile(r"[^\s']+|'")
_DOUBLE = re.compile(
    r"(?P<joined>\\\r?\n[ \t]*)|(?P<one>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.))"
    r"|(?P<fold>[ \t]*(?:\r?\n[ \t]*)+)|(?P<plain>[^\\\n \t]+|[ \t])",
    re.DOTALL,
)


def content_start(source: str, start: int, end: int, style: str) -> int:
    """Where the text of a scalar starts: behind its anchor and tag, its quote counting as text.

    A block scalar starts with the first character of its lines.
    """
    match = _PROPERTIES.match(source, start, end)
    start = match.end() if match else start
    if style not in ("|", ">"):
        return start
    line = source.find("\n", start, end) + 1
    first = re.compile(r"\S").search(source, line, end) if line else None
    return first.start() if first else start


def runs_of(text: str, source: str, start: int, end: int, style: str, spot: Callable[[int], Spot]) -> tuple[Run, ...]:
    """The stretches of a scalar's text.

    Args:
        text: the text as YAML reads it.
        source: the file.
        start: where it starts in the file, as of :func:`content_start`.
        end: behind it.
        style: how it is written.
        spot: the place of a character of the file.
    """
    if not style and "\n" not in source[start:end]:
        return ()
    steps = (
        _in_double(source, start + 1, end - 1, len(text)) if style == '"' else _words(text, source, start, end, style)
    )
    runs: list[Run] = []
    before: tuple[int, int] | None = None
    for offset, index in steps:
        if index < 0:
            # The text cannot be followed, so all of it stands where it starts.
            return (Run(0, spot(start), moves=False),)
        moved = before is None or index - before[1] != offset - before[0] or "\n" in source[before[1] : index]
        if moved:
            runs.append(Run(offset, spot(index)))
        before = offset, index
    return tuple(runs)


def _words(text: str, source: str, start: int, end: int, style: str) -> Iterator[tuple[int, int]]:
    """Words are contiguous in all styles but the double-quoted one."""
    index = start + 1 if style == "'" else start
    for match in (_WORD_OR_QUOTE if style == "'" else _WORD).finditer(text):
        word = match.group()
        written = "''" if style == "'" and word == "'" else word
        index = source.find(written, index, end)
        yield match.start(), index
        if index < 0:
            return
        index += len(written)


def _in_double(source: str, start: int, end: int, length: int) -> Iterator[tuple[int, int]]:
    offset = 0
    for match in _DOUBLE.finditer(source, start, end):
        if match.lastgroup == "joined":
            continue
        yield offset, match.start()
        if match.lastgroup == "fold":
            offset += max(1, match.group().count("\n") - 1)
        else:
            offset += 1 if match.lastgroup == "one" else len(match.group())
    if offset != length:
        yield 0, -1
