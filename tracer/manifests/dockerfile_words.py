"""The words of ``CMD``, ``ENTRYPOINT``, ``SHELL``, ``ENV`` and ``ARG``, each with its place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.dockerfile_lines import Instruction, Lines, word_pattern
from pathtrace.tracer.manifests.pieces import Pieces, part

_MAX_WORDS = 10_000
_STRING_PIECE = re.compile(r"[^\\]+|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]+|\\.)*"', re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Setting:
    """``NAME=value`` as written; the value is None for an ``ARG NAME`` alone."""

    name: Written
    value: str | None


def exec_words(argument: Written, file: str, line: int) -> list[Written] | None:
    """The words of the exec form, or None where Docker takes the text for the shell form.

    Raises:
        BadInput: a list of other things than strings, which Docker refuses.
    """
    text = argument.text
    if not text.startswith("["):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if len(values) > _MAX_WORDS:
        raise _too_many(file, line)
    if not all(isinstance(value, str) for value in values):
        raise BadInput("the list holds something else than strings; put each word in double quotes", file, line)
    return [_string(argument, *match.span()) for match in _STRING.finditer(text)]


def _string(argument: Written, start: int, end: int) -> Written:
    """The JSON string that stands, with its quotes, between two offsets."""
    if "\\" not in argument.text[start:end]:
        inside = part(argument, start + 1, end - 1)
        return Written(inside.text, argument.at(start), inside.runs)
    pieces = Pieces(argument.at(start))
    high = ""
    for match in _STRING_PIECE.finditer(argument.text, start + 1, end - 1):
        at, after = match.span()
        text = match.group()
        if not text.startswith("\\"):
            pieces.add("\ufffd" if high else "", argument.at(at))
            high = ""
            pieces.add_part(argument, at, after)
            continue
        char: str = json.loads(f'"{text}"')
        if "\ud800" <= char <= "\udbff":
            pieces.add("\ufffd" if high else "", argument.at(at))
            high = char
            continue
        if high:
            char = (high + char).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            high = ""
        # No process gets a NUL: the text ends there for it.
        pieces.add(_LONE_SURROGATE.sub("\ufffd", char).replace("\0", "\ufffd"), argument.at(at))
    pieces.add("\ufffd" if high else "", argument.at(max(start, end - 1)))
    return pieces.written()


def env_settings(instruction: Instruction, lines: Lines) -> list[Setting]:
    """The settings of ``ENV NAME=value ...`` or ``ENV NAME value``.

    Raises:
        BadInput: a word that is no setting, which Docker refuses.
    """
    argument = instruction.argument
    matches = _matches(instruction, lines)
    if matches and "=" not in matches[0].group():
        name = re.match(r"[^\t\v\f\r ]+", argument.text)
        assert name is not None
        value = argument.text[name.end() :].lstrip("\t\v\f\r ")
        if not value:
            raise BadInput("an ENV has no value; write ENV NAME=value", lines.file, instruction.line)
        return [Setting(part(argument, 0, name.end()), value)]
    settings = [_setting(argument, match) for match in matches]
    if any(setting.value is None for setting in settings):
        raise BadInput(
            "a word of the ENV has no `=`; put a value with blanks in double quotes", lines.file, instruction.line
        )
    return settings


def arg_settings(instruction: Instruction, lines: Lines) -> list[Setting]:
    """The settings of ``ARG NAME NAME=default ...``."""
    return [_setting(instruction.argument, match) for match in _matches(instruction, lines)]


def _matches(instruction: Instruction, lines: Lines) -> list[re.Match[str]]:
    matches = list(islice(word_pattern(lines.escape).finditer(instruction.argument.text), _MAX_WORDS + 1))
    if len(matches) > _MAX_WORDS:
        raise _too_many(lines.file, instruction.line)
    return matches


def _too_many(file: str, line: int) -> BadInput:
    return BadInput(f"the instruction has over {_MAX_WORDS:,} words; shorten it", file, line)


def _setting(argument: Written, match: re.Match[str]) -> Setting:
    name, equals, value = match.group().partition("=")
    return Setting(part(argument, match.start(), match.start() + len(name)), value if equals else None)
