"""Who reads the hand-off outside of the workers: the scheduler, the future map."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pathtrace.tracer.handoff.model import Consumer, Loop
from pathtrace.tracer.handoff.statements import functions_of, text_of
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.python_files import python_files

_LOOP = "enable_overlap"


def consumers(tree: Tree, folder: str, field: str, workers: str) -> Iterator[Consumer]:
    """Statements that read ``x.field``.

    Args:
        tree: the tree.
        folder: where to look.
        field: the attribute.
        workers: the folder of the workers, which is left out.
    """
    word = f".{field}".encode()
    for path, data in python_files(tree, folder):
        if word not in data or path.startswith(workers + "/"):
            continue
        try:
            module = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError):
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        for function in functions_of(module):
            for statement in function.statements:
                if any(_reads(part, field) for part in statement.parts):
                    line = statement.node.lineno
                    yield Consumer(path, line, text_of(lines, line), function.name, loop_of(statement.tests))


def _reads(part: ast.AST, field: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == field and isinstance(node.ctx, ast.Load)
        for node in ast.walk(part)
    )


def loop_of(tests: tuple[tuple[ast.expr, bool], ...]) -> Loop:
    """The event loop, by the nearest condition that is the scheduler's own switch."""
    for test, holds in reversed(tests):
        switch = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        if isinstance(switch, ast.Attribute) and switch.attr == _LOOP:
            return "overlap" if holds is (switch is test) else "synchronous"
    return "any"
