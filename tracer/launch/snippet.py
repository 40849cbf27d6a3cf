"""Commands -> the one SGLang launch among them, with the environment that it gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.calls import engine_call
from pathtrace.tracer.launch.expand import Shell, Unresolved, assignment_in, source_of
from pathtrace.tracer.launch.lexer import Command, Text, Word, read_commands
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.prefixes import SHELLS, strip_prefixes
from pathtrace.tracer.launch.program import PythonCode, basename, recognise, scan
from pathtrace.tracer.launch.surroundings import Surroundings, surroundings_of

UNDERSTOOD = (
    "write `python -m sglang.launch_server ...`, `sglang serve ...`, only the server's flags "
    "(`--model-path ...`), `Engine(...)`, or a log line with server_args=ServerArgs(...)"
)
_MAX_DEPTH = 8
_MAX_SERVERS = 100
_OPENING = frozenset(["if", "while", "until", "for", "select", "case", "function", "{"])
_MIDDLE = frozenset(["then", "elif", "else", "do"])
_CLOSING = frozenset(["fi", "done", "esac", "}"])
_HARMLESS = frozenset(
    """
    echo printf grep egrep pkill pgrep kill killall ps tee cat which ls
    """.split()  # noqa: SIM905
)
_BUILTINS = frozenset(["export", "unset", "declare", "typeset", "readonly", "source", ".", "eval", "set"])
_MARKS = ("launch_server", "sglang.cli", "sglang serve", "Engine")
_OPERATORS = frozenset(("&&", "||", ";", "|", "&"))


@dataclass
class _Search:
    """What has been found so far. ``hint`` is a sentence about a near miss."""

    found: list[tuple[Launch, int]] = field(default_factory=list)
    hint: str | None = None


def launch_in_text(text: str) -> Launch:
    """The launch in a piece of shell text.

    Raises:
        BadInput: see :func:`pathtrace.tracer.launch.parse.parse_launch`.
    """
    return _one(read_commands(text), text)


def launch_in_words(words: Sequence[str]) -> Launch:
    """The launch in words that a shell has split already; a ``$`` in them is kept."""
    commands: list[Command] = []
    current: list[Word] = []
    before = ""
    for word in words:
        if word in _OPERATORS:
            commands.append(Command(tuple(current), before, word, 1))
            current, before = [], word
        else:
            current.append((Text(word, bare=True),))
    commands.append(Command(tuple(current), before, "", 1))
    return _one(commands, " ".join(words), split=True)


def _one(commands: Iterable[Command], text: str, *, split: bool = False) -> Launch:
    search = _Search()
    _Walk(search, Surroundings(), depth=0, split=split).walk(commands)
    if len(search.found) > 1:
        flags = next((line for found, line in search.found if found.entry == "bare"), None)
        if flags is not None:
            raise BadInput(
                f"line {flags} of the launch starts with a flag, so it is a command of its own; "
                "end the line before it with a backslash"
            )
        raise BadInput(f"the launch starts {len(search.found)} SGLang servers; give one of them at a time")
    if not search.found:
        shown = " ".join(text.split())
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        raise BadInput(search.hint or f"no SGLang server in {shown!r}; {UNDERSTOOD}")
    return search.found[0][0]


class _Walk:
    """Goes over the commands of one shell in order, keeping its variables."""

    def __init__(self, search: _Search, base: Surroundings, *, depth: int, split: bool) -> None:
        self.search = search
        self.base = base
        self.depth = depth
        self.split = split
        self.shell: Shell = base.as_shell()
        self.blocks: list[str] = []
        self.tested = False

    def walk(self, commands: Iterable[Command]) -> None:
        for command in commands:
            words = self._without_keywords(command.words)
            if words:
                self._command(command, words)
                self.tested = source_of(words[0]) in ("[", "[[", "test") or (self.tested and command.before == "&&")

    def _without_keywords(self, words: Sequence[Word]) -> Sequence[Word]:
        """Follow ``if``/``for``/... and return the simple command behind the keywords."""
        if self.split:
            return words
        for position, word in enumerate(words):
            name = word[0].text if len(word) == 1 and isinstance(word[0], Text) else ""
            if not name or not (isinstance(word[0], Text) and word[0].bare):
                return words[position:]
            if name in _OPENING:
                self.blocks.append(name)
                if name in ("for", "select"):
                    for variable in words[position + 1 : position + 2]:
                        looped = source_of(variable)
                        self.shell.values[looped] = Unresolved(f"${looped}")
                if name in ("for", "select", "case", "function"):
                    return ()
            elif name in _CLOSING:
                if self.blocks:
                    self.blocks.pop()
            elif name not in _MIDDLE and name != "!":
                return words[position:]
        return ()

    def _conditional(self, command: Command) -> str | None:
        if self.blocks:
            return f"inside `{self.blocks[-1]}`"
        if command.before == "||":
            return "behind `||`"
        return "behind a test" if command.before == "&&" and self.tested else None

    def _refuse_conditional(self, command: Command, what: str) -> None:
        where = self._conditional(command)
        if where is not None:
            raise BadInput(
                f"line {command.line} of the launch {what} {where}, so it may or may not happen; "
                "give only the commands that run"
            )

    def _command(self, command: Command, words: Sequence[Word]) -> None:
        count = 0
        while count < len(words) and assignment_in(words[count]) is not None:
            count += 1
        assignments = [a for a in map(assignment_in, words[:count]) if a is not None]
        # In a pipeline or in the background a shell changes only a copy of itself.
        subshell = command.before in ("|", "|&") or command.after in ("|", "|&", "&")
        rest = words[count:]
        if not rest:
            if not subshell:
                self._refuse_conditional(command, "sets a variable")
                for assignment in assignments:
                    self.shell.assign(assignment)
            return
        lenient = self.shell.expand(rest, strict=False)
        if not lenient:
            return
        if lenient[0] in _BUILTINS:
            if not subshell:
                self._builtin(command, lenient, rest)
            return
        if not _worth_reading(lenient):
            return
        around = surroundings_of(self.shell, self.base)
        for assignment in assignments:
            around.put_known(assignment.name, self.shell.evaluate(assignment))
        strict = lenient if self.split else self.shell.expand(rest, strict=True)
        self._program(command, strict, around)

    def _program(self, command: Command, words: list[str], around: Surroundings) -> None:
        written = words
        words = strip_prefixes(words, around)
        if words and basename(words[0]) in SHELLS:
            code = _shell_code(words[1:])
            if code is not None:
                self._nested(command, code, around)
                return
        program = recognise(words)
        if isinstance(program, PythonCode):
            call = engine_call(program.code)
            if call is not None:
                kwargs, unparsed = call
                around.unparsed += unparsed
                self._found(command, Launch(entry="engine", kwargs=kwargs, open_kwargs=unparsed), around)
        elif program is not None:
            self._found(command, Launch(entry=program.entry, argv=program.argv), around)
        elif words and scan(words) is not None:
            self.search.hint = (
                f"{words[0][:80]!r} stands in front of the SGLang server and may change its "
                "arguments or environment in ways that are not read; give the server's command "
                "as it starts it"
            )
        elif not words and written:
            self.search.hint = f"{written[0][:80]!r} starts no program; {UNDERSTOOD}"

    def _nested(self, command: Command, code: str, around: Surroundings) -> None:
        if self.depth >= _MAX_DEPTH:
            raise BadInput("the launch nests too many shells; give the innermost command")
        known = len(self.search.found)
        _Walk(self.search, around, depth=self.depth + 1, split=False).walk(read_commands(code))
        if len(self.search.found) > known:
            self._refuse_conditional(command, "starts the server")

    def _found(self, command: Command, launch: Launch, around: Surroundings) -> None:
        self._refuse_conditional(command, "starts the server")
        if len(self.search.found) == _MAX_SERVERS:
            raise BadInput(f"the launch starts over {_MAX_SERVERS} SGLang servers; give one of them at a time")
        self.search.found.append(
            (
                Launch(
                    entry=launch.entry,
                    argv=launch.argv,
                    kwargs=launch.kwargs,
                    env=around.env,
                    unset=frozenset(around.unset),
                    unparsed=tuple(around.unparsed),
                    open_kwargs=launch.open_kwargs,
                    outside=around.outside,
                    forwarded=frozenset(around.forwarded),
                    unexported=around.unexported,
                ),
                command.line,
            )
        )

    def _builtin(self, command: Command, lenient: list[str], words: Sequence[Word]) -> None:
        name = lenient[0]
        if name == "set":
            if lenient[1:] in (["-a"], ["-o", "allexport"]):
                self.shell.export_all = True
            elif lenient[1:] in (["+a"], ["+o", "allexport"]):
                self.shell.export_all = False
            return
        if name in ("source", ".", "eval"):
            self.shell.skipped.append(" ".join(map(source_of, words)))
            return
        options = [word for word in lenient[1:] if word.startswith("-")]
        if name == "unset":
            if "-f" not in options:
                self._refuse_conditional(command, "removes a variable")
                for variable in lenient[1:]:
                    self.shell.remove(variable)
            return
        exports = name == "export" or any("x" in option for option in options)
        for word in words[1:]:
            assignment = assignment_in(word)
            if assignment is not None:
                self._refuse_conditional(command, "sets a variable")
                self.shell.assign(assignment, export=exports and "-n" not in options)
            elif exports and (variable := source_of(word)) and not variable.startswith("-"):
                if "-n" in options:
                    self.shell.exported.discard(variable)
                else:
                    self.shell.export(variable)


def _worth_reading(words: Sequence[str]) -> bool:
    """Whether a command can be a launch; others are not held to rules that they do not need."""
    if words[0].startswith("-"):
        return True
    if words[0] in _HARMLESS:
        return False
    serve = any(basename(word).startswith("sglang") and after == "serve" for word, after in pairwise(words))
    return serve or any(mark in word for word in words for mark in _MARKS)


def _shell_code(words: Sequence[str]) -> str | None:
    """CODE of ``bash -c CODE`` (also ``-lc``, ``-exc``)."""
    for index, word in enumerate(words):
        if not word.startswith(("-", "+")):
            return None
        if not word.startswith("--") and "c" in word:
            return words[index + 1] if index + 1 < len(words) else None
        if word in ("-o", "+o", "-O"):
            return None
    return None
