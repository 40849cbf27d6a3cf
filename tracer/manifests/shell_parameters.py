"""``$V``, ``${V:-d}``, ``${V%.txt}``, ``${ARGS[@]}``: what each stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pathtrace.tracer.launch.open_text import is_open, opened, shown
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.shell_arithmetic import worked_out
from pathtrace.tracer.manifests.shell_patterns import Pattern
from pathtrace.tracer.manifests.shell_state import Field, Variable, has_known_text, joined
from pathtrace.tracer.manifests.shell_words import Literal, Parameter, Word, read_word

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_expand import Expander

# A shell sets these itself, or finds them set wherever it is started.
_ALWAYS_SET = frozenset(
    """
    BASH BASHPID BASH_SOURCE BASH_VERSION EUID UID HOSTNAME HOSTTYPE MACHTYPE OSTYPE PWD PPID RANDOM SRANDOM
    SECONDS EPOCHSECONDS EPOCHREALTIME LINENO SHELLOPTS SHLVL IFS OPTIND PATH HOME SHELL TERM USER LOGNAME
    FUNCNAME OLDPWD
    """.split()  # noqa: SIM905
)
_DEFAULTS = (":-", "-", ":=", "=")
_CASES = {"^^": str.upper, ",,": str.lower}


@dataclass(frozen=True)
class Answer:
    """What a ``$`` stands for: one text, a list of words, or another word to be filled in in its place."""

    text: str | None = None
    elements: tuple[Field, ...] | None = None
    word: Word | None = None
    notes: tuple[str, ...] = ()
    spot: Spot | None = None
    cause: str = ""
    may_launch: bool = False

    def as_text(self) -> str:
        """The answer where one text is wanted."""
        if self.elements is not None:
            return " ".join(each.text for each in self.elements)
        return self.text or ""


class Parameters:
    """Looks up parameters for one expander."""

    def __init__(self, expander: Expander) -> None:
        self.expander = expander
        self.state = expander.state

    def is_list(self, part: Parameter) -> bool:
        """Whether a parameter gives a word for each of its elements."""
        if part.operator in ("length", "indirect"):
            return False
        return part.name == "@" or part.index == "@" or ((part.name == "*" or part.index == "*") and not part.quoted)

    def answer(self, part: Parameter) -> Answer:
        """What a parameter stands for."""
        every = part.name in ("@", "*") or part.index in ("@", "*")
        if part.operator == "length":
            return self._length(part, every)
        if part.operator == "indirect":
            return self._indirect(part)
        if not every:
            return self._scalar(part, self._looked_up(part))
        answer = self._list(part)
        if self.is_list(part):
            return answer
        if answer.elements is not None and any(each.any_words for each in answer.elements):
            return Answer(self._open(part), notes=answer.notes)
        separator = self._plain("IFS", " \t\n")[:1]
        texts = [each.text for each in answer.elements or ()]
        if answer.word is not None:
            return answer
        return Answer(separator.join(texts), notes=joined(answer.notes, *(e.notes for e in answer.elements or ())))

    def _written(self, part: Parameter) -> str:
        return self.expander.source.written(part.source)

    def _open(self, part: Parameter) -> str:
        return opened(self._written(part))

    def _plain(self, name: str, default: str) -> str:
        variable = self.state.variable(name)
        text = variable.text if variable is not None else None
        return default if text is None or is_open(text) else text

    def _looked_up(self, part: Parameter) -> Variable | None:
        """The variable, one element of it, or an argument; None where nothing says anything of it."""
        if part.name.isdigit() or not part.name.isidentifier():
            return self._argument(part)
        variable = self.state.variable(part.name)
        if variable is None or (part.index is None and variable.elements is None):
            return variable
        elements = variable.elements
        if elements is None:
            elements = () if variable.text is None else (Field(variable.text, variable.spot or Spot(1, 1)),)
        number = self._number(part.index or "0")
        if number is None or number < 0 or any(each.any_words for each in elements[: number + 1]):
            return Variable(self._open(part), cause=variable.cause, may_launch=variable.may_launch)
        if number >= len(elements):
            return Variable(None)
        element = elements[number]
        return Variable(element.text, place=element.spot, notes=element.notes, may_launch=element.may_launch)

    def _argument(self, part: Parameter) -> Variable | None:
        arguments = self.state.arguments
        if arguments is None:
            return None
        listed = any(each.any_words for each in arguments)
        if part.name == "#":
            return None if listed else Variable(str(len(arguments)))
        number = int(part.name) if part.name.isdigit() and len(part.name) < 6 else 0
        if number == 0 or any(each.any_words for each in arguments[:number]):
            return None
        if number > len(arguments):
            return None if listed else Variable(None)
        found = arguments[number - 1]
        return Variable(found.text, place=found.spot, notes=found.notes, may_launch=found.may_launch)

    def _number(self, text: str) -> int | None:
        body = self.expander.value(text, quoted=True).text or ""
        return None if is_open(body) else worked_out(body, lambda name: self._plain(name, ""))

    def _assumed(self, part: Parameter) -> bool:
        """Whether a parameter that nothing sets is taken as not set."""
        if part.name.isdigit():
            return part.name != "0" and self.state.arguments is None
        return part.name.isidentifier() and part.name not in _ALWAYS_SET and not self.state.sourced

    def _taken(self, part: Parameter, result: str) -> tuple[str, ...]:
        result = shown(result)
        result = "empty" if not result else result if len(result) <= 80 else result[:77] + "..."
        written = self._written(part)
        if part.name.isdigit() or part.name in "@*":
            return (f"the script is taken as started without arguments, so {written} is {result}",)
        return (f"{part.name} is taken as not set, so {written} is {result}; --env {part.name}=... says otherwise",)

    def _scalar(self, part: Parameter, variable: Variable | None) -> Answer:
        operator = part.operator
        if variable is None:
            if operator not in (*_DEFAULTS, ":+", "+") or not self._assumed(part):
                return Answer(self._open(part))
            instead = operator in _DEFAULTS
            inner = self._operand(part) if instead else Answer("")
            preview = inner.text if inner.text is not None else self.expander.value_of(inner.word or ()).as_text()
            notes = self._taken(part, preview)
            if operator in (":=", "="):
                self._assign(part, preview, joined(notes, inner.notes))
            return Answer(inner.text, word=inner.word, notes=joined(notes, inner.notes), may_launch=inner.may_launch)
        text = variable.text
        known = Answer(
            text or "",
            notes=variable.notes,
            spot=variable.place,
            cause=variable.cause,
            may_launch=variable.may_launch,
        )
        if not operator:
            return known
        if operator in (*_DEFAULTS, ":+", "+"):
            return self._conditional(part, variable, known)
        if operator in (":?", "?"):
            return known if text is not None and (text or operator == "?") else Answer(self._open(part))
        if text is None:
            return Answer("")
        changed = None if is_open(text) else self._changed(part, text)
        return Answer(self._open(part) if changed is None else changed, notes=variable.notes)

    def _conditional(self, part: Parameter, variable: Variable, known: Answer) -> Answer:
        text, colon = variable.text, part.operator.startswith(":")
        if text is None:
            present: bool | None = False
        elif not colon:
            present = True
        else:
            present = (text != "") if has_known_text(text) else None
        if present is None:
            return Answer(self._open(part), notes=variable.notes, cause=variable.cause, may_launch=variable.may_launch)
        if part.operator in (":+", "+"):
            return self._operand(part) if present else Answer("")
        if present:
            return known
        inner = self._operand(part)
        if part.operator in (":=", "="):
            text = inner.text if inner.text is not None else self.expander.value_of(inner.word or ()).as_text()
            self._assign(part, text, inner.notes)
        return inner

    def _assign(self, part: Parameter, text: str, notes: tuple[str, ...]) -> None:
        if part.name.isidentifier() and part.index is None:
            self.state.assign(part.name, Variable(text, notes=notes))

    def _operand(self, part: Parameter) -> Answer:
        """What stands behind ``:-`` or ``:+``; outside of quotes its words are split."""
        self.expander.deeper()
        quotes = part.quoted and '"' not in part.operand
        word = read_word(f'"{part.operand}"' if quotes else part.operand)
        answer = self.expander.value_of(word) if part.quoted else Answer(word=word)
        self.expander.back()
        return answer

    def _changed(self, part: Parameter, text: str) -> str | None:
        operator = part.operator
        if operator in ("#", "##", "%", "%%"):
            pattern = self._pattern(part.operand)
            if pattern is None:
                return None
            self.expander.budget.spend(pattern.cost(text))
            cut = pattern.without_front if operator[0] == "#" else pattern.without_end
            return cut(text, longest=len(operator) == 2)
        if operator in ("/", "//"):
            return self._replaced(part, text)
        if operator in _CASES and not part.operand:
            return _CASES[operator](text)
        if operator == ":":
            return self._slice_of(part.operand, text)
        return None

    def _pattern(self, operand: str) -> Pattern | None:
        return self.pattern(read_word(operand))

    def pattern(self, word: Word) -> Pattern | None:
        """A pattern with its variables filled in; None where they are not known."""
        pieces: list[tuple[str, bool]] = []
        for part in word:
            answer = None if isinstance(part, Literal) else self.expander.value_of((part,))
            text = part.text if isinstance(part, Literal) else answer.as_text() if answer else ""
            if is_open(text):
                return None
            pieces.append((text, not part.bare if isinstance(part, Literal) else part.quoted))
        return Pattern(pieces)

    def _replaced(self, part: Parameter, text: str) -> str | None:
        word = list(read_word(part.operand))
        for index, each in enumerate(word):
            if isinstance(each, Literal) and each.bare and "/" in each.text:
                front, _, rest = each.text.partition("/")
                before = (*word[:index], Literal(front, bare=True))
                after = (Literal(rest, bare=True), *word[index + 1 :])
                break
        else:
            before, after = tuple(word), ()
        by = self.expander.value_of(after).as_text()
        pattern = self.pattern(before)
        # `&` in the new text stands for what was found, in some shells and not in others.
        if pattern is None or is_open(by) or "&" in by or part.operand[:1] in ("#", "%"):
            return None
        return pattern.replaced(text, by, everywhere=part.operator == "//")

    def _slice_of(self, operand: str, text: str) -> str | None:
        bounds = self._bounds(operand)
        if bounds is None:
            return None
        start, length = bounds
        start = start + len(text) if start < 0 else start
        if start < 0 or start > len(text):
            return ""
        if length is None:
            return text[start:]
        end = len(text) + length if length < 0 else start + length
        return text[start:end] if end >= start else None

    def _bounds(self, operand: str) -> tuple[int, int | None] | None:
        first, colon, second = operand.partition(":")
        start = self._number(first) if first.strip() else 0
        length = self._number(second) if colon else None
        return None if start is None or (colon and length is None) else (start, length)

    def _length(self, part: Parameter, every: bool) -> Answer:
        if every:
            elements = self._elements(part)
            if elements is None or any(each.any_words for each in elements):
                return Answer(self._open(part))
            return Answer(str(len(elements)))
        variable = self._looked_up(part)
        if variable is None or is_open(variable.text or ""):
            return Answer(self._open(part))
        return Answer(str(len(variable.text or "")), notes=variable.notes)

    def _indirect(self, part: Parameter) -> Answer:
        variable = self._looked_up(part)
        name = variable.text if variable is not None else None
        if name is None or part.index is not None or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            return Answer(self._open(part))
        target = self.state.variable(name)
        if target is None or target.text is None:
            return Answer("" if target is not None else opened(f"${name}"))
        return Answer(target.text, notes=target.notes, spot=target.place, cause=target.cause)

    def _elements(self, part: Parameter) -> tuple[Field, ...] | None:
        """The elements of an array, or the arguments; None where nothing says anything of them."""
        if part.name in ("@", "*"):
            return self.state.arguments
        variable = self.state.variable(part.name)
        if variable is None:
            return None
        if variable.elements is not None:
            return variable.elements
        place = variable.spot or self.expander.here
        return () if variable.text is None else (Field(variable.text, place, variable.notes),)

    def _list(self, part: Parameter) -> Answer:
        elements = self._elements(part)
        operator = part.operator
        if operator in (*_DEFAULTS, ":+", "+"):
            if elements is None:
                if not self._assumed(part) and part.name not in ("@", "*"):
                    return self._any_words(part)
                inner = self._operand(part) if operator in _DEFAULTS else Answer("")
                preview = inner.text if inner.text is not None else self.expander.value_of(inner.word or ()).as_text()
                return self._in_place(inner, part, joined(self._taken(part, preview), inner.notes))
            # A list that begins with words is there, whatever follows them.
            present = bool(elements) and not elements[0].any_words
            if elements and not present:
                return Answer(elements=elements)
            if (operator in (":+", "+")) == present:
                return self._in_place(self._operand(part), part, ())
            return Answer(elements=elements if operator in _DEFAULTS else ())
        if elements is None:
            return self._any_words(part)
        if not operator:
            variable = self.state.variable(part.name)
            return Answer(elements=elements, notes=variable.notes if variable is not None else ())
        bounds = self._bounds(part.operand) if operator == ":" else None
        if bounds is None or bounds[0] < 0 or (bounds[1] or 0) < 0 or (part.name in "@*" and bounds[0] == 0):
            return self._any_words(part)
        start, length = bounds
        start -= part.name in ("@", "*")
        if any(each.any_words for each in elements[: start + 1]):
            return self._any_words(part)
        chosen = elements[start:] if length is None else elements[start : start + length]
        if length is not None and any(each.any_words for each in chosen):
            return self._any_words(part)
        return Answer(elements=chosen)

    def _in_place(self, inner: Answer, part: Parameter, notes: tuple[str, ...]) -> Answer:
        if inner.word is not None:
            return Answer(word=inner.word, notes=notes)
        if part.operand == "" or inner.text == "":
            place = self.expander.here
            blank = part.quoted and part.operator in _DEFAULTS
            return Answer(elements=(Field("", place),) if blank else (), notes=notes)
        # `"${ARGS[@]+...}"`: the words inside the quotes stay the words that they are.
        word = read_word(part.operand)
        return Answer(word=word, notes=notes)

    def _any_words(self, part: Parameter) -> Answer:
        written = self._written(part)
        if part.name in ("@", "*"):
            reason = f"{written} may hold any flags: it stands for the script's own arguments; write them in its place"
        elif self.state.variable(part.name) is not None:
            reason = f"{written} may hold any flags and is known only when it runs; write the flags in its place"
        else:
            who = "what it sources is not followed" if self.state.sourced else "nothing in the file sets it"
            reason = f"{written} may hold any flags and {who}; write the flags in its place"
        place = self.expander.here
        return Answer(elements=(Field(opened(written), place, any_words=reason, listed=True),))
