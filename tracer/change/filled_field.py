"""A field that the launch does not give and that a line of the tree fills."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pathtrace.tracer.answer import Answer, Place, Scalar
from pathtrace.tracer.tree.model import Tree


def filled_at(tree: Tree, answer: Answer, field: str) -> Place | None:
    """The line that sets a field to its resolved value where nothing else has.

    It stands under ``if x.FIELD is None``, and beside it a line is logged that this launch logs: a launch that gives
    the field never gets there. A tree that fills it without a word gives None here, as do two such lines.

    Args:
        tree: the tree.
        answer: what the launch does.
        field: the field.
    """
    value = answer.resolved.get(field)
    if value is None or value == "unknown":
        return None
    found: dict[Place, None] = {}
    for file in dict.fromkeys(each.place.file for each in answer.warnings):
        logged = {each.place.line for each in answer.warnings if each.place.file == file}
        data = tree.read(file) or b""
        try:
            module = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.If) and _asks(node.test, field) and _holds(node.body, logged):
                line = next(_writes(node.body, field, value), None)
                if line is not None:
                    lines = data.decode("utf-8", "replace").split("\n")
                    found[Place(file, line, lines[line - 1].strip())] = None
    return next(iter(found)) if len(found) == 1 else None


def _asks(test: ast.expr, field: str) -> bool:
    """``x.FIELD is None``."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Attribute)
        and test.left.attr == field
        and isinstance(test.ops[0], ast.Is)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    )


def _holds(body: list[ast.stmt], lines: set[int]) -> bool:
    """Whether one of these lines is a statement of a block itself, not one under a further condition."""
    return any(isinstance(item, ast.Expr) and item.lineno in lines for item in body)


def _writes(body: list[ast.stmt], field: str, value: Scalar) -> Iterator[int]:
    """The lines of a block that set the field to a constant: ``x.FIELD = 48``, or a call with ``FIELD=48``."""
    for item in body:
        if isinstance(item, ast.Assign) and _is(item.value, value):
            if any(isinstance(target, ast.Attribute) and target.attr == field for target in item.targets):
                yield item.lineno
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            for keyword in item.value.keywords:
                if keyword.arg == field and _is(keyword.value, value):
                    yield keyword.value.lineno


def _is(node: ast.expr, value: Scalar) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value
