"""A command's words -> a launch, with its environment and the place of everything in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.calls import engine_call
from pathtrace.tracer.launch.model import Launch, Unseen
from pathtrace.tracer.launch.open_text import is_open, shown, sources_of
from pathtrace.tracer.launch.program import PythonCode, basename, is_python, recognise, scan
from pathtrace.tracer.launch.surroundings import Surroundings
from pathtrace.tracer.manifests.command import with_unseen
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch
from pathtrace.tracer.manifests.shell_state import Budget, Field, State, joined

_MOST_LAUNCHES = 100
# They hand text on to a shell that runs somewhere else.
_CARRIERS = frozenset(["ssh", "tmux", "screen", "su", "script", "xargs", "parallel", "watch", "mpirun", "torchrun"])


@dataclass
class Search:
    """What has been found in one file so far."""

    file: str
    given: Mapping[str, str]
    budget: Budget
    found: list[Found] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def add(self, found: Found) -> None:
        """Keep a launch."""
        if len(self.found) == _MOST_LAUNCHES:
            raise BadInput(
                f"starts over {_MOST_LAUNCHES} SGLang servers; give the part of it that starts the one in question",
                self.file,
                found.spot.line,
            )
        self.found += with_unseen([found], Unseen(tuple(self.unseen)))


@dataclass(frozen=True)
class Context:
    """Where a command stands: what names it, the place of its first word, and what was taken for granted."""

    name: str
    spot: Spot
    notes: tuple[str, ...]
    conditions: tuple[str, ...]
    variables: Mapping[str, Spot]

    def notes_of(self, *more: Sequence[str]) -> tuple[str, ...]:
        """The notes of a launch here."""
        line = self.spot.line
        return joined([f"line {line} runs only if {each}" for each in self.conditions], self.notes, *more)


def surroundings_of(state: State, base: Surroundings) -> tuple[Surroundings, dict[str, Spot], tuple[str, ...]]:
    """What a program started from a shell gets; where its variables are set; what was taken for granted."""
    around = Surroundings(outside=base.outside, unparsed=list(base.unparsed), forwarded=set(base.forwarded))
    spots: dict[str, Spot] = {}
    notes: list[tuple[str, ...]] = []
    for name, variable in state.variables().items():
        if variable.outside:
            continue
        if variable.text is None or variable.hidden:
            around.drop(name)
        elif variable.exported and variable.elements is None:
            around.put(name, variable.text)
            notes.append(variable.notes)
            if variable.spot is not None:
                spots[name] = variable.spot
        elif variable.elements is None:
            around.unexported[name] = variable.text
    return around, spots, joined(*notes)


def find_in_program(
    search: Search,
    fields: Sequence[Field],
    words: Sequence[str],
    around: Surroundings,
    context: Context,
    fed: str | None,
) -> None:
    """Look for a server in a command whose prefixes are off.

    Args:
        search: what has been found.
        fields: all words of the command.
        words: those from the program on.
        around: what the program gets.
        context: where the command stands.
        fed: what it reads from its standard input, where the file states it.
    """
    rest = list(words)
    if not rest:
        return
    if rest[0].startswith("-") and not is_open(rest[0]):
        _note_lost_flags(search, rest[0], context.spot.line)
        return
    notes: tuple[str, ...] = ()
    program = recognise(rest)
    if program is None and is_open(rest[0]) and rest[1:2] in (["-m"], ["-c"]):
        program = recognise(["python", *rest[1:]])
        notes = (f"{shown(rest[0])} is taken as a Python interpreter",) if program is not None else ()
    at_program = len(fields) - len(rest)
    if program is None:
        _find_behind(search, fields, rest, around, context, fed)
        return
    count = 1 if isinstance(program, PythonCode) else len(program.argv)
    own = len(fields) - count
    for index, each in enumerate(fields):
        if not each.any_words or index == at_program or (isinstance(program, PythonCode) and index > own):
            continue
        before = fields[index - 1].text if index else ""
        is_flag = before.startswith("--" if index > own else "-") and "=" not in before
        if each.listed or not is_flag:
            search.add(UnreadLaunch(context.name, search.file, each.spot, each.any_words))
            return
        notes = joined(notes, (f"{shown(each.text)} is taken as the one value of {before}",))
    notes = joined(*(each.notes for each in fields), notes)
    if isinstance(program, PythonCode):
        _find_engine(search, program.code, around, replace(context, notes=joined(context.notes, notes)))
        return
    launch = _with(Launch(entry=program.entry, argv=program.argv), around)
    spots = tuple(each.spot for each in fields[own:])
    _add(search, launch, spots, context, notes, fields)


def _note_lost_flags(search: Search, flag: str, line: int) -> None:
    last = search.found[-1] if search.found else None
    if flag.startswith("--") and isinstance(last, FoundLaunch):
        note = (
            f"line {line} starts with {flag[:60]} and is a command of its own; end the line before it with a backslash"
        )
        search.found[-1] = replace(last, notes=joined(last.notes, (note,)))


def _find_behind(
    search: Search, fields: Sequence[Field], rest: list[str], around: Surroundings, context: Context, fed: str | None
) -> None:
    """A program that is no server, as far as it can be told: one may stand behind it."""
    if is_python(rest[0]) and fed is not None and rest[1:2] in ([], ["-"]):
        _find_engine(search, fed, around, context)
        return
    name = shown(rest[0])
    reason = ""
    if scan(rest) is not None:
        reason = (
            f"{name[:80]!r} stands in front of the SGLang server and may change its arguments or environment in "
            "ways that are not read; give the server's command as it starts it"
        )
    elif basename(rest[0]) in _CARRIERS and any(_is_command(text) for text in [*rest[1:], fed or ""]):
        reason = f"{basename(rest[0])} hands the server's command on as text; give that command as it runs there"
    hidden = next((each for each in fields if each.may_launch), None)
    if not reason and hidden is not None:
        reason = hidden.any_words or f"{shown(hidden.text)} may start a server; write the command in its place"
    first = fields[len(fields) - len(rest)] if len(rest) <= len(fields) else fields[0]
    if reason:
        search.add(UnreadLaunch(context.name, search.file, context.spot, first.any_words or reason))


def _is_command(text: str) -> bool:
    return any(mark in text for mark in ("-m sglang", "sglang serve", "launch_server.py"))


def _find_engine(search: Search, code: str, around: Surroundings, context: Context) -> None:
    if "Engine" not in code:
        return
    if is_open(code):
        reason = f"the Python code holds {sources_of(code)[0]}, which is not known; write it out"
        search.add(UnreadLaunch(context.name, search.file, context.spot, reason))
        return
    try:
        call = engine_call(code)
    except BadInput as error:
        search.add(UnreadLaunch(context.name, search.file, context.spot, error.message))
        return
    if call is not None:
        around.unparsed += call[1]
        launch = _with(Launch(entry="engine", kwargs=call[0], open_kwargs=call[1]), around)
        _add(search, launch, (), context, (), ())


def _with(launch: Launch, around: Surroundings) -> Launch:
    return replace(
        launch,
        env=dict(around.env),
        unset=frozenset(around.unset),
        unparsed=tuple(around.unparsed),
        outside=around.outside,
        forwarded=frozenset(around.forwarded),
        unexported=dict(around.unexported),
    )


def _add(
    search: Search,
    launch: Launch,
    spots: tuple[Spot, ...],
    context: Context,
    notes: tuple[str, ...],
    fields: Sequence[Field],
) -> None:
    variables = {name: spot for name, spot in context.variables.items() if name in launch.env}
    for each in fields:
        # `env K=V` and `docker run -e K=V` set a variable by a word of the command.
        name, equals, value = each.text.removeprefix("--env=").partition("=")
        if equals and launch.env.get(name) == value:
            variables[name] = each.spot
    search.add(FoundLaunch(context.name, search.file, context.spot, launch, spots, variables, context.notes_of(notes)))
