"""A report as lines of styled pieces, before it is known where they will be shown.

Text that comes from a tree, a launch or an exception passes through ``printable``: it can neither
move the cursor nor start a new line. There is no markup language, so nothing needs escaping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "head", "answer", "good", "bad", "code", "place", "value", "dim"]

LONGEST_VALUE = 120


@dataclass(frozen=True)
class Piece:
    """A run of text in one style."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Line:
    """One line of a report.

    ``indent`` is where it starts; ``hang`` is how much further its continuation lines start where
    it has to be wrapped.
    """

    pieces: tuple[Piece, ...] = ()
    indent: int = 0
    hang: int = 2

    @property
    def plain(self) -> str:
        """The line without styles, unwrapped."""
        text = "".join(piece.text for piece in self.pieces)
        return (" " * self.indent + text).rstrip()


BLANK = Line()


def line(*pieces: Piece | str, indent: int = 0, hang: int = 2) -> Line:
    """A line of pieces; a bare string is an unstyled piece."""
    return Line(tuple(Piece(each) if isinstance(each, str) else each for each in pieces if each), indent, hang)


def printable(text: str) -> str:
    """The text on one line: white space collapsed, control characters as escapes."""
    collapsed = " ".join(text.split())
    if collapsed.isprintable():
        return collapsed
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in collapsed)


def shortened(text: str, limit: int = LONGEST_VALUE) -> str:
    """``printable`` text, cut in the middle where it is too long to be read."""
    text = printable(text)
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 3]}...{text[-tail:]}"


def sections(blocks: Sequence[Sequence[Line]]) -> list[Line]:
    """Blocks of lines with a blank line between them; empty blocks vanish."""
    lines: list[Line] = []
    for block in blocks:
        if block and lines:
            lines.append(BLANK)
        lines.extend(block)
    return lines
