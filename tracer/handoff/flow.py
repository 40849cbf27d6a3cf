"""Follow objects through a worker's step, on every path, without running anything.

One function at a time, its statements in order; calls of functions in the worker's own packages are
followed into. A value is the set of things that it may be. Where paths meet, sets are joined.
"""

from __future__ import annotations

import ast

from pathtrace.tracer.handoff.calls import Calls
from pathtrace.tracer.handoff.definitions import Definition, bindings
from pathtrace.tracer.handoff.things import NONE, NOTHING, UNSET, Left, Spot, State, Thing, Value, joined
from pathtrace.tracer.handoff.values import Frame


class Flow(Calls):
    """The statements of functions."""

    def follow(
        self, definition: Definition, receiver: Thing | None, given: dict[str, Value], state: State
    ) -> tuple[Left, ...]:
        """Follow a function with these arguments; its effects are in the states of what it returns."""
        self.calls += 1
        frame = Frame(definition, receiver)
        self.frames.append(frame)
        try:
            end = self.block(definition.node.body, State(dict(given), dict(state.attributes)))
        finally:
            self.frames.pop()
        if end is not None:
            last = definition.node.body[-1]
            spot = Spot(definition.file, last.end_lineno or last.lineno, definition.name)
            frame.left.append(Left(spot, frozenset({NONE}), end.attributes, (), (), True))
        return tuple(frame.left)

    def block(self, body: list[ast.stmt], state: State | None) -> State | None:
        """Follow statements; None where every path has left."""
        before = self.frame.tests
        try:
            for item in body:
                if state is None:
                    return None
                self.frame.statement = item
                state = self.statement(item, state)
            return state
        finally:
            self.frame.tests = before

    def statement(self, item: ast.stmt, state: State) -> State | None:
        """Follow one statement."""
        if isinstance(item, ast.Return):
            value = frozenset({NONE}) if item.value is None else self.value(item.value, state)
            inner = self.frame.direct if isinstance(item.value, ast.Call) else ()
            if not isinstance(item.value, ast.Call):
                self.note("return", "", NOTHING, value)
            self.frame.left.append(Left(self.frame.spot, value, state.attributes, self.frame.tests, inner))
            return None
        if isinstance(item, ast.Raise):
            return None
        if isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            value = NOTHING if item.value is None else self.value(item.value, state)
            if isinstance(item, ast.AnnAssign):
                value = self.typed(value, item.annotation)
            for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                self.assign(target, value, state)
        elif isinstance(item, ast.If):
            return self.condition(item, state)
        elif isinstance(item, ast.For | ast.AsyncFor | ast.While):
            return self.loop(item, state)
        elif isinstance(item, ast.With | ast.AsyncWith):
            for each in item.items:
                value = self.value(each.context_expr, state)
                if each.optional_vars is not None:
                    self.assign(each.optional_vars, value, state)
            return self.block(item.body, state)
        elif isinstance(item, ast.Try):
            done = self.block(item.body, state.copy())
            caught = [self.block(handler.body, joined([state.copy(), done])) for handler in item.handlers]
            met = joined([self.block(item.orelse, done), *caught])
            return self.block(item.finalbody, met)
        elif isinstance(item, ast.Match):
            self.value(item.subject, state)
            return joined([state.copy(), *(self.block(case.body, state.copy()) for case in item.cases)])
        elif isinstance(item, ast.FunctionDef):
            inner_definition = Definition(item, self.frame.definition.module, self.frame.definition.file)
            closure = state.variables
            state.variables[item.name] = frozenset({Thing("function", inner_definition, closure=closure)})
        elif isinstance(item, ast.ImportFrom):
            package = self.definitions.is_package(self.frame.definition.module)
            for name, binding in bindings(item, self.frame.definition.module, package).items():
                found = self.definitions.find(*binding) if isinstance(binding, tuple) else None
                state.variables[name] = frozenset({Thing() if found is None else self.named(found)})
        elif isinstance(item, ast.Expr | ast.Assert):
            self.value(item.value if isinstance(item, ast.Expr) else item.test, state)
        return state

    def condition(self, item: ast.If, state: State) -> State | None:
        """Follow both sides of an ``if``, or the one that is decided. Where one has left, the other holds on."""
        self.value(item.test, state)
        decided = self.decide(item.test, state)
        sides = [
            None if decided is (not holds) else self.branch(item.test, holds, body, state)
            for holds, body in ((True, item.body), (False, item.orelse))
        ]
        if (sides[0] is None) is not (sides[1] is None):
            self.frame.tests = (*self.frame.tests, (item.test, sides[0] is not None))
        return joined(sides)

    def decide(self, test: ast.expr, state: State) -> bool | None:
        """Whether a condition that compares identities holds; None for anything that is open."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.decide(test.operand, state)
            return None if inner is None else not inner
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot) and len(test.ops) == 1:
            sides = [test.left, test.comparators[0]]
            if not all(isinstance(side, ast.Name | ast.Attribute | ast.Constant) for side in sides):
                return None
            left, right = (self.value(side, state, quiet=True) for side in sides)
            known = all(thing.made is not None or thing is NONE for thing in left)
            same = left == right and len(left) == 1
            if left and known and (same or (right == {NONE} and NONE not in left)):
                return isinstance(test.ops[0], ast.Is) is same
        return None

    def branch(self, test: ast.expr, holds: bool, body: list[ast.stmt], state: State) -> State | None:
        """Follow one side of a condition."""
        before = self.frame.tests
        self.frame.tests = (*before, (test, holds))
        try:
            return self.block(body, state.copy())
        finally:
            self.frame.tests = before

    def loop(self, item: ast.For | ast.AsyncFor | ast.While, state: State) -> State | None:
        """Follow a loop's body once, and not at all."""
        if isinstance(item, ast.While):
            self.value(item.test, state)
        else:
            self.value(item.iter, state)
        inside = state.copy()
        if not isinstance(item, ast.While):
            self.assign(item.target, frozenset({Thing()}), inside)
        return self.block(item.orelse, joined([state, self.block(item.body, inside)]))

    def assign(self, target: ast.expr, value: Value, state: State) -> None:
        """Bind a target."""
        if isinstance(target, ast.Name):
            state.variables[target.id] = value
        elif isinstance(target, ast.Attribute):
            things = self.value(target.value, state, quiet=True)
            if self.kept is not None and self.kept[0] in value and self.kept[1] == target.attr:
                value = value - {self.kept[0]} | {self.again.setdefault(self.frame.spot, Thing())}
            self.note("set", target.attr, things, value)
            for thing in things:
                key = (thing, target.attr)
                known = NOTHING if len(things) == 1 else state.attributes.get(key, frozenset({UNSET}))
                state.attributes[key] = value | known
        elif isinstance(target, ast.Tuple | ast.List):
            tuples = [thing for thing in value if thing.kind == "tuple" and len(thing.items) == len(target.elts)]
            for index, part in enumerate(target.elts):
                parts = [thing.items[index] for thing in tuples]
                self.assign(part, NOTHING.union(*parts) if parts else frozenset({Thing()}), state)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, frozenset({Thing()}), state)
        elif isinstance(target, ast.Subscript):
            self.value(target.value, state)
