"""The conditions under which a function gets to a line, as its own text says them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pathtrace.tracer.handoff.definitions import Definition, Definitions

Tests = tuple[tuple[ast.expr, bool], ...]
"""Conditions, each with whether it holds."""

_MOST_STEPS = 24
_RANKS = frozenset({"is_last_rank", "is_first_rank"})


def conditions_at(body: list[ast.stmt], line: int) -> Tests:
    """The conditions that hold at a line: of the ``if`` around it, and of those before it whose other side leaves."""
    found: list[tuple[ast.expr, bool]] = []
    for item in body:
        if item.lineno > line:
            break
        if line <= (item.end_lineno or item.lineno):
            for block, test in _blocks(item):
                if block and block[0].lineno <= line <= (block[-1].end_lineno or block[-1].lineno):
                    return (*found, *test, *conditions_at(block, line))
            break
        if isinstance(item, ast.If):
            if _leaves(item.body):
                found.append((item.test, False))
            elif item.orelse and _leaves(item.orelse):
                found.append((item.test, True))
    return tuple(found)


def text_of_conditions(tests: Tests) -> str:
    """The nearest condition in words; nothing where there is none."""
    if not tests:
        return ""
    test, holds = tests[-1]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    text = ast.unparse(test)
    return text if holds else f"not ({text})" if isinstance(test, ast.BoolOp | ast.Compare) else f"not {text}"


def is_of_a_stage(definitions: Definitions, cls: Definition, tests: Tests) -> bool:
    """Whether conditions speak of the stage of a pipeline, or of a part that the worker does not have on this rank.

    Args:
        definitions: names of the tree.
        cls: the worker: what its methods set its attributes to is followed.
        tests: the conditions.
    """
    worker = _Worker(definitions, cls)
    return any(worker.speaks_of_stages(test) or worker.lacks_a_part(test, holds) for test, holds in tests)


class _Worker:
    """What a worker's attributes are set to, in any method of its line."""

    def __init__(self, definitions: Definitions, cls: Definition) -> None:
        self._set: dict[str, list[tuple[ast.expr, Tests]]] = {}
        for each in definitions.line(cls):
            for method in each.node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    for name, value, line in _attributes(method):
                        self._set.setdefault(name, []).append((value, conditions_at(method.body, line)))

    def speaks_of_stages(self, node: ast.AST) -> bool:
        """Whether an expression, or what its attributes of the worker are set to, names the pipeline."""
        waiting, seen = [node], set[str]()
        while waiting and len(seen) < _MOST_STEPS:
            for part in ast.walk(waiting.pop()):
                word = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
                if word in _RANKS or not {"pp", "pipeline"}.isdisjoint(word.lower().split("_")):
                    return True
                if isinstance(part, ast.Attribute) and _is_own(part) and part.attr not in seen:
                    seen.add(part.attr)
                    for value, tests in self._set.get(part.attr, ()):
                        waiting += [value, *(test for test, _holds in tests)]
        return False

    def lacks_a_part(self, test: ast.expr, holds: bool) -> bool:
        """Whether a condition holds where the worker has None for a part that it is made with elsewhere."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.lacks_a_part(test.operand, not holds)
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_own(test.left)):
            return False
        is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        if not is_none or isinstance(test.ops[0], ast.Is) is not holds:
            return False
        assert isinstance(test.left, ast.Attribute)
        values = [value for value, _tests in self._set.get(test.left.attr, ())]
        return any(isinstance(part, ast.Call) for value in values for part in ast.walk(value))


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _attributes(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr, int]]:
    """The attributes of ``self`` that a method sets, each with its value and line."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute) and _is_own(target):
                    yield target.attr, node.value, node.lineno


def _blocks(item: ast.stmt) -> Iterator[tuple[list[ast.stmt], Tests]]:
    if isinstance(item, ast.If):
        yield item.body, ((item.test, True),)
        yield item.orelse, ((item.test, False),)
        return
    for _name, value in ast.iter_fields(item):
        for part in value if isinstance(value, list) else ():
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield part.body, ()
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value, ()


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether no path goes on behind a block."""
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return _leaves(last.body)
    return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)
