"""A command in exec form, a list of words that no shell splits -> the launches in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.calls import engine_call
from pathtrace.tracer.launch.model import Launch, Unseen
from pathtrace.tracer.launch.open_text import MARK, is_open, shown, waits_for
from pathtrace.tracer.launch.prefixes import SHELLS, strip_prefixes
from pathtrace.tracer.launch.program import PythonCode, basename, recognise, scan
from pathtrace.tracer.launch.surroundings import Surroundings
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch

_WHOLLY_OPEN = re.compile(f"(?:{MARK}[^{MARK}]*{MARK})+")
_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Run:
    """A stretch of a text: from ``start`` on it stands at ``spot``, all of it where it does not move."""

    start: int
    spot: Spot
    moves: bool = True


def start_of(run: Run) -> int:
    """The first character of a stretch."""
    return run.start


@dataclass(frozen=True)
class Written:
    """One word or value.

    Attributes:
        text: it may hold pieces that are not stated (:mod:`pathtrace.tracer.launch.open_text`).
        spot: where it starts.
        runs: where the stretches of a longer text stand; empty where its characters and lines follow
            each other in the file as in the text.
    """

    text: str
    spot: Spot
    runs: tuple[Run, ...] = ()

    def at(self, offset: int) -> Spot:
        """Where a character of the text stands."""
        if not self.runs:
            before = self.text[:offset]
            line_breaks = before.count("\n")
            column = offset - (before.rfind("\n") + 1)
            return Spot(self.spot.line + line_breaks, column + (1 if line_breaks else self.spot.column))
        run = self.runs[max(0, bisect_right(self.runs, offset, key=start_of) - 1)]
        return Spot(run.spot.line, run.spot.column + max(0, offset - run.start)) if run.moves else run.spot


def launches_of(
    words: Sequence[Written],
    env: Mapping[str, Written],
    *,
    name: str,
    file: str,
    spot: Spot,
    given: Mapping[str, str],
    notes: Sequence[str] = (),
    isolated: bool = True,
    forwarded: frozenset[str] = frozenset(),
) -> list[Found]:
    """The launches of a command in exec form.

    Args:
        words: the words of the command, as the process gets them.
        env: the variables that the container or unit sets.
        name: what the launches are called.
        file: the file, as it was given.
        spot: where the command stands; its first word says it more exactly.
        given: variables that the user states with ``--env`` and ``--env-file``.
        notes: what was taken for granted so far.
        isolated: whether the command runs in a container, which the caller's environment does not reach.
        forwarded: variables of the caller's that reach it nevertheless.
    """
    reading = _Reading(tuple(words), env, name, file, words[0].spot if words else spot, given, tuple(notes), isolated)
    around = Surroundings(
        env={variable: value.text for variable, value in env.items()},
        outside="given" if isolated else "kept",
        forwarded=set(forwarded) if isolated else set(),
    )
    texts = [word.text for word in words]
    try:
        return reading.read(strip_prefixes(texts, around), around)
    except BadInput as error:
        return [reading.unread(error.message)] if _starts_a_server(texts) else []


def with_unseen(found: Sequence[Found], unseen: Unseen) -> list[Found]:
    """The same launches, whose variables may also be set by what is not read."""
    if not unseen.sources:
        return list(found)
    return [
        replace(each, launch=replace(each.launch, unseen=unseen))
        if isinstance(each, FoundLaunch) and each.launch.outside != "none"
        else each
        for each in found
    ]


def hidden_flags(words: Sequence[str]) -> int | None:
    """The first of a server's words that may stand for any flags, or hides the name of one."""
    for index, word in enumerate(words):
        if not is_open(word):
            continue
        after_flag = index > 0 and words[index - 1].startswith("--") and "=" not in words[index - 1]
        if is_wholly_open(word) and not after_flag:
            return index
        if word.startswith("-") and is_open(word.partition("=")[0]):
            return index
    return None


def is_wholly_open(text: str) -> bool:
    """Whether nothing of a text is stated."""
    return _WHOLLY_OPEN.fullmatch(text) is not None


def to_give(text: str) -> str:
    """What would state the open pieces of a text, as the end of a sentence."""
    return "give " + ", ".join(sorted(waits_for(text)))


def _starts_a_server(words: list[str]) -> bool:
    # The first word is looked at too: a prefix in front of it may be what is not understood.
    return bool(words) and (scan(["", *words]) is not None or any("sglang" in word for word in words))


def shell_text(words: Sequence[str]) -> int | None:
    """Where TEXT stands in ``bash -c TEXT`` (also ``-lc``, ``-exc``, ``-o pipefail -c``)."""
    if not words or basename(words[0]) not in SHELLS:
        return None
    index = 1
    while index < len(words) and words[index].startswith(("-", "+")):
        option = words[index]
        if not option.startswith("--") and "c" in option:
            # `-euo pipefail -c` and `-ceuo pipefail TEXT` both name an option in the next word.
            index += 2 if option.endswith("o") else 1
            return index if index < len(words) else None
        index += 2 if not option.startswith("--") and option[-1:] in ("o", "O") else 1
    return None


def _short(text: str) -> str:
    text = shown(text)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


