"""The words of a systemd setting: quotes, C escapes, specifiers and variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import is_open, opened
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.pieces import Pieces

_MAX_WORDS = 10_000
_BLANKS = " \t\n\r"
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|[abfnrtvs\\\"'])")
_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "s": " ",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_PLAIN = re.compile(r"[^\s\\\"']+")
_SPECIFIER = re.compile(r"%([%a-zA-Z])")
_IN_COMMAND = re.compile(r"%([%a-zA-Z])|\$(\$)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

LookUp = Callable[[str], "str | None"]


@dataclass(frozen=True)
class Word:
    """One word without its quotes; ``bare`` where it is written as it stands, without quotes and escapes."""

    written: Written
    bare: bool


def words_of(value: Written, file: str, *, relaxed: bool = False) -> Iterator[Word]:
    """The words between blanks.

    Args:
        value: the setting's value, or with ``relaxed`` that of a variable: there a backslash only
            takes the next character as it is, and a quote may stay open.
        file: the file, for messages.

    Raises:
        BadInput: a quote that is not closed, for which systemd leaves the setting out, or over 10,000 words.
    """
    text = value.text
    position = _skip_blanks(text, 0)
    count = 0
    while position < len(text):
        count += 1
        if count > _MAX_WORDS:
            raise BadInput(f"a setting has over {_MAX_WORDS:,} words; shorten it", file, value.spot.line)
        pieces = Pieces(value.at(position))
        start, quote, bare = position, "", True
        while position < len(text) and (quote or text[position] not in _BLANKS):
            char = text[position]
            match = _PLAIN.match(text, position)
            if match is not None:
                pieces.add_part(value, position, match.end())
                position = match.end()
            elif char == "\\":
                bare = False
                position = _escape(value, position, pieces, relaxed=relaxed)
            elif char == quote or (not quote and char in "\"'"):
                bare = False
                quote = "" if quote else char
                position += 1
            else:
                pieces.add_part(value, position, position + 1)
                position += 1
        if quote and not relaxed:
            raise BadInput("a quote is not closed, so systemd leaves the setting out; close it", file, value.spot.line)
        yield Word(pieces.written(), bare or text[start:position] == "\\;")
        position = _skip_blanks(text, position)


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANKS:
        position += 1
    return position


def _escape(value: Written, position: int, pieces: Pieces, *, relaxed: bool) -> int:
    match = None if relaxed else _ESCAPE.match(value.text, position)
    char = None if match is None else _escaped(match.group()[1:])
    if match is not None and char is not None:
        pieces.add(char, value.at(position))
        return match.end()
    # An escape that systemd does not know stays as it is written.
    end = min(position + 2, len(value.text))
    pieces.add_part(value, position + 1 if relaxed else position, end)
    return end


def _escaped(code: str) -> str | None:
    if code in _SIMPLE:
        return _SIMPLE[code]
    number = int(code, 8) if code.isdecimal() and len(code) == 3 else int(code[1:], 16)
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return None
    # From 0x80 on, `\x` and octal escapes are single bytes and no characters.
    return "\ufffd" if number > 0x7F and code[0] not in "uU" else chr(number)


def with_specifiers(written: Written) -> Written:
    """The text with ``%%`` as ``%`` and other specifiers as open pieces."""
    return _filled(written, _SPECIFIER, lambda name: None)


def command_words(word: Written, look_up: LookUp) -> list[Written]:
    """What a word of a command becomes: ``${NAME}`` within it, ``$NAME`` alone split at blanks."""
    text = word.text
    if not text.startswith("$") or text[1:2] in ("{", "$"):
        return [_filled(word, _IN_COMMAND, look_up)]
    if _NAME.fullmatch(text, 1) is None:
        return []
    value = look_up(text[1:])
    if value is None:
        return [Written(opened(text), word.spot)]
    if is_open(value):
        return [Written(opened(text), word.spot)] if any(char in value for char in _BLANKS) else [_fixed(value, word)]
    return [_fixed(each.written.text, word) for each in words_of(Written(value, word.spot), "", relaxed=True)]


def _fixed(text: str, word: Written) -> Written:
    pieces = Pieces(word.spot)
    pieces.add(text, word.spot, moves=False)
    return pieces.written()


def _filled(written: Written, pattern: re.Pattern[str], look_up: LookUp) -> Written:
    text = written.text
    if "%" not in text and "$" not in text:
        return written
    pieces = Pieces(written.spot)
    position = 0
    for match in pattern.finditer(text):
        pieces.add_part(written, position, match.start())
        spot = written.at(match.start())
        specifier, *others = match.groups()
        if specifier == "%" or others[:1] == ["$"]:
            pieces.add(match.group()[0], spot)
        elif specifier:
            pieces.add(opened(match.group()), spot, moves=False)
        else:
            value = look_up(others[1])
            pieces.add(opened(match.group()) if value is None else value, spot, moves=False)
        position = match.end()
    pieces.add_part(written, position, len(text))
    return pieces.written()
