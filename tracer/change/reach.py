"""Which classes and functions of the workers' package a worker can ever use, by the names in its code.

This is generous: what is named anywhere in the code of a class counts as used by it. What is left over is
used by other workers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property

from pathtrace.tracer.change.outline import Entry
from pathtrace.tracer.change.outlines import Outlines, module_of
from pathtrace.tracer.handoff.worker import ENTRIES
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.python_files import CLIENTS, python_paths

WORKERS = "sglang/srt/speculative"
_SERVER = "sglang/srt"
_PACKAGE = WORKERS.replace("/", ".")
_MOST_STEPS = 8
_MOST_BASES = 60

Place = tuple[str, int]
"""File and line of a definition."""


@dataclass(frozen=True)
class Reached:
    """A class or function that is used.

    Attributes:
        name: its own name.
        module: dotted name of its module.
        file: path in the tree.
        line: where it begins.
        owner: the class that a method belongs to, or None.
        is_class: whether it is a class.
    """

    name: str
    module: str
    file: str
    line: int
    owner: str | None = None
    is_class: bool = False

    @property
    def full_name(self) -> str:
        """``Class.method``, ``Class`` or ``function``."""
        return self.name if self.owner is None else f"{self.owner}.{self.name}"


class Reach:
    """The definitions that the workers of a tree reach.

    Args:
        tree: the tree.
        loaded: module and name of the workers that may be loaded.
    """

    def __init__(self, tree: Tree, loaded: Iterable[tuple[str, str]]) -> None:
        self.tree = tree
        self.loaded = set(loaded)
        self.outlines = Outlines(tree)
        self._paths: dict[str, str | None] = {}
        self.workers = frozenset(self._workers())

    def of_worker(self, module: str, name: str) -> dict[Place, Reached]:
        """What a worker's class names, and what that names; other workers are not entered, its bases are."""
        cls = self.find(module, name)
        if cls is None:
            return {}
        own = {(each.module, each.name) for each in self.line(cls)}
        return self._closure([cls], self.workers - own)

    @cached_property
    def of_loaded(self) -> dict[Place, Reached]:
        """What the loaded workers reach."""
        return {place: each for worker in self.loaded for place, each in self.of_worker(*worker).items()}

    @cached_property
    def files_of_loaded(self) -> tuple[str, ...]:
        """The files of the loaded classes, and behind them those of their bases, nearest first."""
        found = [cls for worker in sorted(self.loaded) if (cls := self.find(*worker)) is not None]
        lines = [each.file for cls in found for each in self.line(cls)[1:]]
        return tuple(dict.fromkeys([*(cls.file for cls in found), *lines]))

    @cached_property
    def of_others(self) -> frozenset[Place]:
        """What some other worker reaches."""
        return frozenset(place for worker in self.workers - self.loaded for place in self.of_worker(*worker))

    @cached_property
    def of_server(self) -> frozenset[Place]:
        """What the rest of the server imports from the package, and what that names; no worker is entered."""
        roots: list[Reached] = []
        for path in self.outlines.mentioning(_PACKAGE.encode(), _SERVER, CLIENTS):
            outlined = None if path.startswith(WORKERS + "/") else self.outlines.of(path)
            for module, name in () if outlined is None else outlined.everywhere:
                found = self.find(module, name)
                if found is not None and found.file.startswith(WORKERS + "/"):
                    roots.append(found)
        return frozenset(self._closure(roots, self.workers))

    def find(self, module: str, name: str) -> Reached | None:
        """What a name of a module stands for, through imports and plain aliases; None for anything else."""
        for _ in range(_MOST_STEPS):
            path = self._path(module)
            outlined = None if path is None else self.outlines.of(path)
            if path is None or outlined is None:
                return None
            entry = outlined.entries.get(name)
            if entry is not None:
                return Reached(name, module, path, entry.line, None, entry.is_class)
            if name in outlined.imports:
                module, name = outlined.imports[name]
            elif name in outlined.aliases:
                name = outlined.aliases[name]
            else:
                return None
        return None

    def line(self, cls: Reached) -> tuple[Reached, ...]:
        """A class and the bases that the tree has, nearest first."""
        found: dict[tuple[str, str], Reached] = {}
        waiting = [cls]
        while waiting and len(found) < _MOST_BASES:
            current = waiting.pop(0)
            if (current.module, current.name) not in found:
                found[current.module, current.name] = current
                bases = (self.find(current.module, base) for base in self._entry(current).bases)
                waiting[:0] = [base for base in bases if base is not None and base.is_class]
        return tuple(found.values())

    def _workers(self) -> Iterable[tuple[str, str]]:
        """Classes whose entry method has a body of its own in the workers' package."""
        for path in python_paths(self.tree, WORKERS):
            outlined = self.outlines.of(path)
            for name, entry in () if outlined is None else outlined.entries.items():
                cls = Reached(name, module_of(path), path, entry.line, None, entry.is_class)
                if entry.is_class and self._is_worker(cls):
                    yield cls.module, name

    def _is_worker(self, cls: Reached) -> bool:
        for each in self.line(cls):
            own = {name: abstract for name, _line, abstract in self._entry(each).methods}
            for wanted in ENTRIES:
                if wanted in own:
                    return each.file.startswith(WORKERS + "/") and not own[wanted]
        return False

    def _entry(self, reached: Reached) -> Entry:
        outlined = self.outlines.of(reached.file)
        assert outlined is not None
        return outlined.entries[reached.name]

    def _path(self, module: str) -> str | None:
        if module not in self._paths:
            base = module.replace(".", "/")
            named = all(part.isidentifier() for part in module.split("."))
            paths = (f"{base}/__init__.py", f"{base}.py") if named else ()
            self._paths[module] = next((path for path in paths if self.outlines.of(path) is not None), None)
        return self._paths[module]

    def _closure(self, roots: Iterable[Reached], closed: Set[tuple[str, str]]) -> dict[Place, Reached]:
        found: dict[Place, Reached] = {}
        waiting = list(roots)
        while waiting:
            current = waiting.pop()
            place = (current.file, current.line)
            if place in found or (current.module, current.name) in closed:
                continue
            if not current.file.startswith(WORKERS + "/"):
                continue
            found[place] = current
            entry = self._entry(current)
            for method, line, _abstract in entry.methods:
                found[current.file, line] = Reached(method, current.module, current.file, line, current.name)
            targets = (self.find(*entry.imports.get(name, (current.module, name))) for name in entry.names)
            waiting += [each for each in targets if each is not None]
        return found
