"""Conditions as they are met: what the chain of decisions is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.operators import truth
from pathtrace.tracer.eval.scopes import Env

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine


class Branch:
    """A condition that was evaluated: where, what its operands were, and which way it went.

    ``node`` is an ``if``, an ``assert`` or a conditional expression.
    """

    __slots__ = ("file", "function", "line", "node", "operands", "parent", "result", "seq")

    def __init__(
        self, seq: int, file: str, node: Any, result: Any, operands: list[Any], parent: Any, function: Any
    ) -> None:
        self.seq = seq
        self.file = file
        self.node = node
        self.line = node.lineno
        self.result = result
        self.operands = operands
        self.parent = parent
        self.function = function


def weigh(m: Machine, node: ast.If | ast.IfExp | ast.Assert, env: Env) -> Branch:
    """Evaluate a condition and note its operands."""
    outer = m.operands
    m.operands = []
    test = truth(m, m.operand(node.test, env))
    operands, m.operands = m.operands, outer
    return Branch(m.tick(), m.file, node, test, operands, m.ctrl, m.stack[-1][0] if m.stack else None)


def follow(m: Machine, branch: Branch, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """Run the side that holds, or both under their conditions; what is written there stands under the branch."""
    m.branches.append(branch)
    test, before = branch.result, m.ctrl
    m.ctrl = branch
    try:
        if test is True:
            return then()
        if test is False:
            return other()
        return m.fork([(test, then), (m.conditions.negation(test), other)])
    finally:
        m.ctrl = before
