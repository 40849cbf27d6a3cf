"""``[ ... ]``, ``test`` and ``[[ ... ]]``: true, false, or known only when the script runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pathtrace.tracer.launch.open_text import is_open
from pathtrace.tracer.manifests.shell_arithmetic import integer, worked_out
from pathtrace.tracer.manifests.shell_expand import Expander
from pathtrace.tracer.manifests.shell_state import Field, has_known_text, joined
from pathtrace.tracer.manifests.shell_words import read_word, split_words

_MOST_NESTED = 40
_NUMBERS = ("-eq", "-ne", "-lt", "-le", "-gt", "-ge")


@dataclass(frozen=True)
class Decision:
    """What a test comes to; None where only a run can tell. ``notes`` say what was taken for granted."""

    holds: bool | None
    notes: tuple[str, ...] = ()


def decide_words(fields: Sequence[Field], expander: Expander) -> Decision:
    """``test WORDS`` and ``[ WORDS ]``."""
    notes = joined(*(each.notes for each in fields))
    if any(each.any_words for each in fields):
        return Decision(None, notes)
    return Decision(_words([each.text for each in fields], expander), notes)


def _words(words: list[str], expander: Expander) -> bool | None:
    if len(words) > 4 or (len(words) == 4 and words[0] != "!"):
        return _joined_words(words, expander)
    if not words:
        return False
    if len(words) == 1:
        return _not_empty(words[0])
    if words[0] == "!" and len(words) != 3 or (words[0] == "!" and words[1].startswith("-")):
        return _negated(_words(words[1:], expander))
    if len(words) == 2:
        return _unary(words[0], words[1], expander)
    return _binary(words[0], words[1], words[2]) if len(words) == 3 else None


def _joined_words(words: list[str], expander: Expander) -> bool | None:
    if "(" in words or len(words) > 100:
        return None
    for operator, combine in (("-o", _any), ("-a", _all)):
        for index in range(1, len(words) - 1):
            if words[index] == operator:
                return combine(_words(words[:index], expander), _words(words[index + 1 :], expander))
    return None


def _not_empty(text: str) -> bool | None:
    return text != "" if has_known_text(text) else None


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _any(left: bool | None, right: bool | None) -> bool | None:
    return True if left or right else None if left is None or right is None else False


def _all(left: bool | None, right: bool | None) -> bool | None:
    return False if left is False or right is False else None if left is None or right is None else True


def _unary(operator: str, text: str, expander: Expander) -> bool | None:
    if operator == "-n":
        return _not_empty(text)
    if operator == "-z":
        return _negated(_not_empty(text))
    if operator == "-v":
        variable = expander.state.variable(text)
        return None if variable is None else variable.text is not None
    return None


def _binary(left: str, operator: str, right: str) -> bool | None:
    if is_open(left) or is_open(right):
        return None
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    return _numbers(integer(left), operator, integer(right)) if operator in _NUMBERS else None


def _numbers(left: int | None, operator: str, right: int | None) -> bool | None:
    if left is None or right is None:
        return None
    return {
        "-eq": left == right,
        "-ne": left != right,
        "-lt": left < right,
        "-le": left <= right,
        "-gt": left > right,
        "-ge": left >= right,
    }[operator]


def decide_double(text: str, expander: Expander) -> Decision:
    """``[[ text ]]``."""
    reader = _Double(_tokens(text), expander)
    if len(reader.tokens) > 200 or sum(token in ("(", "!") for token in reader.tokens) > _MOST_NESTED:
        return Decision(None)
    holds = reader.any_of()
    return Decision(holds if reader.position == len(reader.tokens) else None, reader.notes)


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    depth = 0
    for token, _ in split_words(text):
        while token.startswith("(") and found[-1:] not in (["=~"], ["=="], ["="], ["!="]):
            found.append("(")
            depth += 1
            token = token[1:]
        closing = 0
        while token.endswith(")") and "(" not in token and depth:
            token, closing, depth = token[:-1], closing + 1, depth - 1
        found += [token] if token else []
        found += [")"] * closing
    return found


class _Double:
    """Reads the tokens of ``[[ ... ]]`` from left to right."""

    def __init__(self, tokens: list[str], expander: Expander) -> None:
        self.tokens = tokens
        self.expander = expander
        self.position = 0
        self.notes: tuple[str, ...] = ()

    def any_of(self) -> bool | None:
        """``a || b``."""
        value = self._all_of()
        while self._take("||"):
            value = _any(value, self._all_of())
        return value

    def _all_of(self) -> bool | None:
        value = self._one()
        while self._take("&&"):
            value = _all(value, self._one())
        return value

    def _one(self) -> bool | None:
        if self._take("!"):
            return _negated(self._one())
        if self._take("("):
            value = self.any_of()
            return value if self._take(")") else None
        end = self.position
        while end < len(self.tokens) and self.tokens[end] not in ("&&", "||", ")"):
            end += 1
        words, self.position = self.tokens[self.position : end], end
        return self._primary(words)

    def _primary(self, words: list[str]) -> bool | None:
        if len(words) == 1:
            return _not_empty(self._value(words[0]))
        if len(words) == 2:
            return _unary(words[0], self._value(words[1]), self.expander)
        if len(words) != 3:
            return None
        left, operator, right = words
        if operator in ("=", "==", "!="):
            return self._matches(left, right, wanted=operator != "!=")
        if operator in _NUMBERS:
            return _numbers(self._number(left), operator, self._number(right))
        return None

    def _matches(self, left: str, right: str, *, wanted: bool) -> bool | None:
        value = self._value(left)
        self._value(right)
        pattern = self.expander.parameters.pattern(read_word(right))
        if pattern is None or is_open(value):
            return None
        fits = pattern.fits(value)
        return None if fits is None else fits == wanted

    def _number(self, word: str) -> int | None:
        text = self._value(word)
        return None if is_open(text) else 0 if not text else worked_out(text, self.expander.plain)

    def _value(self, word: str) -> str:
        answer = self.expander.value(word)
        self.notes = joined(self.notes, answer.notes)
        return answer.as_text()

    def _take(self, token: str) -> bool:
        if self.tokens[self.position : self.position + 1] != [token]:
            return False
        self.position += 1
        return True
