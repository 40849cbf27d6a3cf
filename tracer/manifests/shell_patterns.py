"""Shell patterns over known text: ``case`` patterns, ``${V%.txt}``, ``${V/a/b}``."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST_PATTERN = 200
_LONGEST_VALUE = 2000
_LONGEST_CUT = 200
_MOST_STARS = 2


class Pattern:
    """A pattern as a pair of regular expressions.

    Args:
        pieces: its text, each piece with whether its special characters stand for themselves.

    Attributes:
        known: whether it is read; patterns with many stars and ``[[:alpha:]]`` are not.
    """

    def __init__(self, pieces: list[tuple[str, bool]]) -> None:
        self.literal = all(plain or not re.search(r"[*?\[\\]|[+@!]\(", text) for text, plain in pieces)
        shape = "".join("" if plain else text for text, plain in pieces)
        length = sum(len(text) for text, _ in pieces)
        self._text = "".join(text for text, _ in pieces)
        self.known = self.literal or (
            length <= _LONGEST_PATTERN and shape.count("*") <= _MOST_STARS and not re.search(r"[\[\\]|[*?+@!]\(", shape)
        )
        self._stars = shape.count("*")
        self._expression = "".join(re.escape(text) if plain else _translated(text) for text, plain in pieces)

    def fits(self, value: str) -> bool | None:
        """Whether the whole value matches, or None where that is not worked out."""
        if self.literal:
            return value == self._text
        if not self.known or len(value) > _LONGEST_VALUE:
            return None
        return re.fullmatch(self._expression, value, re.DOTALL) is not None

    def without_front(self, value: str, *, longest: bool) -> str | None:
        """``${V#pattern}`` and ``${V##pattern}``."""
        ends = range(len(value), -1, -1) if longest else range(len(value) + 1)
        return self._cut(value, ((value[:end], value[end:]) for end in ends))

    def without_end(self, value: str, *, longest: bool) -> str | None:
        """``${V%pattern}`` and ``${V%%pattern}``."""
        starts = range(len(value) + 1) if longest else range(len(value), -1, -1)
        return self._cut(value, ((value[start:], value[:start]) for start in starts))

    def cost(self, value: str) -> int:
        """How much work it may be to cut a value, in characters."""
        return len(value) ** (1 + self._stars) // 5 if self.known and len(value) <= _LONGEST_CUT else 0

    def _cut(self, value: str, cuts: Iterable[tuple[str, str]]) -> str | None:
        if not self.known or len(value) > _LONGEST_CUT:
            return None
        fits = re.compile(self._expression, re.DOTALL).fullmatch
        for taken, left in cuts:
            if fits(taken):
                return left
        return value

    def replaced(self, value: str, by: str, *, everywhere: bool) -> str | None:
        """``${V/pattern/by}`` and ``${V//pattern/by}``, for a pattern that is plain text."""
        if not self.literal or not self._text:
            return None
        return value.replace(self._text, by) if everywhere else value.replace(self._text, by, 1)


def _translated(text: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in text)
