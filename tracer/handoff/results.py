"""Whether what a function returns certainly does not have a field."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pathtrace.tracer.handoff.conditions import conditions_at
from pathtrace.tracer.handoff.definitions import Definition, Definitions

_MOST_DEPTH = 4
# What every release calls the worker of the target model: ``self.target_worker``, ``self._target_worker``.
_TARGET = "target_worker"


class Results:
    """The results of one worker's functions, by their own text.

    Args:
        definitions: names of the tree.
        cls: the worker.
        entry: name of the method that the scheduler calls; of another object, it is the target's step.
        field: the field.
    """

    def __init__(self, definitions: Definitions, cls: Definition, entry: str, field: str) -> None:
        self.definitions = definitions
        self.cls = cls
        self.entry = entry
        self.field = field

    def certainly_lacks(self, function: Definition, line: int, depth: int = 0) -> bool:
        """Whether the ``return`` at a line gives a result that nobody can have given the field."""
        if isinstance(function.node, ast.ClassDef) or self._names_field_in_text(function.node):
            return False
        found = [node for node in ast.walk(function.node) if isinstance(node, ast.Return) and node.lineno == line]
        return bool(found) and all(self._lacks(function, each.value, line, depth) for each in found)

    def _lacks(self, function: Definition, value: ast.expr | None, line: int, depth: int) -> bool:
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return True
        if isinstance(value, ast.Call):
            return self._call_lacks(function, value, depth)
        if not isinstance(value, ast.Name):
            return False
        here = conditions_at(function.node.body, line)
        calls: list[ast.Call] = []
        for node in ast.walk(function.node):
            if isinstance(node, ast.Name) and node.id == value.id and isinstance(node.ctx, ast.Store):
                made = self._assigned(function.node, node)
                if not _together(function, node, here):
                    continue
                if made is None:
                    return False
                calls.append(made)
        if not calls or not all(self._call_lacks(function, each, depth) for each in calls):
            return False
        return not any(self._may_fill(node, value.id, line) and _together(function, node, here) for node in
                       ast.walk(function.node))  # fmt: skip

    @staticmethod
    def _assigned(function: ast.AST, name: ast.Name) -> ast.Call | None:
        """The call that a plain assignment of one name binds it to."""
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and any(target is name for target in node.targets):
                return node.value if isinstance(node.value, ast.Call) else None
        return None

    def _may_fill(self, node: ast.AST, name: str, line: int) -> bool:
        """Whether a statement before the line gives the field, or gives the object to code that may."""
        if getattr(node, "lineno", line) >= line:
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return node.attr == self.field
        if not isinstance(node, ast.Call):
            return False
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        return any(isinstance(each, ast.Name | ast.Starred) and ast.unparse(each).strip("*") == name for each in given)

    def _call_lacks(self, function: Definition, call: ast.Call, depth: int) -> bool:
        """Whether a call gives an object without the field: the target's step, a class, a method that has none."""
        called = call.func
        if any(keyword.arg in (None, self.field) for keyword in call.keywords):
            return False
        own = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "self"
        if own and isinstance(called, ast.Attribute):
            method = self.definitions.method(self.cls, called.attr)
            return method is not None and self._all_lack(method, depth)
        if isinstance(called, ast.Attribute):
            owner = called.value
            return called.attr == self.entry and isinstance(owner, ast.Attribute) and _TARGET in owner.attr
        if isinstance(called, ast.Name) and not call.args:
            found = self.definitions.find(function.module, called.id)
            return found is not None and isinstance(found.node, ast.ClassDef)
        return False

    def _all_lack(self, method: Definition, depth: int) -> bool:
        lines = {node.lineno for node in ast.walk(method.node) if isinstance(node, ast.Return)}
        return depth < _MOST_DEPTH and bool(lines) and all(
            self.certainly_lacks(method, line, depth + 1) for line in lines
        )  # fmt: skip

    def _names_field_in_text(self, function: ast.AST) -> bool:
        """Whether the field's name stands in a string: ``setattr(result, "field", ...)``."""
        return any(isinstance(node, ast.Constant) and node.value == self.field for node in ast.walk(function))


def _together(function: Definition, node: ast.AST, here: Iterable[tuple[ast.expr, bool]]) -> bool:
    """Whether one path may go over a statement and then get to where these conditions hold."""
    there = {id(test): holds for test, holds in conditions_at(function.node.body, getattr(node, "lineno", 0))}
    return all(there.get(id(test), holds) is holds for test, holds in here)
