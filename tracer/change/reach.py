"""Which classes and functions of the workers' package a worker can ever use, by the names in its code.

This is generous: what is named anywhere in the code of a class counts as used by it. What is left over is
used by other workers alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set
from functools import cached_property

from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.definitions import Definition, Definitions, bindings
from pathtrace.tracer.handoff.find import WORKERS, workers
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.python_files import CLIENTS, python_files

_SERVER = "sglang/srt"
_PACKAGE = WORKERS.replace("/", ".")

Place = tuple[str, int]
"""File and line of a definition."""


class Reach:
    """The definitions that the workers of a tree reach.

    Args:
        tree: the tree.
        loaded: module and name of the workers that may be loaded.
    """

    def __init__(self, tree: Tree, loaded: Iterable[tuple[str, str]]) -> None:
        self.tree = tree
        self.loaded = set(loaded)
        self.definitions = Definitions(Sources(tree))
        self.workers = {(module, name) for name, module in workers(tree, self.definitions).items()}

    def of_worker(self, module: str, name: str) -> dict[Place, Definition]:
        """What a worker's class names, and what that names; other workers are not entered, its bases are."""
        cls = self.definitions.find(module, name)
        if cls is None:
            return {}
        own = {(each.module, each.node.name) for each in self.definitions.line(cls)}
        return self._closure([cls], self.workers - own)

    @cached_property
    def of_loaded(self) -> dict[Place, Definition]:
        """What the loaded workers reach."""
        return {place: each for worker in self.loaded for place, each in self.of_worker(*worker).items()}

    @cached_property
    def of_others(self) -> frozenset[Place]:
        """What some other worker reaches."""
        return frozenset(place for worker in self.workers - self.loaded for place in self.of_worker(*worker))

    @cached_property
    def of_server(self) -> frozenset[Place]:
        """What the rest of the server imports from the package, and what that names; no worker is entered."""
        roots: list[Definition] = []
        for path, data in python_files(self.tree, _SERVER, CLIENTS):
            if path.startswith(WORKERS + "/") or _PACKAGE.encode() not in data:
                continue
            try:
                module = ast.parse(data)
            except (SyntaxError, ValueError, RecursionError):
                continue
            roots += self._imported(module, path[:-3].replace("/", "."))
        return frozenset(self._closure(roots, self.workers))

    def _imported(self, tree: ast.Module, module: str) -> Iterable[Definition]:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(_PACKAGE)):
                for binding in bindings(node, module, False).values():
                    found = self.definitions.find(*binding) if isinstance(binding, tuple) else None
                    if found is not None and found.file.startswith(WORKERS + "/"):
                        yield found

    def _closure(self, roots: Iterable[Definition], closed: Set[tuple[str, str]]) -> dict[Place, Definition]:
        found: dict[Place, Definition] = {}
        waiting = list(roots)
        while waiting:
            current = waiting.pop()
            place = (current.file, current.node.lineno)
            if place in found or (current.module, current.node.name) in closed:
                continue
            if not current.file.startswith(WORKERS + "/"):
                continue
            found[place] = current
            for item in current.node.body if isinstance(current.node, ast.ClassDef) else ():
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                    method = Definition(item, current.module, current.file, current.node.name)
                    found[method.file, item.lineno] = method
            waiting += self._named(current)
        return found

    def _named(self, definition: Definition) -> Iterable[Definition]:
        """What the names in a definition stand for."""
        package = self.definitions.is_package(definition.module)
        local: dict[str, tuple[str, str]] = {}
        names: set[str] = set()
        for node in ast.walk(definition.node):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                names.add(node.value)  # an annotation in quotes
            elif isinstance(node, ast.ImportFrom):
                bound = bindings(node, definition.module, package)
                local.update({name: place for name, place in bound.items() if isinstance(place, tuple)})
        for name in names:
            found = self.definitions.find(*local.get(name, (definition.module, name)))
            if found is not None:
                yield found
