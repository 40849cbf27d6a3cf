"""A Dockerfile -> its instructions, each on one line: comments, continued lines, here-documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.pieces import Pieces, on_one_line, part

_DIRECTIVE = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(\S.*)", re.DOTALL)
_DIRECTIVES = frozenset(["syntax", "escape", "check"])
_KEYWORD = re.compile(r"(\S+)[\t\v\f\r ]*")
_HEREDOC = re.compile(r"\d*<<(-?)([^<]+)")
_WITH_HEREDOC = frozenset(["ADD", "COPY", "RUN"])


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        keyword: ``FROM``, ``ENV``, ..., in capitals.
        argument: what follows it, continued lines joined as Docker joins them.
        line: the line of the keyword.
    """

    keyword: str
    argument: Written
    line: int


class Lines:
    """The lines of a Dockerfile.

    Attributes:
        escape: the character that continues lines and escapes others.

    Raises:
        BadInput: an escape character that Docker does not take.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self._lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
        self._next = 0
        self.escape = self._read_directives()

    def instructions(self) -> Iterator[Instruction]:
        """The instructions in order.

        Raises:
            BadInput: a here-document without an end.
        """
        while self._next < len(self._lines):
            instruction = self._instruction()
            if instruction is not None:
                self._skip_heredocs(instruction)
                yield instruction

    def _read_directives(self) -> str:
        escape = "\\"
        for number, line in enumerate(self._lines, start=1):
            match = _DIRECTIVE.fullmatch(line.strip())
            if match is None or match.group(1).lower() not in _DIRECTIVES:
                break
            if match.group(1).lower() == "escape":
                escape = match.group(2)
                if escape not in ("\\", "`"):
                    raise BadInput("the escape character is neither \\ nor `; write one of them", self.file, number)
        return escape

    def _instruction(self) -> Instruction | None:
        number, line = self._take()
        stripped = line.lstrip()
        if not stripped or stripped.startswith("#"):
            return None
        spot = Spot(number, len(line) - len(stripped) + 1)
        body, goes_on = self._without_continuation(stripped)
        whole = self._continued(body, spot) if goes_on else on_one_line(body, spot)
        match = _KEYWORD.match(whole.text)
        if match is None:
            return None
        end = max(match.end(), len(whole.text.rstrip()))
        return Instruction(match.group(1).upper(), part(whole, match.end(), end), number)

    def _continued(self, body: str, spot: Spot) -> Written:
        """A line and those that continue it; comments and empty lines between them do not count."""
        pieces = Pieces(spot)
        pieces.add(body, spot)
        goes_on = True
        while goes_on and self._next < len(self._lines):
            position, line = self._take()
            bare = line.lstrip()
            if bare and not bare.startswith("#"):
                body, goes_on = self._without_continuation(line)
                pieces.add(body, Spot(position, 1))
        return pieces.written()

    def _take(self) -> tuple[int, str]:
        self._next += 1
        return self._next, self._lines[self._next - 1]

    def _without_continuation(self, line: str) -> tuple[str, bool]:
        end = line.rstrip(" \t")
        if end.endswith(self.escape) and not end.endswith(self.escape * 2):
            return end[:-1], True
        return line, False

    def _skip_heredocs(self, instruction: Instruction) -> None:
        keyword, text = instruction.keyword, instruction.argument.text
        if keyword == "ONBUILD":
            keyword, _, text = text.partition(" ")
        if keyword.upper() not in _WITH_HEREDOC or "<<" not in text or _is_list(text):
            return
        for match in word_pattern("\\").finditer(text):
            heredoc = _HEREDOC.fullmatch(match.group())
            if heredoc is None:
                continue
            name = re.sub(r"[\"'\\]", "", heredoc.group(2))
            while True:
                if self._next == len(self._lines):
                    raise BadInput(
                        f"the here-document {name[:40]!r} has no end; end it with a line that holds only its name",
                        self.file,
                        instruction.line,
                    )
                line = self._take()[1]
                if (line.lstrip("\t") if heredoc.group(1) else line) == name:
                    break


@lru_cache(maxsize=2)
def word_pattern(escape: str) -> re.Pattern[str]:
    """A word between blanks, with its quotes and escapes."""
    e = re.escape(escape)
    return re.compile(rf"(?:{e}(?:.|\Z)|\"(?:{e}.|[^\"{e}])*(?:\"|{e}?\Z)|'[^']*(?:'|\Z)|[^\s{e}\"']+)+", re.DOTALL)


def _is_list(text: str) -> bool:
    if not text.startswith("["):
        return False
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
