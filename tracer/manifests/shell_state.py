"""What a shell script has done so far: variables, arrays, functions, arguments; and what two branches leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK, is_open, opened
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.shell_source import Source

_MOST_CHARACTERS = 8 << 20
_MOST_STEPS = 30_000
_MOST_NOTES = 40
_SERVERS = ("sglang", "launch_server", "Engine")


@dataclass(frozen=True)
class Field:
    """One word after everything in it is filled in.

    Attributes:
        text: the word; pieces that are not stated are marked.
        spot: where it is written.
        notes: what was taken for granted in filling it in.
        any_words: why it may stand for any number of words; empty for exactly one.
        listed: whether it stands for a list (``$@``), which no single flag takes as its value.
        may_launch: whether what is not stated in it may start a server.
    """

    text: str
    spot: Spot
    notes: tuple[str, ...] = ()
    any_words: str = ""
    listed: bool = False
    may_launch: bool = False


@dataclass(frozen=True)
class Variable:
    """A shell variable.

    Attributes:
        text: its value, or None where it is known not to be set.
        elements: of an array.
        exported: whether programs get it.
        spot: where it is set in the file.
        notes: what was taken for granted in working out the value.
        cause: why the value is not known, as part of a sentence.
        place: where its value is written.
        may_launch: whether a value that is not known may start a server.
        outside: whether it came as it is from outside of the script and the caller has it already.
        hidden: whether ``export -n`` took it out of the environment.
    """

    text: str | None
    elements: tuple[Field, ...] | None = None
    exported: bool = False
    spot: Spot | None = None
    notes: tuple[str, ...] = ()
    cause: str = ""
    may_launch: bool = False
    place: Spot | None = None
    outside: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Function:
    """A function of the script."""

    name: str
    body: Node
    source: Source


@dataclass
class Budget:
    """How much more is read of one file."""

    file: str
    characters: int = 0
    steps: int = 0

    def spend(self, characters: int) -> None:
        """Count characters that variables were filled in with."""
        self.characters += characters
        if self.characters > _MOST_CHARACTERS:
            raise BadInput("grows over 8 MB when its variables are filled in; shorten it", self.file)

    def step(self) -> None:
        """Count a command that may run more than once."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise BadInput(
                f"runs over {_MOST_STEPS} commands when its loops and functions are followed; "
                "give the part of it that starts the server",
                self.file,
            )


def joined(*notes: Sequence[str]) -> tuple[str, ...]:
    """Notes put together, each once."""
    full = [part for part in notes if part]
    if len(full) < 2:
        return tuple(full[0]) if full else ()
    found = tuple(dict.fromkeys(note for part in full for note in part))
    return found if len(found) <= _MOST_NOTES else (*found[:_MOST_NOTES], "more variables are taken as not set")


def names_a_server(texts: Iterable[str]) -> bool:
    """Whether words can be part of a command that starts a server."""
    return any(name in text for text in texts for name in _SERVERS)


_ABSENT = object()
_ARGUMENTS, _SOURCED, _EXPORT_ALL = "@", " sourced", " export all"
Change = dict[str, object]