@dataclass(frozen=True)
class _Reading:
    """One command, and what every launch found in it says."""

    words: tuple[Written, ...]
    env: Mapping[str, Written]
    name: str
    file: str
    spot: Spot
    given: Mapping[str, str]
    notes: tuple[str, ...]
    isolated: bool

    def read(self, rest: list[str], around: Surroundings) -> list[Found]:
        """The launches of the words behind the prefixes."""
        if rest and basename(rest[0]) in SHELLS:
            at = shell_text(rest)
            return [] if at is None else self._in_shell(self._written(len(rest) - at), around)
        program = recognise(rest)
        if isinstance(program, PythonCode):
            return self._engine(program.code, around)
        if program is None:
            return self._behind_unknown(rest)
        if program.entry == "bare" and not any(word.partition("=")[0] == "--model-path" for word in rest):
            return []
        hidden = hidden_flags(program.argv)
        if hidden is not None:
            word = self._written(len(program.argv) - hidden)
            return [self.unread(f"`{_short(word.text)}` may stand for any flags; {to_give(word.text)}", word.spot)]
        return [self._found(Launch(entry=program.entry, argv=program.argv), around)]

    def unread(self, reason: str, spot: Spot | None = None) -> UnreadLaunch:
        """The command as one that cannot be told."""
        return UnreadLaunch(self.name, self.file, spot or self.spot, reason)

    def _written(self, from_end: int) -> Written:
        """The word that stands ``from_end`` before the end; prefixes never change the last words."""
        return self.words[len(self.words) - from_end]

    def _behind_unknown(self, rest: list[str]) -> list[Found]:
        if not rest or scan(rest) is None:
            return []
        program = rest[0]
        if is_open(program):
            return [self.unread(f"the program is written as `{_short(program)}`; {to_give(program)}")]
        return [
            self.unread(
                f"`{_short(program)}` stands in front of the SGLang server and may change its arguments or "
                "environment in ways that are not read; give the server's command as it starts it"
            )
        ]

    def _engine(self, code: str, around: Surroundings) -> list[Found]:
        if "Engine" not in code:
            return []
        if is_open(code):
            return [self.unread(f"the Python code is not all stated; {to_give(code)}")]
        call = engine_call(code)
        if call is None:
            return []
        around.unparsed += call[1]
        return [self._found(Launch(entry="engine", kwargs=call[0], open_kwargs=call[1]), around)]

    def _found(self, launch: Launch, around: Surroundings) -> FoundLaunch:
        launch = replace(
            launch,
            env=dict(around.env),
            unset=frozenset(around.unset),
            unparsed=tuple(around.unparsed),
            outside=around.outside,
            forwarded=frozenset(around.forwarded),
            unexported=dict(around.unexported),
        )
        first = len(self.words) - len(launch.argv)
        spots = tuple(word.spot for word in self.words[first:])
        return FoundLaunch(self.name, self.file, self.spot, launch, spots, self._spots(launch.env), self.notes)

    def _spots(self, variables: Mapping[str, str]) -> dict[str, Spot]:
        """Where each variable is set: in the environment, or in front of the program (``env K=V``)."""
        spots = {variable: self.env[variable].spot for variable in variables if variable in self.env}
        for word in self.words:
            variable, equals, value = word.text.partition("=")
            if equals and variables.get(variable) == value and not variable.startswith("-"):
                spots[variable] = word.spot
        return spots

    def _in_shell(self, text: Written, around: Surroundings) -> list[Found]:
        from pathtrace.tracer.manifests.shell import launches_in_shell

        place = _Placing(text)
        try:
            found = launches_in_shell(text.text, self.file, self.given, env=dict(around.env), marked=True)
        except BadInput as error:
            if "sglang" not in text.text:
                return []
            return [self.unread(error.message, place.spot(Spot(error.line or 1, 1)))]
        return [self._of_shell(each, around, place) for each in found]

    def _of_shell(self, found: Found, around: Surroundings, place: _Placing) -> Found:
        name = " ".join(part for part in (self.name, found.name) if part)
        spot = place.spot(found.spot)
        if isinstance(found, UnreadLaunch):
            return UnreadLaunch(name, self.file, spot, found.reason)
        launch = found.launch
        if launch.outside == "kept":
            forwarded = around.forwarded - launch.unset - launch.env.keys()
            unset = launch.unset | around.unset - launch.env.keys()
            launch = replace(launch, outside=around.outside, forwarded=frozenset(forwarded), unset=frozenset(unset))
        words = tuple(place.spot(each) for each in found.words)
        variables = {variable: place.spot(each) for variable, each in found.variables.items()}
        outer = {variable: each for variable, each in self._spots(launch.env).items() if variable not in variables}
        return FoundLaunch(name, self.file, spot, launch, words, {**outer, **variables}, self.notes + found.notes)


class _Placing:
    """Lines and columns of shell text -> places in the file."""

    def __init__(self, text: Written) -> None:
        from pathtrace.tracer.manifests.shell_source import Source

        self.text = text
        self.source = Source(text.text, "")
        self.lines = self.source.data.decode("utf-8", "surrogatepass").split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(self.source.marked(line)) + 1)

    def spot(self, inside: Spot) -> Spot:
        """The place of a line and column; both count from 1, and a piece that is not stated as what holds it."""
        line = min(inside.line, len(self.lines)) - 1
        before = self.source.marked(self.lines[line][: inside.column - 1])
        return self.text.at(self.starts[line] + len(before))
