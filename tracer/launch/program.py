"""The program at the front of a command: is it an SGLang server, and which words are its own?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

SCAN_LIMIT = 200
_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)*[dtw]?(?:\.exe)?")
_CLUSTER = re.compile(r"-([bBdEhiIOPqsSuvVx?]*)([cmWX])(.*)", re.DOTALL)
_NO_VALUE = re.compile(r"-[bBdEhiIOPqsSuvVx?]+")
_RUNNERS = frozenset(["cProfile", "profile", "pdb", "trace", "debugpy", "memray", "coverage", "viztracer", "scalene"])


@dataclass(frozen=True)
class Program:
    """A server and its words."""

    entry: Literal["launch_server", "serve", "bare"]
    argv: tuple[str, ...]


@dataclass(frozen=True)
class PythonCode:
    """``python -c CODE``."""

    code: str


def basename(word: str) -> str:
    """Last part of a path, on either kind of slash."""
    return word.replace("\\", "/").rpartition("/")[2]


def is_python(word: str) -> bool:
    """Whether a word names a Python interpreter."""
    return _PYTHON.fullmatch(basename(word)) is not None


def recognise(words: list[str]) -> Program | PythonCode | None:
    """The program that ``words`` start, or None when it is no SGLang server."""
    if not words:
        return None
    if words[0].startswith("-"):
        return Program("bare", tuple(words))
    if is_python(words[0]):
        return _python(words[1:])
    return _script(words[0], words[1:])


def scan(words: list[str]) -> tuple[int, Program | PythonCode] | None:
    """The first server that starts further on: after a runner's options, or as ``-m MODULE``."""
    for index in range(1, min(len(words), SCAN_LIMIT)):
        word = words[index]
        found: Program | PythonCode | None = None
        if word in ("-m", "--module") and index + 1 < len(words):
            found = _module(words[index + 1], words[index + 2 :])
        elif not word.startswith("-"):
            found = recognise(words[index:])
        if found is not None:
            return index, found
    return None


def _python(words: list[str]) -> Program | PythonCode | None:
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("-"):
            return _script(word, words[index + 1 :])
        if word == "--check-hash-based-pycs":
            index += 2
            continue
        if match := _CLUSTER.fullmatch(word):
            option, value = match.group(2), match.group(3)
            after = index + 1
            if not value:
                if after >= len(words):
                    return None
                value, after = words[after], after + 1
            if option == "m":
                return _module(value, words[after:])
            if option == "c":
                return PythonCode(value)
            index = after
            continue
        if not _NO_VALUE.fullmatch(word):
            return None
        index += 1
    return None


def _module(module: str, rest: list[str]) -> Program | PythonCode | None:
    if module == "sglang.launch_server":
        return Program("launch_server", tuple(rest))
    if module in ("sglang", "sglang.cli", "sglang.cli.main"):
        return _serve(rest)
    if module in _RUNNERS:
        found = scan([module, *rest])
        return found[1] if found else None
    return None


def _script(path: str, rest: list[str]) -> Program | None:
    parts = path.replace("\\", "/").split("/")
    if parts[-1] == "launch_server.py" and "sglang_router" not in parts:
        return Program("launch_server", tuple(rest))
    if parts[-1] in ("sglang", "sglang.exe") or parts[-3:] == ["sglang", "cli", "main.py"]:
        return _serve(rest)
    return None


def _serve(rest: list[str]) -> Program | None:
    return Program("serve", tuple(rest[1:])) if rest[:1] == ["serve"] else None
