"""Branches that were not taken and would have set what the choice reads.

A backward slice follows what was written. What kept something from being written is a decision just as
much: ``if not envs.SGLANG_ENABLE_SPEC_V2.get(): self.disable_overlap_schedule = True``, passed by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from pathtrace.tracer.eval.branches import Branch

MOST_GUARDS = 6
_MOST_PARENTS = 4


def guards(branches: Iterable[Branch], fields: Set[str]) -> list[Branch]:
    """Decided branches whose other side sets one of ``fields``, under a condition that speaks of one.

    Args:
        branches: every condition of the evaluation, in order.
        fields: configuration fields that the chain speaks of.

    Returns:
        The last ones, at most ``MOST_GUARDS``.
    """
    found = [
        branch
        for branch in branches
        if isinstance(branch.node, ast.If)
        and isinstance(branch.result, bool)
        and not fields.isdisjoint(_set_by(branch.node, not branch.result))
        and any(not fields.isdisjoint(_named_by(parent.node)) for parent in _above(branch))
    ]
    once = {id(branch.node): branch for branch in found}
    return sorted(once.values(), key=lambda branch: branch.seq)[-MOST_GUARDS:]


def _above(branch: Branch) -> Iterator[Branch]:
    parent = branch.parent
    for _ in range(_MOST_PARENTS):
        if parent is None or parent.function is not branch.function:
            return
        yield parent
        parent = parent.parent


@lru_cache(maxsize=4096)
def _set_by(node: ast.If, taken: bool) -> frozenset[str]:
    """Attributes and keywords that one side of a branch sets by itself, its own branches included."""
    found: set[str] = set()
    for statement in node.body if taken else node.orelse:
        for part in ast.walk(statement):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                found.add(part.attr)
            elif isinstance(part, ast.keyword) and part.arg:
                found.add(part.arg)
    return frozenset(found)


@lru_cache(maxsize=4096)
def _named_by(node: ast.If | ast.IfExp | ast.Assert) -> frozenset[str]:
    """Attributes that a condition reads."""
    return frozenset(part.attr for part in ast.walk(node.test) if isinstance(part, ast.Attribute))
