"""Keywords that the scheduler gives a worker's entry method, and that the method does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.consumers import loop_of
from pathtrace.tracer.handoff.definitions import Definition, Definitions
from pathtrace.tracer.handoff.statements import Statement, functions_of
from pathtrace.tracer.handoff.worker import entry_of
from pathtrace.tracer.tree.model import Tree

SCHEDULER = "sglang.srt.managers.scheduler"
# What the scheduler calls its worker: the attribute that the loop calls, and the speculative one.
_WORKERS = ("model_worker", "draft_worker")
_NO_SPECULATION = "is_none"


@dataclass(frozen=True)
class Mismatch:
    """A keyword of a call that the worker's entry method does not take.

    Attributes:
        keyword: the keyword.
        file: file of the call.
        line: line of the call.
        entry: the method, ``Class.method``.
        entry_at: ``file:line`` of its definition.
    """

    keyword: str
    file: str
    line: int
    entry: str
    entry_at: str


def mismatches(tree: Tree, module: str, name: str, loop: str) -> tuple[Mismatch, ...]:
    """What the scheduler gives a worker in this event loop and the worker does not take.

    Keywords that are put together before the call (``**kwargs``) are not judged: they hang on conditions.

    Args:
        tree: the tree.
        module: dotted name of the worker's module.
        name: the worker's class.
        loop: ``overlap`` or ``synchronous``.
    """
    definitions = Definitions(Sources(tree))
    cls = definitions.find(module, name)
    entry = None if cls is None else entry_of(definitions, cls)
    source = definitions.sources.find(SCHEDULER)
    if entry is None or isinstance(entry.node, ast.ClassDef) or entry.node.args.kwarg is not None or source is None:
        return ()
    taken = {each.arg for each in (*entry.parameters, *entry.node.args.kwonlyargs)}
    body = ast.Module(definitions.sources.body(SCHEDULER) or [], [])
    found = {
        (keyword, line): Mismatch(keyword, source.path, line, entry.name, f"{entry.file}:{entry.node.lineno}")
        for function in functions_of(body)
        for statement in function.statements
        if loop_of(statement.tests) in (loop, "any") and _speculates(statement)
        for keyword, line in _given(statement, entry)
        if keyword not in taken
    }
    return tuple(found.values())


def _speculates(statement: Statement) -> bool:
    """Whether a statement may run with speculation on: not under ``if ....is_none()``."""
    for test, holds in statement.tests:
        asks = isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == _NO_SPECULATION
        if asks and holds:
            return False
    return True


def _given(statement: Statement, entry: Definition) -> Iterator[tuple[str, int]]:
    for part in statement.parts:
        for node in ast.walk(part):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == entry.node.name
                and isinstance(node.func.value, ast.Attribute)
                and node.func.value.attr in _WORKERS
            ):
                yield from (
                    (keyword.arg, node.func.end_lineno or node.lineno) for keyword in node.keywords if keyword.arg
                )
