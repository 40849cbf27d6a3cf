"""Words of shell text -> their parts, with quotes understood and nothing filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MOST_NESTED = 8
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!-]", re.ASCII)
_BARE = re.compile(r"[^\\'\"$`<>]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_HEREDOC = re.compile(r"[^\\$`]+")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_SIMPLE_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_PLAIN = re.compile(r"[^\s\\'\"`$<>]+")
_CASE = re.compile(r"\bcase\b|#")
_OPERATORS = (
    ":-",
    ":=",
    ":?",
    ":+",
    "-",
    "=",
    "?",
    "+",
    "##",
    "#",
    "%%",
    "%",
    "//",
    "/",
    "^^",
    "^",
    ",,",
    ",",
    ":",
    "@",
)
_PAIRS = {"(": ")", "{": "}"}


@dataclass(frozen=True)
class Literal:
    """Characters that stand for themselves; bare ones were not quoted."""

    text: str
    bare: bool


@dataclass(frozen=True)
class Parameter:
    """``$V`` or ``${V...}``.

    Attributes:
        source: as written.
        name: the variable, a digit or one of ``@ * # ? $ ! -``.
        quoted: whether it stands in double quotes.
        index: what stands in its square brackets, or None.
        operator: ``:-``, ``%``, ``#`` of ``${#V}`` as ``length``, ``!`` of ``${!V}`` as ``indirect``, or empty.
        operand: what follows the operator, as written.
    """

    source: str
    name: str
    quoted: bool
    index: str | None = None
    operator: str = ""
    operand: str = ""


@dataclass(frozen=True)
class Arithmetic:
    """``$((...))``."""

    source: str
    body: str
    quoted: bool


@dataclass(frozen=True)
class Unstated:
    """What only a run can tell: ``$(...)``, backquotes, ``<(...)``."""

    source: str
    quoted: bool


Part = Literal | Parameter | Arithmetic | Unstated
Word = tuple[Part, ...]


def read_word(text: str) -> Word:
    """The parts of one word; blanks in it are part of it."""
    return _Reader(text, _BARE).read()


def read_quoted(text: str) -> Word:
    """The parts of the body of a here-document, or of what else is filled in without quotes."""
    return _Reader(text, _IN_HEREDOC, heredoc=True).read()


def split_words(text: str) -> list[tuple[str, int]]:
    """The words of a stretch of text and the offset of each, split at blanks outside of quotes."""
    found: list[tuple[str, int]] = []
    position, start = 0, -1
    while position < len(text):
        if plain := _PLAIN.match(text, position):
            start = position if start < 0 else start
            position = plain.end()
            continue
        char = text[position]
        if char.isspace() or text.startswith("\\\n", position):
            if start >= 0:
                found.append((text[start:position], start))
                start = -1
            position += 1 if char.isspace() else 2
            continue
        start = position if start < 0 else start
        position = _skip(text, position)
    if start >= 0:
        found.append((text[start:], start))
    return found


def is_literal(word: Word) -> bool:
    """Whether nothing is to be filled in."""
    return all(isinstance(part, Literal) for part in word)


def literal_text(word: Word) -> str:
    """The characters of a word of literals."""
    return "".join(part.text for part in word if isinstance(part, Literal))


def _skip(text: str, position: int) -> int:
    """The position after the character, quote or expansion that starts at ``position``."""
    char = text[position]
    if char == "\\":
        return min(len(text), position + 2)
    if char == "'":
        end = text.find("'", position + 1)
        return len(text) if end < 0 else end + 1
    if char in '"`':
        return _closing_quote(text, position)
    if match := _ANSI.match(text, position):
        return match.end()
    if text.startswith(("$(", "${", "<(", ">("), position):
        return _closing_bracket(text, position + 1)
    return position + 1


def _closing_quote(text: str, start: int) -> int:
    quote, position = text[start], start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == quote:
            return position + 1
        elif quote == '"' and text.startswith(("$(", "${"), position):
            position = _closing_bracket(text, position + 1)
        else:
            position += 1
    return len(text)


def _closing_bracket(text: str, start: int) -> int:
    """The position after the bracket that closes the one at ``start``; the end where that cannot be told."""
    closers = [_PAIRS[text[start]]]
    braces = text[start] == "{"
    position, quoted = start + 1, False
    quotes: list[bool] = []
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 2
            continue
        if char == '"':
            quoted = not quoted
        elif char == "'" and not quoted:
            end = text.find("'", position + 1)
            position = len(text) if end < 0 else end
        elif text.startswith(("$(", "${"), position):
            closers.append(_PAIRS[text[position + 1]])
            quotes.append(quoted)
            quoted = False
            position += 1
        elif char == "(" and not quoted and closers[-1] == ")":
            closers.append(")")
            quotes.append(False)
        elif char == closers[-1] and not quoted:
            closers.pop()
            if not closers:
                body = text[start:position]
                # The parenthesis of a `case` pattern and a quote in a comment are not told apart here.
                return (
                    position + 1 if braces or not _CASE.search(body.replace("$#", "").replace("${#", "")) else len(text)
                )
            quoted = quotes.pop()
        position += 1
    return len(text)


class _Reader:
    def __init__(self, text: str, plain: re.Pattern[str], *, heredoc: bool = False) -> None:
        self.text = text
        self.plain = plain
        self.heredoc = heredoc
        self.parts: list[Part] = []
        self.pos = 0

    def read(self) -> Word:
        text = self.text
        while self.pos < len(text):
            match = self.plain.match(text, self.pos)
            if match:
                self.parts.append(Literal(match.group(), bare=not self.heredoc))
                self.pos = match.end()
                continue
            char = text[self.pos]
            if char == "\\":
                self._backslash(heredoc=self.heredoc)
            elif char in "$`":
                self._expansion(quoted=self.heredoc)
            elif char == "'":
                end = _skip(text, self.pos)
                self.parts.append(Literal(text[self.pos + 1 : end - 1], bare=False))
                self.pos = end
            elif char == '"':
                self._quotes()
            elif text.startswith(("<(", ">("), self.pos):
                end = _skip(text, self.pos)
                self.parts.append(Unstated(text[self.pos : end], quoted=True))
                self.pos = end
            else:
                self.parts.append(Literal(char, bare=True))
                self.pos += 1
        return tuple(self.parts)

    def _backslash(self, *, heredoc: bool) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        if following != "\n":
            kept = following if not heredoc or following in ("$", "`", "\\") else "\\" + following
            self.parts.append(Literal(kept or "\\", bare=False))
        self.pos += 2

    def _quotes(self) -> None:
        text = self.text
        self.parts.append(Literal("", bare=False))
        self.pos += 1
        while self.pos < len(text):
            match = _IN_QUOTES.match(text, self.pos)
            if match:
                self.parts.append(Literal(match.group(), bare=False))
                self.pos = match.end()
                continue
            char = text[self.pos]
            if char == '"':
                self.pos += 1
                return
            if char == "\\":
                if text[self.pos + 1 : self.pos + 2] == '"':
                    self.parts.append(Literal('"', bare=False))
                    self.pos += 2
                else:
                    self._backslash(heredoc=True)
            else:
                self._expansion(quoted=True)

    def _expansion(self, *, quoted: bool) -> None:
        text, start = self.text, self.pos
        if text[start] == "`":
            self.pos = _closing_quote(text, start)
            self.parts.append(Unstated(text[start : self.pos], quoted))
        elif match := (None if quoted else _ANSI.match(text, start)):
            self.pos = match.end()
            self.parts.append(Literal(_unescaped(match.group(1)), bare=False))
        elif text.startswith('$"', start) and not quoted:
            self.pos += 1
            self._quotes()
        elif text.startswith("$((", start):
            self.pos = _closing_bracket(text, start + 1)
            source = text[start : self.pos]
            whole = source.endswith("))")
            self.parts.append(Arithmetic(source, source[3:-2], quoted) if whole else Unstated(source, quoted))
        elif text.startswith("$(", start):
            self.pos = _closing_bracket(text, start + 1)
            self.parts.append(Unstated(text[start : self.pos], quoted))
        elif text.startswith("${", start):
            self.pos = _closing_bracket(text, start + 1)
            self.parts.append(_braced(text[start : self.pos], quoted))
        elif (match := re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII).match(text, start)) is not None:
            self.pos = match.end()
            self.parts.append(Parameter(match.group(), match.group(1), quoted))
        else:
            self.parts.append(Literal("$", bare=False))
            self.pos += 1


def _braced(source: str, quoted: bool) -> Part:
    body = source[2:-1]
    special = ""
    if body.startswith("#") and len(body) > 1 and _PARAMETER.fullmatch(body.partition("[")[0][1:]):
        special, body = "length", body[1:]
    elif body.startswith("!") and len(body) > 1:
        special, body = "indirect", body[1:]
    match = _PARAMETER.match(body)
    if match is None:
        return Unstated(source, quoted)
    rest, index = body[match.end() :], None
    if rest.startswith("[") and _NAME.fullmatch(match.group()):
        end = rest.find("]")
        if end < 0:
            return Unstated(source, quoted)
        index, rest = rest[1:end], rest[end + 1 :]
    operator = next((each for each in _OPERATORS if rest.startswith(each)), "")
    if (rest and not operator) or (special and rest):
        return Unstated(source, quoted)
    found = Parameter(source, match.group(), quoted, index, operator, rest[len(operator) :])
    return replace(found, operator=special) if special else found


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        two, four, eight, octal, control, other = match.groups()
        for digits in (two, four, eight):
            if digits is not None:
                number = int(digits, 16)
                return chr(number) if 0 < number < 0x110000 else ""
        if octal is not None:
            return chr(int(octal, 8) & 0xFF)
        if control is not None:
            return chr(ord(control[0].upper()) & 0x1F)
        return _SIMPLE_ESCAPES.get(other, "\\" + other)

    return _ESCAPE.sub(one, text).partition("\0")[0]
