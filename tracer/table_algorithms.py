"""The algorithms of a tree: what its parser accepts, what its algorithm type holds, what its code names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from pathtrace.tracer.eval.values import ABSENT, ClassV, DictV, Instance, ModuleV
from pathtrace.tracer.evaluation import Evaluated

NAME = "--speculative-algorithm"
_TYPE = ("sglang.srt.speculative.spec_info", "SpeculativeAlgorithm")
_NONE = "NONE"


class Algorithms:
    """The algorithms that are to be tried, in order.

    A name that the code compares the algorithm with (an alias, say) joins them where the parser takes
    any name; it may turn out to be none.
    """

    def __init__(self) -> None:
        self.names: dict[str, bool] = {}
        self.waiting: list[str] = []
        self.closed = False

    def first(self, done: Evaluated) -> None:
        """Take the names from an evaluation: the parser's choices, else the members of the type."""
        parser = done.machine.external_state.get("parser")
        action = None if parser is None else parser._option_string_actions.get(NAME)
        choices = getattr(action, "choices", None)
        self.closed = bool(choices)
        for name in choices or _members(done):
            self.add(str(name), True)

    def add(self, name: str, sure: bool) -> None:
        """A name to try, once."""
        if name.upper() != _NONE and name not in self.names:
            self.names[name] = sure
            self.waiting.append(name)

    def next(self) -> str | None:
        """The next name to try."""
        return self.waiting.pop(0) if self.waiting else None

    def doubtful(self, name: str) -> bool:
        """Whether only a comparison in the code speaks for a name."""
        return not self.names[name]

    def rejected(self, done: Evaluated, name: str) -> bool:
        """Whether a doubtful name is none: the tree's refusal quotes it."""
        refusal = done.verdict.refusal
        return self.doubtful(name) and refusal is not None and name in refusal.message

    def compared(self, done: Evaluated) -> None:
        """Take up the names that an evaluation compared the algorithm with."""
        parser = done.machine.external_state.get("parser")
        action = None if parser is None else parser._option_string_actions.get(NAME)
        if self.closed or action is None:
            return
        for branch in done.machine.branches:
            for name in _compared(branch.node.test, action.dest):
                self.add(name, False)


def _members(done: Evaluated) -> Iterator[str]:
    """Names of the tree's algorithm type: members of an enum, or what a registry class holds."""
    m = done.machine
    if m.find_module(_TYPE[0]) is None:
        return
    module = m.import_module(_TYPE[0])
    cls = m.get_attr(module, _TYPE[1]) if isinstance(module, ModuleV) and _TYPE[1] in module.slots else None
    if not isinstance(cls, ClassV):
        return
    members = cls.slots.get("_member_names_", ABSENT)
    if isinstance(members, tuple):
        yield from (str(name) for name in members)
        return
    for key, value in cls.slots.items():
        if isinstance(value, Instance) and value.cls is cls:
            yield str(key)
        elif isinstance(value, DictV):
            yield from (
                name
                for name, item in value.slots.items()
                if isinstance(name, str) and isinstance(item, Instance) and item.cls is cls
            )


def _compared(test: ast.AST, field: str) -> Iterator[str]:
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare):
            continue
        sides = (node.left, *node.comparators)
        if not any(_is(side, field) for side in sides):
            continue
        for side in sides:
            for item in side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else (side,):
                value: Any = item.value if isinstance(item, ast.Constant) else None
                if isinstance(value, str) and value.isupper():
                    yield value


def _is(node: ast.AST, field: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == field) or (isinstance(node, ast.Attribute) and node.attr == field)
