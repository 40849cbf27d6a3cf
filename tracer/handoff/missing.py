"""Ways out of a worker's step that certainly leave without what the overlap loop goes on to use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.conditions import conditions_at, is_of_a_stage, text_of_conditions
from pathtrace.tracer.handoff.consumers import loop_of
from pathtrace.tracer.handoff.definitions import Definition, Definitions
from pathtrace.tracer.handoff.find import RECURSION
from pathtrace.tracer.handoff.model import Consumer, StepReturn
from pathtrace.tracer.handoff.results import Results
from pathtrace.tracer.handoff.signature import SCHEDULER
from pathtrace.tracer.handoff.statements import Statement, functions_of, text_of
from pathtrace.tracer.handoff.worker import FIELD, WorkerStep, follow_worker
from pathtrace.tracer.tree.model import Tree


@dataclass(frozen=True)
class MissingHandoff:
    """A way out of a worker's step without the hand-off.

    Attributes:
        function: ``Class.method`` or function that it stands in.
        file: path in the tree.
        line: line of the ``return``.
        text: that line.
        when: the nearest condition that leads there; empty where there is none.
        field: the field that the result does not have.
        reader: the statement of the overlap loop that goes on to use it.
    """

    function: str
    file: str
    line: int
    text: str
    when: str
    field: str
    reader: Consumer


def missing_handoffs(tree: Tree, module: str, name: str, field: str = FIELD) -> tuple[MissingHandoff, ...]:
    """The ways out of a worker's step that leave without the field; none unless the overlap loop needs it.

    A worker that never sets the field is another matter (``unmet_reader``). Left out is what is not certain: a
    result that some other code may have filled, and what holds on some stages of a pipeline alone.

    Args:
        tree: the tree.
        module: dotted name of the worker's module.
        name: the worker's class.
        field: the attribute that carries the hand-off.
    """
    sources = Sources(tree)
    definitions = Definitions(sources)
    cls = definitions.find(module, name)
    reader = needing_reader(sources, field)
    if cls is None or not isinstance(cls.node, ast.ClassDef) or reader is None:
        return ()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        step = follow_worker(sources, definitions, cls, field)
    except RecursionError:
        return ()
    finally:
        sys.setrecursionlimit(limit)
    if step is None or not step.named:
        return ()
    results = Results(definitions, cls, step.entry.node.name, field)
    functions = _functions(step)
    found: dict[tuple[str, int], MissingHandoff] = {}
    for way, callers in _ways(step):
        function = functions.get((way.file, way.function))
        if way.carries is not False or function is None or not results.certainly_lacks(function, way.line):
            continue
        tests = [
            conditions_at(each.node.body, line)
            for each, line in (*callers_of(functions, callers), (function, way.line))
        ]
        if any(is_of_a_stage(definitions, cls, each) for each in tests):
            continue
        when = text_of_conditions(tuple(test for each in tests for test in each))
        text = sources.line(way.file, way.line)
        found[way.file, way.line] = MissingHandoff(way.function, way.file, way.line, text, when, field, reader)
    return tuple(found.values())


def callers_of(
    functions: dict[tuple[str, str], Definition], callers: tuple[StepReturn, ...]
) -> Iterator[tuple[Definition, int]]:
    """The functions that hand on what this way out returns, with the lines that do."""
    for each in callers:
        function = functions.get((each.file, each.function))
        if function is not None:
            yield function, each.line


def _functions(step: WorkerStep) -> dict[tuple[str, str], Definition]:
    """The functions of a step, by file and name."""
    known = [step.entry, *(each for edge in step.flow.edges for each in edge)]
    return {(each.file, each.name): each for each in known if not isinstance(each.node, ast.ClassDef)}


def _ways(step: WorkerStep) -> Iterator[tuple[StepReturn, tuple[StepReturn, ...]]]:
    """The ways out that hand nothing on, each with those before it that hand it on."""
    callers: list[StepReturn] = []
    for each in step.returns:
        above = [index for index, caller in enumerate(callers) if caller.function == each.function]
        del callers[above[0] if above else len(callers) :]
        if each.hands_on:
            callers.append(each)
        else:
            yield each, tuple(callers)


def needing_reader(sources: Sources, field: str) -> Consumer | None:
    """The statement of the overlap loop that reads a field and goes on to use what it holds, without asking."""
    source = sources.find(SCHEDULER)
    if source is None or field.encode() not in (sources.read(source.path) or b""):
        return None
    lines = (sources.read(source.path) or b"").decode("utf-8", "replace").split("\n")
    for function in functions_of(ast.Module(sources.body(SCHEDULER) or [], [])):
        for index, statement in enumerate(function.statements):
            if loop_of(statement.tests) != "overlap" or _asks(statement, field):
                continue
            if _uses(statement, function.statements[index + 1 :], field):
                line = statement.node.lineno
                return Consumer(source.path, line, text_of(lines, line), function.name, "overlap")
    return None


def _asks(statement: Statement, field: str) -> bool:
    """Whether a statement stands under, or is, a question about the field."""
    asked: list[ast.AST] = [test for test, _holds in statement.tests]
    for part in statement.parts:
        asked += [node for node in ast.walk(part) if isinstance(node, ast.IfExp | ast.BoolOp | ast.Compare)]
    return any(isinstance(node, ast.Attribute) and node.attr == field for each in asked for node in ast.walk(each))


def _uses(statement: Statement, after: tuple[Statement, ...], field: str) -> bool:
    """Whether an attribute of the field's value is read or set here, or later in the same block."""
    for part in statement.parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == field:
                return True
    value = statement.node.value if isinstance(statement.node, ast.Assign) else None
    if not (isinstance(statement.node, ast.Assign) and isinstance(value, ast.Attribute) and value.attr == field):
        return False
    target = ast.unparse(statement.node.targets[0])
    return any(
        isinstance(node, ast.Attribute) and ast.unparse(node.value) == target
        for later in after
        if later.tests == statement.tests
        for part in later.parts
        for node in ast.walk(part)
    )
