"""What looks like the hand-off and is not run: other workers' statements, and functions of the same names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from pathtrace.tracer.handoff.model import FunctionRole, Site, SiteKind
from pathtrace.tracer.handoff.statements import Statement, functions_of, text_of


def look_alikes(
    files: dict[str, ast.Module], lines: dict[str, list[str]], field: str, run: Set[tuple[str, int]]
) -> tuple[Site, ...]:
    """Statements about ``field`` in functions that are not run.

    Args:
        files: parsed files of the workers' package, by path.
        lines: their lines.
        field: the attribute.
        run: file and line of every function that is run.
    """
    found: list[Site] = []
    for path, module in files.items():
        for function in functions_of(module):
            if (path, function.node.lineno) in run:
                continue
            for statement in function.statements:
                kind = _kind(statement.node, field)
                if kind is not None:
                    found.append(
                        Site(
                            kind,
                            path,
                            statement.node.lineno,
                            text_of(lines[path], statement.node.lineno),
                            function.name,
                            False,
                        )
                    )
    return tuple(found)


def same_names(files: dict[str, ast.Module], names: Set[str], run: Set[tuple[str, int]]) -> Iterator[FunctionRole]:
    """Functions of these names that are not run, with the statements off the path that call them."""
    for path, module in files.items():
        functions = list(functions_of(module))
        for function in functions:
            bare = function.node.name
            if bare not in names or (path, function.node.lineno) in run:
                continue
            called = [
                f"{path}:{line}"
                for caller in functions
                if (path, caller.node.lineno) not in run
                for statement in caller.statements
                for line in _calls(statement, bare)
            ]
            yield FunctionRole(function.name, path, function.node.lineno, (), tuple(called), False)


def _calls(statement: Statement, name: str) -> Iterator[int]:
    """Lines on which a statement calls a function or method of this name."""
    for part in statement.parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and _named(node.func) == name:
                yield node.func.end_lineno or node.lineno


def _named(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _kind(statement: ast.stmt, field: str) -> SiteKind | None:
    """What a statement does with a field or a variable of this name, by its form alone."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    flat = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    value = getattr(statement, "value", None)
    for target in flat:
        if isinstance(target, ast.Attribute):
            if target.attr == field:
                return "stores"
            if _named(target.value) == field:
                return "fills"
            if value is not None and _named(value) == field:
                return "stores"
        elif isinstance(target, ast.Name) and target.id == field:
            if isinstance(value, ast.Attribute):
                return "fetches"
            return "creates" if isinstance(value, ast.Call) else None
    if isinstance(statement, ast.Return) and isinstance(value, ast.Name) and value.id == field:
        return "returns"
    if isinstance(statement, ast.Return | ast.Assign | ast.Expr) and value is not None:
        for node in ast.walk(value):
            if isinstance(node, ast.keyword) and node.arg == field:
                return "stores"
    return None
