"""Shell variables of a launch, and words with them filled in.

Only what the launch itself defines is known. A value that is not, such as ``$(hostname)``, is kept
as :class:`Unresolved` and is an error only where the server's command or environment needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.lexer import Ref, Text, Word

LIMIT = 8 << 20
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_BRACES = re.compile(r"\{([^{}]*)\}")
# Nothing in SGLang's choices hangs on these, and scripts extend them in place (PATH=/x:$PATH).
SEARCH_PATHS = frozenset(
    """
    PATH LD_LIBRARY_PATH LD_PRELOAD LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH PYTHONPATH
    PKG_CONFIG_PATH MANPATH
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Unresolved:
    """A value that the launch does not state. ``source`` is what it was written as."""

    source: str


@dataclass(frozen=True)
class Assignment:
    """``NAME=value`` or ``NAME+=value`` as written, value not filled in yet."""

    name: str
    value: Word
    append: bool


@dataclass
class Shell:
    """What the commands before the server's have done to the shell.

    Attributes:
        values: shell variables, exported or not.
        exported: names that the server's environment gets.
        unset: names removed and not set again.
        skipped: commands that may change the environment but are not read (``source x``).
    """

    values: dict[str, str | Unresolved] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    unset: set[str] = field(default_factory=set)
    skipped: list[str] = field(default_factory=list)
    export_all: bool = False
    _spent: int = 0

    def assign(self, assignment: Assignment, *, export: bool = False) -> None:
        """Set a variable; ``export`` also puts it into the environment."""
        name = assignment.name
        self.values[name] = self.evaluate(assignment)
        self.unset.discard(name)
        if export or self.export_all:
            self.exported.add(name)

    def export(self, name: str) -> None:
        """``export NAME`` without a value: a variable of the caller's stays as it is."""
        if name in self.values:
            self.exported.add(name)

    def remove(self, name: str) -> None:
        """``unset NAME``."""
        self.values.pop(name, None)
        self.exported.discard(name)
        self.unset.add(name)

    def evaluate(self, assignment: Assignment) -> str | Unresolved:
        """The value that an assignment gives, if the launch states it."""
        pieces = [] if not assignment.append else [self._lookup(Ref("", assignment.name))]
        pieces += [self._piece(part) for part in assignment.value]
        if any(isinstance(piece, Unresolved) for piece in pieces):
            return Unresolved(f"{assignment.name}={source_of(assignment.value)}")
        self._spend(sum(len(piece) for piece in pieces if isinstance(piece, str)))
        return "".join(piece for piece in pieces if isinstance(piece, str))

    def expand(self, words: Iterable[Word], *, strict: bool) -> list[str]:
        """Words with variables filled in and unquoted values split at blanks.

        Args:
            strict: refuse what cannot be filled in; otherwise it is left as written.

        Raises:
            BadInput: an unresolved ``$``, or braces that a shell would expand, when strict; a
                launch that grows too large always.
        """
        out: list[str] = []
        for word in words:
            if strict:
                _refuse_braces(word)
            out += self._fields(word, strict=strict)
        return out

    def _spend(self, characters: int) -> None:
        self._spent += characters
        if self._spent > LIMIT:
            raise BadInput("the launch grows over 8 MB when its variables are filled in; shorten it")

    def _fields(self, word: Word, *, strict: bool) -> list[str]:
        done: list[str] = []
        current, open_ = "", False
        for part in word:
            value = self._piece(part)
            if isinstance(value, Unresolved):
                if strict:
                    raise unresolved(value.source)
                value = value.source
            if isinstance(part, Ref):
                self._spend(len(value))
            if isinstance(part, Text) or part.quoted:
                current += value
                open_ = True
            elif value:
                pieces = value.split()
                if value[0].isspace() and open_:
                    done.append(current)
                    current, open_ = "", False
                for number, piece in enumerate(pieces):
                    if number:
                        done.append(current)
                        current = ""
                    current += piece
                    open_ = True
                if pieces and value[-1].isspace():
                    done.append(current)
                    current, open_ = "", False
        return [*done, current] if open_ else done

    def _piece(self, part: Text | Ref) -> str | Unresolved:
        return part.text if isinstance(part, Text) else self._lookup(part)

    def _lookup(self, ref: Ref) -> str | Unresolved:
        if ref.name is None:
            return Unresolved(ref.source)
        value = self.values.get(ref.name)
        if value is None:
            # Only an explicit unset makes a variable known to be absent.
            if ref.name not in self.unset:
                return Unresolved(ref.source or f"${ref.name}")
            return ref.default or ""
        if value == "" and ref.default_if_empty and ref.default is not None:
            return ref.default
        return value


def assignment_in(word: Word) -> Assignment | None:
    """The assignment that an unquoted ``NAME=`` at the front of a word makes it."""
    if not word or not isinstance(word[0], Text) or not word[0].bare:
        return None
    match = _ASSIGNMENT.match(word[0].text)
    if match is None:
        return None
    value = (Text(word[0].text[match.end() :], bare=True), *word[1:])
    return Assignment(match.group(1), value, append=bool(match.group(2)))


def source_of(word: Word) -> str:
    """A word about as written (quotes are gone)."""
    return "".join(part.text if isinstance(part, Text) else part.source for part in word)


def unresolved(source: str) -> BadInput:
    """The error for a value that the launch needs and does not state."""
    shown = source if len(source) <= 80 else source[:77] + "..."
    return BadInput(
        f"the launch needs the value of {shown}, which it does not set; write the value in its "
        "place or set it at the front of the launch (NAME=value;)"
    )


def _refuse_braces(word: Word) -> None:
    shape = "".join(part.text if isinstance(part, Text) and part.bare else "_" for part in word)
    for match in _BRACES.finditer(shape):
        if "," in match.group(1) or ".." in match.group(1):
            raise BadInput(
                f"a shell would expand the braces in {source_of(word)[:80]!r}; put the word in single quotes"
            )