@dataclass
class State:
    """The state of one shell. Every change goes through here, so that a branch can be taken back.

    Attributes:
        carries: whether anything in it has held words that may start a server.
    """

    _cells: dict[str, object] = field(default_factory=dict)
    _logs: list[Change] = field(default_factory=list)
    carries: bool = False

    def _put(self, key: str, value: object) -> None:
        if self._logs:
            self._logs[-1].setdefault(key, self._cells.get(key, _ABSENT))
        if not self.carries:
            self.carries = _carries(value)
        if value is _ABSENT:
            self._cells.pop(key, None)
        else:
            self._cells[key] = value

    def variable(self, name: str) -> Variable | None:
        """The variable, or None where nothing in the script or around it says anything of it."""
        found = self._cells.get(name)
        return found if isinstance(found, Variable) else None

    def variables(self) -> dict[str, Variable]:
        """All that something is known of."""
        return {name: found for name, found in self._cells.items() if isinstance(found, Variable)}

    def put(self, name: str, variable: Variable | None) -> None:
        """Put a variable as it is; None for nothing known."""
        self._put(name, _ABSENT if variable is None else variable)

    def assign(self, name: str, variable: Variable, *, export: bool = False) -> None:
        """Set a variable; one that is exported stays so."""
        before = self.variable(name)
        exported = export or (before is not None and before.exported) or f"{name} exported" in self._cells
        if not exported and _EXPORT_ALL in self._cells and self.export_all is not False:
            exported = True
            if self.export_all is None:
                variable = replace(variable, text=opened(f"${name}"), cause="`set -a` may or may not be on")
        self._put(name, variable if variable.exported == exported else replace(variable, exported=exported))

    def export(self, name: str, *, on: bool) -> None:
        """``export NAME`` and ``export -n NAME``; what is not known of stays as the caller has it."""
        variable = self.variable(name)
        if on and variable is not None and not variable.exported and variable.text is not None:
            self._put(name, replace(variable, exported=True, hidden=False, outside=False))
        elif on and (variable is None or variable.text is None):
            # It has no value yet, and goes to programs once it has one.
            self._put(f"{name} exported", True)
        elif not on:
            self._put(f"{name} exported", _ABSENT)
            found = variable or Variable(opened(f"${name}"))
            self._put(name, replace(found, exported=False, hidden=True))

    def functions(self, name: str) -> tuple[Function | None, ...]:
        """What a function's name may stand for; None where it may be no function."""
        found = self._cells.get(f"{name}()", ())
        return found if isinstance(found, tuple) else ()

    def define(self, function: Function) -> None:
        """Define a function."""
        self._put(f"{function.name}()", (function,))

    def undefine(self, name: str) -> None:
        """``unset -f``."""
        self._put(f"{name}()", _ABSENT)

    @property
    def arguments(self) -> tuple[Field, ...] | None:
        """``$@``, or None where it is not known."""
        found = self._cells.get(_ARGUMENTS)
        return found if isinstance(found, tuple) else None

    @arguments.setter
    def arguments(self, arguments: tuple[Field, ...] | None) -> None:
        self._put(_ARGUMENTS, _ABSENT if arguments is None else arguments)

    @property
    def sourced(self) -> bool:
        """Whether something that is not followed may have set variables."""
        return self._cells.get(_SOURCED) is True

    def source(self) -> None:
        """Something that is not followed runs in this shell."""
        self._put(_SOURCED, True)

    @property
    def export_all(self) -> bool | None:
        """``set -a``; None where it may be on."""
        found = self._cells.get(_EXPORT_ALL, False)
        return found if isinstance(found, bool) else None

    @export_all.setter
    def export_all(self, on: bool) -> None:
        self._put(_EXPORT_ALL, on)

    def begin(self) -> None:
        """From here on, changes can be taken back."""
        self._logs.append({})

    def changed(self) -> set[str]:
        """Variables changed since the last :meth:`begin`."""
        return {name for name in self._logs[-1] if name.isidentifier()}

    def keep(self) -> None:
        """Keep the changes since the last :meth:`begin`."""
        log = self._logs.pop()
        if self._logs:
            for key, value in log.items():
                self._logs[-1].setdefault(key, value)

    def take_back(self) -> Change:
        """Take back the changes since the last :meth:`begin`, and return what they had led to."""
        log = self._logs.pop()
        after = {key: self._cells.get(key, _ABSENT) for key in log}
        for key, value in log.items():
            if value is _ABSENT:
                self._cells.pop(key, None)
            else:
                self._cells[key] = value
        return after

    def merge(self, branches: Sequence[Change], cause: str) -> None:
        """Go on after branches of which one was taken, and nothing says which."""
        for key in dict.fromkeys(key for branch in branches for key in branch):
            before = self._cells.get(key, _ABSENT)
            values = [branch.get(key, before) for branch in branches]
            if all(_same(value, values[0]) for value in values):
                self._put(key, values[0])
            elif key.endswith("()"):
                found = [each for value in values for each in (value if isinstance(value, tuple) else (None,))]
                self._put(key, tuple(dict.fromkeys(found)))
            elif key == _ARGUMENTS:
                self._put(key, _ABSENT)
            elif key == _SOURCED or key.endswith(" exported"):
                self._put(key, True)
            elif key == _EXPORT_ALL:
                self._put(key, None)
            else:
                self._put(key, _either(key, [v if isinstance(v, Variable) else None for v in values], cause))

    def open_up(self, names: Iterable[str], cause: str) -> None:
        """Take these variables as not known."""
        for name in sorted(names):
            self._put(name, _either(name, [self.variable(name), None], cause))


def _same(one: object, other: object) -> bool:
    """Whether two branches leave the same, wherever in the file each sets it."""
    if not isinstance(one, Variable) or not isinstance(other, Variable):
        return one == other
    if (one.text, one.exported, one.hidden) != (other.text, other.exported, other.hidden):
        return False
    return [each.text for each in one.elements or ()] == [each.text for each in other.elements or ()] and (
        (one.elements is None) == (other.elements is None)
    )


def _carries(value: object) -> bool:
    if isinstance(value, Variable):
        if value.may_launch or (value.text and names_a_server((value.text,))):
            return True
        value = value.elements
    return isinstance(value, tuple) and any(
        isinstance(each, Field) and (each.may_launch or names_a_server((each.text,))) for each in value
    )


def _either(name: str, values: list[Variable | None], cause: str) -> Variable:
    known = [value for value in values if value is not None]
    texts = [each.text or "" for each in known] + [e.text for each in known for e in each.elements or ()]
    may_launch = names_a_server(texts) or any(each.may_launch for each in known)
    spot = next((each.spot for each in known if each.spot is not None), None)
    elements: tuple[Field, ...] | None = None
    if any(each.elements is not None for each in known):
        same = _same_front([each.elements or () if each is not None else () for each in values])
        source = f"${{{name}[@]}}"
        reason = f"{source} may hold any flags, and {cause}; write the flags in its place"
        place = spot or Spot(1, 1)
        elements = (*same, Field(opened(source), place, any_words=reason, listed=True, may_launch=may_launch))
    return Variable(
        opened(f"${name}"),
        elements,
        exported=any(each.exported for each in known),
        spot=spot,
        notes=joined(*(each.notes for each in known)),
        cause=cause,
        may_launch=may_launch,
        hidden=any(each.hidden for each in known),
    )


def _same_front(lists: list[tuple[Field, ...]]) -> tuple[Field, ...]:
    count = 0
    for fields in zip(*lists, strict=False):
        if len({each.text for each in fields}) > 1 or any(each.any_words for each in fields):
            break
        count += 1
    return lists[0][:count]


def has_known_text(text: str) -> bool:
    """Whether a text is certainly not empty, whatever its open pieces are."""
    return not is_open(text) or any(text.split(MARK)[::2])
