"""The environment that a program in a launch gets, while its prefixes are taken off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pathtrace.tracer.launch.expand import SEARCH_PATHS, Shell, Unresolved, unresolved
from pathtrace.tracer.launch.model import Outside

_NAME_VALUE = re.compile(r"([^\s=]+)=(.*)", re.DOTALL)


@dataclass
class Surroundings:
    """Variables set, removed and let through; the fields are those of ``Launch``."""

    env: dict[str, str] = field(default_factory=dict)
    unset: set[str] = field(default_factory=set)
    outside: Outside = "kept"
    forwarded: set[str] = field(default_factory=set)
    unexported: dict[str, str] = field(default_factory=dict)
    unparsed: list[str] = field(default_factory=list)

    def put(self, name: str, value: str) -> None:
        """Set a variable for the program."""
        self.env[name] = value
        self.unset.discard(name)
        self.forwarded.discard(name)

    def put_known(self, name: str, value: str | Unresolved) -> None:
        """Set a variable, or note a search path that only extends the caller's.

        Raises:
            BadInput: any other value that the launch does not state.
        """
        if isinstance(value, str):
            self.put(name, value)
        elif name in SEARCH_PATHS:
            self.unparsed.append(value.source)
        else:
            raise unresolved(value.source)

    def drop(self, name: str) -> None:
        """Take a variable away from the program."""
        self.env.pop(name, None)
        self.unset.add(name)
        self.forwarded.discard(name)

    def isolate(self, outside: Outside) -> None:
        """Start from an empty environment into which ``outside`` is let."""
        self.env.clear()
        self.unset.clear()
        self.forwarded.clear()
        self.unexported.clear()
        self.outside = outside

    def restrict(self, names: Iterable[str]) -> None:
        """Keep only these names of the caller's and of the launch's own environment."""
        kept = set(names) - self.unset
        env = {name: value for name, value in self.env.items() if name in kept}
        through = {name for name in kept - env.keys() if self.outside == "kept" or name in self.forwarded}
        self.isolate("none" if self.outside == "none" else "given")
        self.env.update(env)
        self.forwarded.update(through)

    def enter_container(self, settings: Iterable[str]) -> None:
        """Leave the caller's environment for a container's, with ``K=V`` and ``K`` passed in."""
        before = Surroundings(dict(self.env), set(self.unset), self.outside, set(self.forwarded))
        self.isolate("given")
        for setting in settings:
            name, equals, value = setting.partition("=")
            if equals:
                self.put(name, value)
            elif name in before.env:
                self.put(name, before.env[name])
            elif name not in before.unset and (before.outside == "kept" or name in before.forwarded):
                self.forwarded.add(name)

    def take_settings(self, words: list[str]) -> list[str]:
        """Apply the leading ``K=V`` words and return the rest."""
        taken = 0
        for word in words:
            match = None if word.startswith("-") else _NAME_VALUE.fullmatch(word)
            if match is None:
                break
            self.put(match.group(1), match.group(2))
            taken += 1
        return words[taken:]

    def as_shell(self) -> Shell:
        """A shell started in these surroundings."""
        return Shell(values=dict(self.env), exported=set(self.env), unset=set(self.unset))


def surroundings_of(shell: Shell, base: Surroundings) -> Surroundings:
    """What a program started from ``shell`` gets, the shell itself having started in ``base``.

    Raises:
        BadInput: an exported variable whose value the launch does not state.
    """
    around = Surroundings(
        unset=set(shell.unset),
        outside=base.outside,
        forwarded=base.forwarded - shell.unset - shell.exported,
        unparsed=[*base.unparsed, *shell.skipped],
    )
    for name, value in shell.values.items():
        if name in shell.exported:
            around.put_known(name, value)
        elif isinstance(value, str):
            around.unexported[name] = value
    return around
