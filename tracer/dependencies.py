"""The files that an answer was made from, and what of them it depends on.

Of a file none of whose functions ran it is everything but their bodies. The module of the chosen worker is
such a file: its classes are made, its steps do not run. So an answer outlives an edit of a step, which is
what people do to these files.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from pathtrace.tracer.answer import Answer, Place, Worker
from pathtrace.tracer.eval.sources import mentions_in


@dataclass(frozen=True)
class Dependencies:
    """What an answer was made from.

    Attributes:
        tree_files: files of the tree, those that were looked for and not there included.
        other_files: files outside of it.
        unentered: of the tree's files, those none of whose functions ran, each with the names of which
            it was asked whether the file mentions them.
    """

    tree_files: Mapping[str, bytes | None]
    other_files: frozenset[str]
    unentered: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Shown:
    """What else of a file an answer holds on to.

    Attributes:
        lines: lines that it shows.
        names: names of which it was asked whether the file mentions them.
    """

    lines: tuple[int, ...]
    names: tuple[str, ...]


def skeleton(data: bytes | None, shown: Shown) -> str | None:
    """A digest of a file without the bodies of its functions; None where it is not Python."""
    try:
        tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = []
    text = (data or b"").decode("utf-8", "replace").split("\n")
    lines = [text[line - 1].strip() if line <= len(text) else None for line in shown.lines]
    counted = mentions_in(data or b"")
    mentions = [min(counted[name], 2) for name in shown.names]
    try:
        whole = repr((ast.dump(tree), lines, mentions))
    except RecursionError:
        return None
    return hashlib.blake2b(whole.encode("utf-8", "replace"), digest_size=16).hexdigest()


def shown_lines(answer: Answer, path: str) -> tuple[int, ...]:
    """The lines of a file that an answer shows."""
    return tuple(sorted({line for file, line in _places(answer) if file == path}))


def _places(value: object) -> Iterator[tuple[str, int]]:
    if isinstance(value, Place | Worker):
        yield value.file, value.line
    if is_dataclass(value):
        yield from _inside(getattr(value, field.name) for field in fields(value))
        file, line = getattr(value, "file", None), getattr(value, "line", None)
        if isinstance(file, str) and isinstance(line, int):
            yield file, line
    elif isinstance(value, tuple):
        yield from _inside(value)


def _inside(values: Iterable[object]) -> Iterator[tuple[str, int]]:
    for value in values:
        yield from _places(value)
