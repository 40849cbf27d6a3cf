"""The functions and statements of a file, as they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A simple statement, or the head of a compound one.

    Attributes:
        node: the statement.
        parts: its own expressions, without the statements inside it.
        tests: the ``if`` conditions that it stands under, each with whether it holds.
    """

    node: ast.stmt
    parts: tuple[ast.AST, ...]
    tests: tuple[tuple[ast.expr, bool], ...]


@dataclass(frozen=True)
class SourceFunction:
    """A function or method of a file: ``Class.method``, its syntax, its statements in order."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    statements: tuple[Statement, ...]


def functions_of(module: ast.Module) -> Iterator[SourceFunction]:
    """Functions at the top level, and methods of classes there."""
    for item in module.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            yield SourceFunction(item.name, item, tuple(_statements(item.body, ())))
        elif isinstance(item, ast.ClassDef):
            for method in item.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield SourceFunction(f"{item.name}.{method.name}", method, tuple(_statements(method.body, ())))


def _statements(body: list[ast.stmt], tests: tuple[tuple[ast.expr, bool], ...]) -> Iterator[Statement]:
    for item in body:
        inner = [value for _name, value in ast.iter_fields(item) if isinstance(value, list)]
        blocks = [value for value in inner if value and isinstance(value[0], ast.stmt)]
        handlers = [part for value in inner for part in value if isinstance(part, ast.ExceptHandler | ast.match_case)]
        if blocks or handlers:
            parts = tuple(
                part for part in ast.iter_child_nodes(item) if not isinstance(part, ast.stmt | ast.ExceptHandler)
            )
            yield Statement(item, parts, tests)
            for block in blocks:
                under = tests
                if isinstance(item, ast.If):
                    under = (*tests, (item.test, block is item.body))
                yield from _statements(block, under)
            for handler in handlers:
                yield from _statements(handler.body, tests)
        else:
            yield Statement(item, (item,), tests)


def text_of(lines: list[str], number: int) -> str:
    """One line, stripped."""
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
