"""Words of a script -> the words that a program gets, as far as the file states them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK, is_open, opened, shown, sources_of
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.shell_arithmetic import worked_out
from pathtrace.tracer.manifests.shell_braces import spread_braces
from pathtrace.tracer.manifests.shell_parameters import Answer, Parameters
from pathtrace.tracer.manifests.shell_source import Source
from pathtrace.tracer.manifests.shell_state import Budget, Field, State, joined
from pathtrace.tracer.manifests.shell_words import (
    MOST_NESTED,
    Arithmetic,
    Literal,
    Parameter,
    Part,
    Unstated,
    Word,
    read_quoted,
    read_word,
)

_SIMPLE = re.compile(r"[\w./:@%+,=-]+")
_QUOTED = re.compile(r'"(\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\}))"', re.ASCII)
_OPENING_QUOTE = Literal("", bare=False)
_BLANKS = " \t\n"
_STATED_OR_OPEN = re.compile(f"({MARK}[^{MARK}]*{MARK})")
_TILDE = re.compile(r"~[^/:]*")
_GLOB = re.compile(r"[?\[]")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?", re.ASCII)


@dataclass
class _Current:
    """The word that is being put together."""

    text: str = ""
    begun: bool = False
    only_open: bool = True
    reason: str = ""
    listed: bool = False
    forced: bool = False
    may_launch: bool = False

    def add(self, text: str, *, stated: bool) -> None:
        self.text += text
        self.begun = True
        if stated:
            self.only_open = False


class Expander:
    """Fills in words with the state of one shell.

    Args:
        state: the shell.
        budget: how much may be filled in.
        source: the text that the words are from.
    """

    def __init__(self, state: State, budget: Budget, source: Source) -> None:
        self.state = state
        self.budget = budget
        self.source = source
        self.here = source.spot(0)
        # What was taken for granted in words of which nothing is left.
        self.vanished: tuple[str, ...] = ()
        self._depth = 0
        self._parameters = Parameters(self)

    def fields(self, text: str, offset: int) -> list[Field]:
        """The words that one written word gives."""
        spot = self.here = self.source.spot(offset)
        if _SIMPLE.fullmatch(text):
            return [Field(text, spot)]
        if match := _QUOTED.fullmatch(text):
            variable = self.state.variable(match.group(2) or match.group(3))
            if variable is None:
                return [Field(opened(match.group(1)), spot)]
            if variable.elements is None:
                value = variable.text or ""
                self.budget.spend(len(value))
                place = spot if is_open(value) else variable.place or spot
                return [Field(value, place, variable.notes, may_launch=variable.may_launch)]
        found: list[Field] = []
        for word in spread_braces(_with_tilde(read_word(text))):
            found += self._fields(word, spot)
        return found

    def value(self, text: str, *, quoted: bool = False) -> Answer:
        """A value that is not split: of an assignment, a ``case``, a here-document (``quoted``)."""
        if not quoted and _SIMPLE.fullmatch(text):
            return Answer(text)
        return self.value_of(read_quoted(text) if quoted else _with_tilde(read_word(text), everywhere=True))

    def value_of(self, word: Word) -> Answer:
        """The same for a word that is read already."""
        texts: list[str] = []
        notes: tuple[str, ...] = ()
        may_launch = False
        spot = None
        cause = ""
        for part in word:
            if isinstance(part, Literal):
                texts.append(self.source.marked(part.text))
                continue
            answer = self.answer(part)
            if answer.word is not None:
                answer = self._nested(answer)
            texts.append(answer.as_text())
            notes = joined(notes, answer.notes)
            may_launch = may_launch or answer.may_launch
            cause = cause or answer.cause
            spot = answer.spot if len(word) == 1 else None
        text = "".join(texts)
        self.budget.spend(len(text))
        return Answer(text, notes=notes, may_launch=may_launch, spot=spot, cause=cause)

    def answer(self, part: Part) -> Answer:
        """What a part of a word stands for."""
        if isinstance(part, Parameter):
            return self._parameters.answer(part)
        written = self.source.written(part.source) if not isinstance(part, Literal) else part.text
        if isinstance(part, Arithmetic):
            body = self.value_of(read_quoted(part.body))
            assert body.text is not None
            number = None if is_open(body.text) else worked_out(body.text, self.plain)
            return Answer(opened(written) if number is None else str(number), notes=body.notes)
        assert isinstance(part, Unstated)
        return Answer(opened(written), may_launch=False)

    def deeper(self) -> None:
        """Go one ``${V:-...}`` deeper, unless that is too deep."""
        self._depth += 1
        self.budget.step()
        if self._depth > MOST_NESTED:
            raise BadInput(
                "nests its ${...} too deep to be read; give the part that starts the server", self.source.file
            )

    def back(self) -> None:
        """Come back from :meth:`deeper`."""
        self._depth -= 1

    @property
    def parameters(self) -> Parameters:
        """Looks up variables."""
        return self._parameters

    def _nested(self, answer: Answer) -> Answer:
        assert answer.word is not None
        self.deeper()
        inner = self.value_of(answer.word)
        self.back()
        return Answer(
            inner.text,
            notes=joined(answer.notes, inner.notes),
            may_launch=inner.may_launch,
            cause=inner.cause,
        )

    def plain(self, name: str) -> str | None:
        """The value of a variable that is set and known."""
        variable = self.state.variable(name)
        if variable is None or variable.text is None or is_open(variable.text):
            return None
        return variable.text

    def _fields(self, word: Word, spot: Spot) -> list[Field]:
        done: list[Field] = []
        current = _Current()
        notes: list[tuple[str, ...]] = []
        places: list[Spot | None] = []

        def finish() -> None:
            nonlocal current
            if current.begun:
                reason = current.reason if current.forced or (current.only_open and is_open(current.text)) else ""
                done.append(Field(current.text, spot, (), reason, current.listed and bool(reason), current.may_launch))
            current = _Current()

        def add_open(piece: str, part: Part, answer: Answer | None) -> None:
            current.add(piece, stated=False)
            current.reason = current.reason or self._why(part, piece, answer)
            current.may_launch = current.may_launch or (answer is not None and answer.may_launch)

        def add_bare(text: str, part: Part, answer: Answer | None) -> None:
            blanks = self._separators()
            for index, piece in enumerate(_STATED_OR_OPEN.split(text)):
                if index % 2:
                    add_open(piece, part, answer)
                    continue
                for stretch, separates in _stretches(piece, blanks):
                    if separates:
                        finish()
                    else:
                        current.add(stretch, stated=True)

        def add_list(elements: tuple[Field, ...], part: Parameter) -> None:
            for number, element in enumerate(elements):
                if number:
                    finish()
                if element.any_words:
                    current.forced = True
                    current.reason = current.reason or element.any_words
                    current.listed = current.listed or element.listed
                    current.add(element.text, stated=False)
                elif part.quoted:
                    current.add(element.text, stated=True)
                else:
                    add_bare(element.text, part, None)
                current.may_launch = current.may_launch or element.may_launch
                notes.append(element.notes)
                places.append(element.spot)

        def add(word: Word, *, inner: bool = False) -> None:
            for index, part in enumerate(word):
                if isinstance(part, Literal):
                    if part == _OPENING_QUOTE and self._opens_list(word[index + 1 : index + 2]):
                        continue
                    if inner and part.bare:
                        add_bare(self.source.marked(part.text), part, None)
                    else:
                        self._literal(part, current, add_open)
                    if part.bare and _GLOB.search(part.text) and "*" not in part.text:
                        notes.append((f"{part.text[:60]} is taken as written; no file is looked for",))
                    continue
                answer = self.answer(part)
                notes.append(answer.notes)
                if answer.word is not None:
                    self.deeper()
                    add(answer.word, inner=True)
                    self.back()
                elif answer.elements is not None:
                    assert isinstance(part, Parameter)
                    self.budget.spend(sum(50 + len(each.text) for each in answer.elements))
                    add_list(answer.elements, part)
                else:
                    assert answer.text is not None
                    self.budget.spend(len(answer.text))
                    places.append(None if is_open(answer.text) else answer.spot)
                    if getattr(part, "quoted", False):
                        current.add(answer.text, stated=True)
                        current.may_launch = current.may_launch or answer.may_launch
                    else:
                        add_bare(answer.text, part, answer)

        add(word)
        finish()
        together = joined(*notes)
        if not done:
            self.vanished = joined(self.vanished, together)
        whole = len(word) == 1 or (len(word) == 2 and word[0] == _OPENING_QUOTE)
        told = whole and len(places) == len(done)
        spots = [place or spot for place in places] if told else [spot] * len(done)
        return [
            Field(each.text, place, together, each.any_words, each.listed, each.may_launch)
            for each, place in zip(done, spots, strict=True)
        ]

    def _literal(self, part: Literal, current: _Current, add_open: object) -> None:
        text = self.source.marked(part.text)
        if part.bare and "*" in part.text:
            text = text.replace("*", opened("*"))
        if not is_open(text) or not part.bare:
            current.add(text, stated=True)
            return
        for index, piece in enumerate(_STATED_OR_OPEN.split(text)):
            if index % 2:
                add_open(piece, part, None)  # type: ignore[operator]
            elif piece:
                current.add(piece, stated=True)

    def _opens_list(self, following: Word) -> bool:
        """Whether a quote holds a list, of which nothing may be left: ``"$@"``."""
        part = following[0] if following else None
        return isinstance(part, Parameter) and part.quoted and self._parameters.is_list(part)

    def _separators(self) -> str:
        variable = self.state.variable("IFS")
        if variable is None or variable.text is None or is_open(variable.text):
            return _BLANKS
        return variable.text

    def _why(self, part: Part, piece: str, answer: Answer | None) -> str:
        """Why a piece may stand for any words, and what to give."""
        written = self.source.written(part.source) if not isinstance(part, Literal) else shown(piece)
        if written == opened("*"):
            return "* may stand for any files; write them in its place"
        names = [_VARIABLE.fullmatch(source) for source in sources_of(piece)]
        unknown = [match.group(1) for match in names if match and self.state.variable(match.group(1)) is None]
        if unknown and len(unknown) == len(names) and not (answer and answer.cause):
            what = "it" if _VARIABLE.fullmatch(written) and unknown[0] in written else f"${unknown[0]}"
            who = "what it sources is not followed" if self.state.sourced else f"nothing in the file sets {what}"
            return f"{written} may hold any flags and {who}; give it with --env {unknown[0]}=..."
        if answer and answer.cause:
            return f"{written} may hold any flags, and {answer.cause}; write the flags in its place"
        return f"{written} may hold any flags and is known only when it runs; write the flags in its place"


def _stretches(text: str, blanks: str) -> Iterator[tuple[str, bool]]:
    """Text cut at the characters that separate words; True for a separator."""
    if not blanks:
        if text:
            yield text, False
        return
    start = 0
    for match in re.finditer(f"[{re.escape(blanks)}]+", text):
        if match.start() > start:
            yield text[start : match.start()], False
        yield match.group(), True
        start = match.end()
    if start < len(text):
        yield text[start:], False


def _with_tilde(word: Word, *, everywhere: bool = False) -> Word:
    """``~`` at the front of a word, and after ``:`` in a value, as the variable that it stands for."""
    if not word or not isinstance(word[0], Literal) or not word[0].bare or "~" not in word[0].text:
        return word
    first = word[0].text
    match = _TILDE.match(first)
    if match is None:
        return word
    source = match.group()
    home: Part = Parameter("~", "HOME", True) if source == "~" else Unstated(source, True)
    rest = first[match.end() :]
    return (home, *((Literal(rest, bare=True),) if rest else ()), *word[1:])
