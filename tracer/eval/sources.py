"""The tree's modules: found by dotted name, parsed once, shared by evaluations."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass

from pathtrace.tracer.tree.model import Tree

_WORDS = re.compile(rb"[A-Za-z_][\w.]*")
_ASSIGNED = re.compile(rb"self\.(\w+)\s*(?:,|:|=(?!=))")
_COMMENTS = re.compile(rb"#[^\n]*")


@dataclass(frozen=True)
class Source:
    """Where a module is."""

    name: str
    path: str
    is_package: bool


class Sources:
    """Parsed modules of one tree.

    ``probes`` records every path that was asked for, present or not: an answer depends on all of them.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.probes: dict[str, bytes | None] = {}
        self.broken: dict[str, tuple[str, int]] = {}
        self._found: dict[str, Source | None] = {}
        self._bodies: dict[str, list[ast.stmt] | None] = {}
        self._mentions: dict[str, Counter[str]] = {}
        self.asked: dict[str, set[str]] = {}
        self._assignments: dict[str, dict[str, list[int]]] = {}
        self._lines: dict[str, list[str]] = {}
        self.namespace_dirs: set[str] = set()

    def read(self, path: str) -> bytes | None:
        """A file's bytes, remembered as something the answer depends on."""
        if path not in self.probes:
            self.probes[path] = self.tree.read(path)
        return self.probes[path]

    def find(self, name: str) -> Source | None:
        """The module of this name, or None. A folder without ``__init__.py`` is a namespace package."""
        if name in self._found:
            return self._found[name]
        source: Source | None = None
        base = name.replace(".", "/")
        if all(part.isidentifier() for part in name.split(".")):
            for path, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
                if self.read(path) is not None:
                    source = Source(name, path, is_package)
                    break
            else:
                if self.tree.is_dir(base):
                    self.namespace_dirs.add(base)
                    source = Source(name, f"{base}/__init__.py", True)
        self._found[name] = source
        return source

    def body(self, name: str) -> list[ast.stmt] | None:
        """The statements of a module; None where the file is not Python (see ``broken``)."""
        if name in self._bodies:
            return self._bodies[name]
        source = self.find(name)
        body: list[ast.stmt] | None = None
        if source is not None:
            data = self.read(source.path)
            if data is None:
                body = []
            else:
                try:
                    body = ast.parse(data, source.path).body
                except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                    self.broken[source.path] = (str(error), getattr(error, "lineno", None) or 1)
        self._bodies[name] = body
        return body

    def mentions(self, module: str, name: str) -> int:
        """How often a name (or dotted name) stands in a module's text, comments left out."""
        source = self.find(module)
        found = self._mentions.get(module)
        if found is None:
            data = (self.read(source.path) if source is not None else None) or b""
            found = self._mentions[module] = mentions_in(data)
        if source is not None:
            self.asked.setdefault(source.path, set()).add(name)
        return found[name]

    def assignments(self, path: str) -> dict[str, list[int]]:
        """Lines that may assign ``self.NAME``, by name: where to look, not what is there."""
        found = self._assignments.get(path)
        if found is None:
            found = self._assignments[path] = {}
            data = self.read(path) or b""
            for number, text in enumerate(data.split(b"\n"), 1):
                for match in _ASSIGNED.finditer(text):
                    found.setdefault(match.group(1).decode("ascii", "replace"), []).append(number)
        return found

    def line(self, path: str, number: int) -> str:
        """One line of source, stripped."""
        lines = self._lines.get(path)
        if lines is None:
            data = self.read(path)
            lines = self._lines[path] = data.decode("utf-8", "replace").split("\n") if data is not None else []
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def mentions_in(data: bytes) -> Counter[str]:
    """How often each name and dotted name stands in a file, comments left out."""
    found: Counter[str] = Counter()
    for word, count in Counter(_WORDS.findall(_COMMENTS.sub(b"", data))).items():
        parts = word.decode("utf-8", "replace").split(".")
        for end in range(1, len(parts) + 1):
            found[".".join(parts[:end])] += count
    return found
