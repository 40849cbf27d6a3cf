"""Classes and functions of a tree, found by name through its imports; nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pathtrace.tracer.eval.sources import Sources

_MOST_STEPS = 8
_MOST_BASES = 60


@dataclass(frozen=True)
class Definition:
    """A class or a function, and where it stands.

    Attributes:
        node: its syntax.
        module: dotted name of its module.
        file: path in the tree.
        owner: the class that a method belongs to, or None.
    """

    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    module: str
    file: str
    owner: str | None = None

    @property
    def name(self) -> str:
        """``Class.method``, ``Class`` or ``function``."""
        return self.node.name if self.owner is None else f"{self.owner}.{self.node.name}"

    @property
    def parameters(self) -> tuple[ast.arg, ...]:
        """The positional parameters of a function; of a class, none."""
        if isinstance(self.node, ast.ClassDef):
            return ()
        return (*self.node.args.posonlyargs, *self.node.args.args)

    def is_property(self) -> bool:
        """Whether reading it as an attribute calls it."""
        return any(
            ast.unparse(each).split(".")[-1] in ("property", "cached_property") for each in self.node.decorator_list
        )

    def takes_class(self) -> bool:
        """Whether it is a class method."""
        return any(isinstance(each, ast.Name) and each.id == "classmethod" for each in self.node.decorator_list)

    def is_static(self) -> bool:
        """Whether it takes no instance."""
        return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in self.node.decorator_list)


Binding = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | tuple[str, str] | ast.expr


class Definitions:
    """Looks names up in modules.

    Args:
        sources: the modules of the tree.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._tables: dict[str, dict[str, Binding]] = {}
        self._lines: dict[tuple[str, str], tuple[Definition, ...]] = {}
        self._assignments: dict[ast.AST, dict[str, list[ast.expr]]] = {}

    def find(self, module: str, name: str) -> Definition | None:
        """What a name of a module stands for, through imports and plain aliases; None for anything else."""
        for _ in range(_MOST_STEPS):
            binding = self.table(module).get(name)
            source = self.sources.find(module)
            if binding is None or source is None:
                return None
            if isinstance(binding, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                return Definition(binding, module, source.path)
            if isinstance(binding, tuple):
                module, name = binding
            elif isinstance(binding, ast.Name):
                name = binding.id
            else:
                return None
        return None

    def table(self, module: str) -> dict[str, Binding]:
        """The names that a module binds at its top level, also under ``if`` and ``try``."""
        known = self._tables.get(module)
        if known is None:
            known = self._tables[module] = {}
            for item in top_level(self.sources.body(module) or []):
                known.update(bindings(item, module, self.is_package(module)))
        return known

    def is_package(self, module: str) -> bool:
        """Whether a module is a package."""
        source = self.sources.find(module)
        return source is not None and source.is_package

    def line(self, cls: Definition) -> tuple[Definition, ...]:
        """A class and the bases that the tree has, nearest first."""
        key = (cls.module, cls.node.name)
        known = self._lines.get(key)
        if known is None:
            found: dict[tuple[str, str], Definition] = {}
            waiting = [cls]
            while waiting and len(found) < _MOST_BASES:
                current = waiting.pop(0)
                if (current.module, current.node.name) in found:
                    continue
                found[current.module, current.node.name] = current
                nearer: list[Definition] = []
                for base in current.node.bases if isinstance(current.node, ast.ClassDef) else ():
                    inherited = self.find(current.module, base.id) if isinstance(base, ast.Name) else None
                    if inherited is not None and isinstance(inherited.node, ast.ClassDef):
                        nearer.append(inherited)
                waiting[:0] = nearer
            known = self._lines[key] = tuple(found.values())
        return known

    def method(self, cls: Definition, name: str, after: Definition | None = None) -> Definition | None:
        """A method of a class or of its nearest base; with ``after``, of a base behind that one."""
        line = self.line(cls)
        if after is not None:
            places = [index for index, each in enumerate(line) if each.node is after.node]
            line = line[places[0] + 1 :] if places else ()
        return next((found for each in line if (found := own_method(each, name)) is not None), None)

    def attribute(self, cls: Definition, name: str) -> tuple[Definition, ast.expr] | None:
        """The class whose methods set ``self.name`` to a call or a parameter, and that value.

        The nearest class that sets it decides; in it, an assignment of a call comes first.
        """
        for each in self.line(cls):
            found: list[ast.expr] = []
            for item in each.node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == name:
                    found.append(item.annotation)
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                    found += self._assigned(item).get(name, ())
            calls = [value for value in found if isinstance(value, ast.Call)]
            if calls or found:
                return each, (calls or found)[0]
        return None

    def _assigned(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
        """What a method assigns to attributes, by their names."""
        known = self._assignments.get(function)
        if known is None:
            known = self._assignments[function] = {}
            for name, value in _assignments(function):
                if value is not None:
                    known.setdefault(name, []).append(value)
        return known

    def of_annotation(self, module: str, annotation: ast.expr | None) -> Definition | None:
        """The class that an annotation names, ``Optional`` and quotes aside."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).split(".")[-1] == "Optional":
            annotation = annotation.slice
        if isinstance(annotation, ast.BinOp):
            annotation = annotation.left
        if not isinstance(annotation, ast.Name):
            return None
        found = self.find(module, annotation.id)
        return found if found is not None and isinstance(found.node, ast.ClassDef) else None


def own_method(cls: Definition, name: str) -> Definition | None:
    """A method that a class itself defines."""
    for item in cls.node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == name:
            return Definition(item, cls.module, cls.file, cls.node.name)
    return None


def bindings(item: ast.stmt, module: str, is_package: bool) -> dict[str, Binding]:
    """The names that one statement binds, and to what; of an import, the module and the name there."""
    if isinstance(item, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {item.name: item}
    if isinstance(item, ast.Assign) and isinstance(item.value, ast.Name):
        return {target.id: item.value for target in item.targets if isinstance(target, ast.Name)}
    if isinstance(item, ast.ImportFrom):
        base = item.module or ""
        if item.level:
            parts = module.split(".")
            kept = parts[: len(parts) - item.level + (1 if is_package else 0)]
            base = ".".join([*kept, base] if base else kept)
        return {alias.asname or alias.name: (base, alias.name) for alias in item.names}
    return {}


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module does, also those under ``if`` and ``try``."""
    for item in body:
        if isinstance(item, ast.If | ast.Try):
            yield from top_level([*item.body, *item.orelse])
            if isinstance(item, ast.Try):
                yield from top_level([part for handler in item.handlers for part in handler.body])
        else:
            yield item


def _assignments(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, ast.expr | None]]:
    """Each ``x.NAME = value`` of a method: the name, and the value as far as it says what is made."""
    annotations = {arg.arg: arg.annotation for arg in reversed((*function.args.args, *function.args.kwonlyargs))}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    value = node.value
                    if isinstance(value, ast.Name):  # a parameter: its annotation says what it is
                        value = annotations.get(value.id)
                    while isinstance(value, ast.IfExp):  # ``Worker(...) if hosted else None``
                        value = value.body if isinstance(value.body, ast.Call) else value.orelse
                    if isinstance(node, ast.AnnAssign) and not isinstance(value, ast.Call):
                        value = node.annotation
                    yield target.attr, value
