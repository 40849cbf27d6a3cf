"""Shell text as the parser gets it, and where each byte of it stands in the file."""

from __future__ import annotations

import re
import time
from bisect import bisect_right

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK, opened, sources_of
from pathtrace.tracer.manifests.model import Spot

LARGEST = 2_000_000
_SECONDS = 5.0
_CHUNK = 4096
# A pipeline of n commands costs the parser about 10 * n * n bytes.
_PIPES = 20_000_000
# A piece that is not stated is one word character to the parser.
_HOLDER = re.compile("\ue000(\\d+)\ue001")
_OPEN = re.compile(f"{MARK}[^{MARK}]*{MARK}")
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")
_CONTINUED_PIPE = re.compile(r"\|&?[ \t]*(?:\\|#.*)?$")


class Source:
    """One stretch of shell text.

    Args:
        text: the text; pieces that are not stated are marked.
        file: the file, as it was given.
        first_line: the line of the file on which the text starts.
        first_column: the column of its first character.
        fixed: the one place of everything in the text, where its own lines and columns say nothing.
        indents: characters taken off the front of each line (``<<-``).
    """

    def __init__(
        self,
        text: str,
        file: str,
        first_line: int = 1,
        first_column: int = 1,
        *,
        fixed: Spot | None = None,
        indents: tuple[int, ...] = (),
    ) -> None:
        self.file = file
        self.fixed = fixed
        self._first_line = first_line
        self._first_column = first_column
        self._indents = indents
        self._held = sources_of(text)
        numbers = iter(range(len(self._held)))
        plain = _OPEN.sub(lambda _: f"\ue000{next(numbers)}\ue001", text) if self._held else text
        self.data = plain.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
        self._ascii = self.data.isascii()
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", self.data))]

    def text(self, start: int, end: int) -> str:
        """A slice of the text; pieces that are not stated are still held."""
        return self.data[start:end].decode("utf-8", "surrogatepass")

    def of(self, node: Node) -> str:
        """The text of a node, pieces that are not stated still held."""
        return self.text(node.start_byte, node.end_byte)

    def written(self, text: str) -> str:
        """A slice with its unstated pieces as they were written, for a sentence."""
        return _HOLDER.sub(lambda match: self._source(match), text)

    def marked(self, text: str) -> str:
        """A slice with its unstated pieces marked."""
        return _HOLDER.sub(lambda match: opened(self._source(match)), text) if self._held else text

    def _source(self, match: re.Match[str]) -> str:
        number = int(match.group(1)) if len(match.group(1)) < 9 else len(self._held)
        return self._held[number] if number < len(self._held) else match.group()

    def spot(self, offset: int) -> Spot:
        """Where a byte stands in the file."""
        if self.fixed is not None:
            return self.fixed
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        column = offset - start if self._ascii else len(self.text(start, offset))
        column += self._indents[line] if line < len(self._indents) else 0
        return Spot(self._first_line + line, column + (self._first_column if line == 0 else 1))

    def line_number(self, index: int) -> int:
        """The line of the file of one of the text's own lines, counted from 0."""
        return self.spot(self._starts[min(index, len(self._starts) - 1)]).line

    def line(self, offset: int) -> int:
        """The line of the file on which a byte stands."""
        return self.spot(offset).line


def parse(source: Source) -> Node:
    """The syntax tree of a text.

    Raises:
        BadInput: text that is no shell, or that takes too long to parse.
    """
    _refuse_long_pipelines(source)
    data, late, end = source.data, False, time.monotonic() + _SECONDS

    def read(offset: int, _point: object) -> bytes:
        nonlocal late
        late = late or time.monotonic() > end
        return b"" if late else data[offset : offset + _CHUNK]

    tree = Parser(Language(tree_sitter_bash.language())).parse(read)
    if late:
        raise BadInput("takes too long to parse; give the part of it that starts the server", source.file)
    broken = _first_error(tree.root_node)
    if broken is not None:
        raise unreadable(source, broken.start_byte)
    return tree.root_node


def unreadable(source: Source, offset: int) -> BadInput:
    """The error for text that is no shell from ``offset`` on."""
    line = source.text(offset, offset + 200).lstrip("\n").partition("\n")[0].strip()
    near = f"near {source.written(line)[:60]!r}" if line else "at its end"
    return BadInput(
        f"is not shell that can be read {near}; check its quotes and brackets (`bash -n`)",
        source.file,
        source.line(offset),
    )


def _first_error(root: Node) -> Node | None:
    node: Node | None = root if root.has_error else None
    while node is not None and not node.is_error and not node.is_missing:
        broken = node
        node = next((child for child in node.children if child.has_error or child.is_missing), None)
        if node is None:
            return broken
    if node is None or node.is_missing:
        return node
    # The parser may put whole statements into the error; it begins at the first token that is in none.
    return next((child for child in node.children if not child.is_named or child.is_error), node)


def _refuse_long_pipelines(source: Source) -> None:
    total = pipes = at = 0
    for number, line in enumerate(source.data.decode("utf-8", "surrogatepass").split("\n")):
        at = number
        pipes += len(_PIPE.findall(line))
        if _CONTINUED_PIPE.search(line) or line.endswith("\\"):
            continue
        total, pipes = total + pipes * pipes, 0
        if total > _PIPES:
            break
    if total + pipes * pipes <= _PIPES:
        return
    raise BadInput(
        "holds too many pipes to be read; give the part of it that starts the server",
        source.file,
        source.line_number(at),
    )
