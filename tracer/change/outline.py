"""What reaching through a file needs of it: its definitions, the names in their code, its imports.

An outline is plain data, so that it can be kept on disk: reading one costs a hundredth of parsing.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from pathtrace.tracer.handoff.definitions import Binding, bindings, top_level

Target = tuple[str, str]
"""A module, and a name in it."""


class Entry(NamedTuple):
    """A class or function at the top level of a file.

    Attributes:
        line: where it begins.
        is_class: whether it is a class.
        bases: names that a class inherits from.
        methods: its methods, each with its line and whether it is abstract.
        names: every name in its code that the file, or an import inside, gives a meaning.
        imports: names that its own statements import, and what they stand for.
    """

    line: int
    is_class: bool
    bases: Sequence[str]
    methods: Sequence[tuple[str, int, bool]]
    names: Sequence[str]
    imports: Mapping[str, Target]


class Outline(NamedTuple):
    """A file.

    Attributes:
        entries: its classes and functions.
        imports: names that it binds at the top level by an import.
        aliases: names that it binds to other names.
        everywhere: what every import in it names, wherever that stands.
    """

    entries: Mapping[str, Entry]
    imports: Mapping[str, Target]
    aliases: Mapping[str, str]
    everywhere: Sequence[Target]


def outline(data: bytes, module: str, is_package: bool) -> Outline:
    """The outline of a file; an empty one where it is not Python."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Outline({}, {}, {}, ())
    entries: dict[str, Entry] = {}
    imports: dict[str, Target] = {}
    aliases: dict[str, str] = {}
    table: dict[str, Binding] = {}
    for item in top_level(tree.body):
        table.update(bindings(item, module, is_package))
    for name, bound in table.items():
        if isinstance(bound, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            entries[name] = _entry(bound, module, is_package, table.keys())
        elif isinstance(bound, tuple):
            imports[name] = bound
        elif isinstance(bound, ast.Name):
            aliases[name] = bound.id
    return Outline(entries, imports, aliases, tuple(_imported(tree, module, is_package).values()))


def _entry(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, module: str, is_package: bool, bound: Set[str]
) -> Entry:
    imports = _imported(node, module, is_package)
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
            names.add(part.value)  # an annotation in quotes
    body, bases = (node.body, node.bases) if isinstance(node, ast.ClassDef) else ([], [])
    return Entry(
        line=node.lineno,
        is_class=isinstance(node, ast.ClassDef),
        bases=tuple(base.id for base in bases if isinstance(base, ast.Name)),
        methods=tuple(
            (each.name, each.lineno, any("abstractmethod" in ast.unparse(mark) for mark in each.decorator_list))
            for each in body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        names=tuple(sorted(names & (bound | imports.keys()))),
        imports=imports,
    )


def _imported(node: ast.AST, module: str, is_package: bool) -> dict[str, Target]:
    found: dict[str, Target] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.ImportFrom):
            bound = bindings(part, module, is_package)
            found.update({name: place for name, place in bound.items() if isinstance(place, tuple)})
    return found


def from_plain(data: Any) -> Outline:
    """An outline that JSON has kept: it is the same lists and mappings."""
    entries, imports, aliases, everywhere = data
    return Outline({name: Entry(*entry) for name, entry in entries.items()}, imports, aliases, everywhere)
