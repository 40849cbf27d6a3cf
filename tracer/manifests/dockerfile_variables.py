"""Values of ``ENV`` and ``ARG``: quotes, escapes and variables, as ``docker build`` reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK, is_open, opened, shown

_NAME = re.compile(r"\d+|[@*#?\-$!]|[^\W\d]\w*")
_MAX_DEPTH = 40
_MAX_VALUE = 1 << 17
_MAX_WORK = 1 << 23


@dataclass(frozen=True)
class Value:
    """What a variable stands for.

    Attributes:
        text: the value; it may have pieces that are not stated.
        notes: what was taken for granted to know it.
    """

    text: str
    notes: frozenset[str] = frozenset()


LookUp = Callable[[str], "Value | None"]


class Substitution:
    """Fills in the values of one Dockerfile.

    Args:
        escape: the character that escapes others.
        file: the file, for messages.
    """

    def __init__(self, escape: str, file: str) -> None:
        self.escape = escape
        self.file = file
        self._work = 0
        e = re.escape(escape)
        self.special = re.compile(rf"[$'\"{e}]")
        self.plain = re.compile(rf"[^$'\"}}{e}]+")
        self.plain_quoted = re.compile(rf"[^$\"{e}]+")

    def value(self, source: str, look_up: LookUp, line: int) -> Value:
        """The value of a word as written.

        Raises:
            BadInput: a quote or brace that is not closed, a substitution that Docker does not know, or
                values that grow too large.
        """
        notes: frozenset[str] = frozenset()
        text = source
        if self.special.search(source) is not None:
            filling = _Filling(self, source, look_up, line)
            text, notes = filling.until(None, 0), frozenset(filling.notes)
        self._work += len(text) + sum(map(len, notes)) + 1
        if len(text) > _MAX_VALUE:
            raise BadInput("the value is over 128 KB, with which no process starts; shorten it", self.file, line)
        if self._work > _MAX_WORK:
            raise BadInput("the variables of the file grow over 8 MB; write their values out", self.file, line)
        return Value(text, notes)


class _Filling:
    """One value that is being filled in."""

    def __init__(self, rules: Substitution, source: str, look_up: LookUp, line: int) -> None:
        self.rules = rules
        self.source = source
        self.look_up = look_up
        self.line = line
        self.position = 0
        self.notes: set[str] = set()

    def refuse(self, what: str) -> BadInput:
        return BadInput(f"{what}, so Docker refuses the line; correct it", self.rules.file, self.line)

    def until(self, stop: str | None, depth: int) -> str:
        """The text up to ``stop`` or to the end."""
        if depth > _MAX_DEPTH:
            raise self.refuse(f"the value nests over {_MAX_DEPTH} substitutions")
        out: list[str] = []
        source, escape = self.source, self.rules.escape
        while self.position < len(source):
            match = self.rules.plain.match(source, self.position)
            if match is not None:
                out.append(match.group())
                self.position = match.end()
                continue
            char = source[self.position]
            if char == "$":
                out.append(self.dollar(depth))
                continue
            self.position += 1
            if char == stop:
                return "".join(out)
            if char == "'":
                out.append(self.single())
            elif char == '"':
                out.append(self.double(depth))
            elif char == escape:
                out.append(source[self.position : self.position + 1])
                self.position += 1
            else:
                out.append(char)
        if stop is not None:
            raise self.refuse("a ${ is not closed")
        return "".join(out)

    def single(self) -> str:
        end = self.source.find("'", self.position)
        if end < 0:
            raise self.refuse("a quote is not closed")
        text = self.source[self.position : end]
        self.position = end + 1
        return text

    def double(self, depth: int) -> str:
        out: list[str] = []
        source, escape = self.source, self.rules.escape
        while self.position < len(source):
            match = self.rules.plain_quoted.match(source, self.position)
            if match is not None:
                out.append(match.group())
                self.position = match.end()
                continue
            char = source[self.position]
            if char == "$":
                out.append(self.dollar(depth))
                continue
            self.position += 1
            if char == '"':
                return "".join(out)
            following = source[self.position : self.position + 1]
            if following and following in ('"', "$", escape):
                out.append(following)
                self.position += 1
            else:
                out.append(char)
        raise self.refuse("a quote is not closed")

    def dollar(self, depth: int) -> str:
        start = self.position
        self.position += 1
        braced = self.source.startswith("{", self.position)
        self.position += braced
        match = _NAME.match(self.source, self.position)
        if match is None:
            if braced:
                raise self.refuse("a ${ has no name")
            return "$"
        self.position = match.end()
        if not braced:
            return self.variable(match.group(), start)
        return self.braced(match.group(), start, depth)

    def variable(self, name: str, start: int) -> str:
        """The value of a variable, or an open piece as it was written."""
        if not name.isidentifier():
            return ""
        value = self.look_up(name)
        if value is None:
            return opened(self.source[start : self.position])
        self.notes |= value.notes
        return value.text

    def braced(self, name: str, start: int, depth: int) -> str:
        operator = self.source[self.position : self.position + 1]
        self.position += 1
        if operator == "}":
            return self.variable(name, start)
        empty_is_unset = operator == ":"
        if empty_is_unset:
            operator = self.source[self.position : self.position + 1]
            self.position += 1
        if not operator or operator not in "-+?#%/" or (empty_is_unset and operator in "#%/"):
            raise self.refuse("a ${ has an operator that Docker does not know")
        before = set(self.notes)
        word = self.until("}", depth + 1)
        of_word, self.notes = self.notes, before
        written = self.source[start : self.position]
        value = self.look_up(name)
        if value is None and operator == "-":
            self.notes = of_word | {f"`{written}` is taken as {shown(word)!r}; --env {name}=... says otherwise"}
            return word
        if value is None or operator in "#%/" or (empty_is_unset and _may_be_empty(value.text)):
            return opened(written)
        is_set = value.text != "" or not empty_is_unset
        if operator == "+":
            self.notes = self.notes | value.notes | (of_word if is_set else set())
            return word if is_set else ""
        if is_set:
            self.notes = self.notes | value.notes
            return value.text
        if operator == "?":
            raise self.refuse(f"{name} is empty where it must not be")
        self.notes = of_word | value.notes
        return word


def _may_be_empty(text: str) -> bool:
    return is_open(text) and not any(text.split(MARK)[::2])
