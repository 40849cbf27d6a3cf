"""Writes a document: in colour and wrapped on a terminal, plain and unwrapped anywhere else.

rich is imported only for a terminal, so a pipe or a file costs nothing. ``NO_COLOR``, ``FORCE_COLOR``
and ``TERM=dumb`` mean what rich says they mean.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from pathtrace.reports.document import Line, Style

if TYPE_CHECKING:
    from rich.console import Console

_RICH_STYLES: dict[Style, str] = {
    "": "",
    "head": "bold",
    "answer": "bold cyan",
    "good": "green",
    "bad": "bold red",
    "code": "yellow",
    "place": "blue",
    "value": "cyan",
    "dim": "dim",
}

NARROWEST = 40


def write_document(
    lines: Iterable[Line], stream: TextIO, *, terminal: bool | None = None, width: int | None = None
) -> None:
    """Write the lines to the stream.

    Args:
        lines: the document.
        stream: where it goes.
        terminal: treat the stream as a terminal or not; found out where None.
        width: columns of the terminal; found out where None. Without a terminal nothing is wrapped.
    """
    if terminal is None:
        terminal = _is_terminal(stream)
    if terminal:
        _write_rich(lines, stream, width)
    else:
        stream.writelines(f"{each.plain}\n" for each in lines)


def _is_terminal(stream: TextIO) -> bool:
    if os.environ.get("FORCE_COLOR"):
        return True
    try:
        return stream.isatty()
    except ValueError:
        return False


def _write_rich(lines: Iterable[Line], stream: TextIO, width: int | None) -> None:
    from rich.console import Console

    console = Console(file=stream, width=width, force_terminal=True, markup=False, emoji=False, highlight=False)
    for each in lines:
        _write_line(console, each)


def _write_line(console: Console, each: Line) -> None:
    from rich.text import Text

    text = Text.assemble(*((piece.text, _RICH_STYLES[piece.style]) for piece in each.pieces))
    text.rstrip()
    room = max(console.width, NARROWEST)
    fits = each.indent + text.cell_len <= room
    rows = [text] if fits else list(text.wrap(console, room - each.indent - each.hang))
    for number, row in enumerate(rows):
        row.rstrip()
        indent = each.indent + (each.hang if number else 0)
        console.print(Text(" " * indent) + row, soft_wrap=True)
