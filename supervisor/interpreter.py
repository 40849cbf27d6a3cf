"""Which Python a command starts, with which flags, and what stands before it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathtrace.supervisor.processes import program

_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)*[dtw]?")
_FLAGS = re.compile(r"-([bBdEhiIOPqsSuvVx?]*)([cmWX]?)(.*)", re.DOTALL)
_SHEBANG_READ = 512
_MOST_WORDS = 200
# They start a Python of an environment of their own.
CHOOSERS = frozenset(("uv", "poetry", "pipenv", "pdm", "hatch", "pixi", "conda", "mamba", "micromamba", "pyenv"))
CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "apptainer", "singularity", "enroot", "ssh"))
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))


@dataclass(frozen=True)
class Starts:
    """The Python that a command starts.

    Attributes:
        python: its file, None where that is not known.
        why_unknown: one sentence, where it is not.
        flags: its one-letter flags that take no value.
        before: the words in front of it.
    """

    python: str | None
    why_unknown: str | None = None
    flags: frozenset[str] = frozenset()
    before: tuple[str, ...] = ()


def interpreter_of(words: Sequence[str], environ: Mapping[str, str]) -> Starts:
    """The Python that ``words`` start in ``environ``, found without running anything."""
    for index, word in enumerate(words[:_MOST_WORDS]):
        before = tuple(words[:index])
        names = {os.path.basename(each) for each in before}
        if os.path.basename(word) in SHELLS and any(re.fullmatch(r"-\w*c", each) for each in words[index + 1 :]):
            return Starts(None, f"what {word} -c starts is not looked at", before=tuple(words[: index + 1]))
        if _PYTHON.fullmatch(os.path.basename(word)):
            flags = _flags(words[index + 1 :])
            return _found(word, flags, before, names, environ)
        if not word.startswith("-") and (index == 0 or os.path.basename(word) == "sglang"):
            shebang = _shebang(word, environ)
            if shebang is not None:
                return _found(shebang[0], _flags(shebang[1:]), before, names, environ)
    return Starts(None, "no Python interpreter is found in the command", before=tuple(words[:1]))


def _found(
    word: str, flags: frozenset[str], before: tuple[str, ...], names: set[str], environ: Mapping[str, str]
) -> Starts:
    elsewhere = sorted(names & (CHOOSERS | CONTAINERS))
    if elsewhere:
        return Starts(None, f"which interpreter {elsewhere[0]} starts is not known here", flags, before)
    try:
        return Starts(program(word, environ), None, flags, before)
    except OSError as problem:
        return Starts(None, str(problem), flags, before)


def _flags(words: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    index = 0
    while index < len(words):
        match = _FLAGS.fullmatch(words[index])
        if match is None or words[index] == "-":
            break
        letters, valued, attached = match.groups()
        found |= set(letters)
        if valued in ("c", "m") or (not valued and attached):
            break
        index += 2 if valued and not attached else 1
    return frozenset(found)


def _shebang(word: str, environ: Mapping[str, str]) -> list[str] | None:
    """Interpreter and flags in the first line of a script, None where it is none of Python."""
    try:
        with open(program(word, environ), "rb") as stream:
            first = stream.read(_SHEBANG_READ).split(b"\n", 1)[0].decode("utf-8", "replace")
    except OSError:
        return None
    parts = first[2:].split() if first.startswith("#!") else []
    if parts and os.path.basename(parts[0]) == "env":
        parts = [part for part in parts[1:] if part != "-S"]
    return parts if parts and _PYTHON.fullmatch(os.path.basename(parts[0])) else None
