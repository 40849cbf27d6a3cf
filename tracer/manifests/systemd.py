"""The launches that a systemd unit starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.launch.open_text import shown
from pathtrace.tracer.manifests.command import Written, launches_of, with_unseen
from pathtrace.tracer.manifests.model import Found, UnreadLaunch
from pathtrace.tracer.manifests.pieces import part
from pathtrace.tracer.manifests.unit_lines import Setting, service_settings
from pathtrace.tracer.manifests.unit_words import Word, command_words, with_specifiers, words_of

_LIMIT = 1 << 19
_MAX_COPIED = 1 << 18
_MAX_FILLED = 1 << 23
_PREFIXES = "@-:+!|"
_MARKS = ("sglang", "launch_server")
_LISTS = frozenset(["ExecStart", "Environment", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment"])


def launches_in_unit(text: str, file: str, given: Mapping[str, str]) -> list[Found]:
    """The launches of the ``ExecStart=`` settings, named by the unit's file.

    Args:
        text: the unit, or a drop-in of one.
        file: its path, as it was given.
        given: variables that the user states with ``--env`` and ``--env-file``.

    Raises:
        BadInput: a quote that is not closed, or a unit over 512 KB.
    """
    if len(text) > _LIMIT:
        raise BadInput("is over 512 KB, too long for a unit; give a smaller file", file)
    if "\0" in text:
        raise BadInput("is binary; give a text file", file)
    unit = _Unit(file, given)
    for setting in service_settings(text.removeprefix("\ufeff")):
        unit.take(setting)
    return unit.launches()


@dataclass
class _Unit:
    """The settings of a unit that bear on a launch; an empty value has reset those before it."""

    file: str
    given: Mapping[str, str]
    type: str = ""
    lists: dict[str, list[Written]] = field(default_factory=dict)
    filled: int = 0

    def take(self, setting: Setting) -> None:
        """Apply one setting."""
        if setting.name == "Type":
            self.type = setting.value.text
        elif setting.name in _LISTS:
            if setting.value.text:
                self.lists.setdefault(setting.name, []).append(setting.value)
            else:
                self.lists.pop(setting.name, None)

    def launches(self) -> list[Found]:
        """The launches, with the unit's whole environment."""
        settings = [*self.lists.get("ExecStart", ()), *self.lists.get("Environment", ())]
        if not any(mark in setting.text for setting in settings for mark in _MARKS):
            return []
        commands = [command for value in self.lists.get("ExecStart", ()) for command in self._commands(value)]
        env = self._environment()
        removed = self._remove(env)
        if len(commands) * (len(env) + 10) > _MAX_COPIED:
            raise BadInput("has too many commands and variables for one unit; split it", self.file)
        notes = tuple(self._notes(env, removed, several=len(commands) > 1))
        found: list[Found] = []
        for command in commands:
            found += self._launch(command, env, removed, notes)
        return found

    def _commands(self, value: Written) -> Iterator[list[Word]]:
        """The commands of one setting; a ``;`` that stands alone parts them."""
        command: list[Word] = []
        for word in words_of(value, self.file):
            if word.bare and word.written.text == ";":
                if command:
                    yield command
                command = []
            else:
                escaped = word.bare and word.written.text == "\\;"
                command.append(Word(part(word.written, 1, 2), False) if escaped else word)
        if command:
            yield command

    def _environment(self) -> dict[str, Written]:
        env: dict[str, Written] = {}
        for setting in self.lists.get("Environment", ()):
            for word in words_of(setting, self.file):
                filled = with_specifiers(word.written)
                name, equals, value = filled.text.partition("=")
                if equals and name.isidentifier() and name.isascii():
                    env[name] = Written(value, filled.spot)
        return env

    def _remove(self, env: dict[str, Written]) -> frozenset[str]:
        """Take out what ``UnsetEnvironment=`` names, and return the names that no one can set."""
        removed = set()
        for setting in self.lists.get("UnsetEnvironment", ()):
            for word in words_of(setting, self.file):
                name, equals, value = with_specifiers(word.written).text.partition("=")
                if not equals:
                    removed.add(name)
                    env.pop(name, None)
                elif name in env and env[name].text == value:
                    del env[name]
        return frozenset(removed)

    def _notes(self, env: Mapping[str, Written], removed: frozenset[str], *, several: bool) -> Iterator[str]:
        for name in sorted(self._passed()):
            if name not in env and name not in removed and name not in self.given:
                yield f"{name} comes from the environment of systemd, which is not known; --env {name}=... states it"
        if several and self.type != "oneshot":
            yield "systemd takes several commands in ExecStart only with Type=oneshot, and refuses this unit"

    def _passed(self) -> frozenset[str]:
        """The variables of systemd's own environment that the unit takes over."""
        lists = self.lists.get("PassEnvironment", ())
        return frozenset(word.written.text for each in lists for word in words_of(each, self.file))

    def _unseen(self) -> Unseen:
        """The files that set further variables; they win over what the unit sets."""
        files = dict.fromkeys(shown(with_specifiers(each).text) for each in self.lists.get("EnvironmentFile", ()))
        return Unseen(tuple(f"the file {path.removeprefix('-')}" for path in files), replaces=True)

    def _launch(
        self, command: list[Word], env: Mapping[str, Written], removed: frozenset[str], notes: tuple[str, ...]
    ) -> list[Found]:
        first = command[0].written
        bare = first.text.lstrip(_PREFIXES)
        prefix = first.text[: len(first.text) - len(bare)]
        program = part(first, len(prefix), len(first.text))
        # With @ the next word is only the name that the process shows.
        arguments = [word.written for word in command[2 if "@" in prefix else 1 :]]
        name = self.file.replace("\\", "/").rpartition("/")[2]
        if "|" in prefix:
            return self._in_login_shell(name, [program, *arguments])
        words = [with_specifiers(program)]
        for argument in arguments:
            if ":" in prefix:
                words.append(with_specifiers(argument))
            else:
                words += command_words(argument, lambda variable: self._value(variable, env, removed))
        if not words[0].text:
            return []
        found = launches_of(
            words,
            env,
            name=name,
            file=self.file,
            spot=first.spot,
            given=self.given,
            notes=notes,
            isolated=True,
            forwarded=self._passed() - env.keys() - removed,
        )
        return [_without(each, removed) for each in with_unseen(found, self._unseen())]

    def _in_login_shell(self, name: str, words: list[Written]) -> list[Found]:
        if not any("sglang" in word.text for word in words):
            return []
        reason = "`|` hands the command to the login shell of the user, which is not known; leave `|` out"
        return [UnreadLaunch(name, self.file, words[0].spot, reason)]

    def _value(self, variable: str, env: Mapping[str, Written], removed: frozenset[str]) -> str | None:
        value = env[variable].text if variable in env else None
        if value is None:
            value = "" if variable in removed else self.given.get(variable)
        self.filled += len(value or "")
        if self.filled > _MAX_FILLED:
            raise BadInput("the variables in its commands fill over 8 MB; write the command out", self.file)
        return value


def _without(found: Found, removed: frozenset[str]) -> Found:
    if isinstance(found, UnreadLaunch) or not removed:
        return found
    launch = found.launch
    return replace(found, launch=replace(launch, unset=launch.unset | (removed - launch.env.keys())))
