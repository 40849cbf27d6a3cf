"""Calls in a worker's code: a class makes an object, a function of the worker's packages is followed into."""

from __future__ import annotations

import ast
from abc import abstractmethod

from pathtrace.tracer.handoff.definitions import Definition
from pathtrace.tracer.handoff.things import BORN, NONE, NOTHING, UNSET, Left, Spot, State, Thing, Value, joined
from pathtrace.tracer.handoff.values import Values

MOST_CALLS = 6000
MOST_DEPTH = 24


class Calls(Values):
    """Values, with what calls give."""

    @abstractmethod
    def follow(
        self, definition: Definition, receiver: Thing | None, given: dict[str, Value], state: State
    ) -> tuple[Left, ...]:
        """Follow a function with these arguments."""

    def call(self, node: ast.Call, state: State) -> Value:
        """A call: a class makes a thing, a function of the worker's packages is followed into."""
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.frame.receiver is not None:
            return frozenset({Thing("super", self.owner(), receiver=self.frame.receiver)})
        called = self.value(node.func, state, quiet=True)
        given = [self.value(argument, state) for argument in node.args]
        named = {keyword.arg: self.value(keyword.value, state) for keyword in node.keywords if keyword.arg}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.value(keyword.value, state)
        found = NOTHING
        self.frame.entered = ()
        self.frame.called_at = node.func.end_lineno or node.lineno
        for thing in called:
            found |= self.called(thing, node, given, named, state)
        self.frame.direct = self.frame.entered
        return found or self.result(None, state)

    def bound(
        self, definition: Definition, receiver: Thing | None, named: dict[str, Value], given: list[Value]
    ) -> dict[str, Value]:
        """The parameters of a call, typed by their annotations where nothing else says what they are."""
        if isinstance(definition.node, ast.ClassDef):
            return {}
        arguments = definition.node.args
        variables: dict[str, Value] = {}
        positional = [*arguments.posonlyargs, *arguments.args]
        values = list(given)
        if receiver is not None and not definition.is_static() and definition.owner is not None:
            values.insert(0, frozenset({receiver}))
        missing = self.defaults(definition.node)
        for index, argument in enumerate(positional):
            known = values[index] if index < len(values) else named.get(argument.arg)
            variables[argument.arg] = known if known is not None else missing.get(argument.arg, frozenset({Thing()}))
        for argument in arguments.kwonlyargs:
            variables[argument.arg] = named.get(argument.arg, missing.get(argument.arg, frozenset({Thing()})))
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                variables[extra.arg] = frozenset({Thing()})
        for argument in (*positional, *arguments.kwonlyargs):
            cls = self.definitions.of_annotation(definition.module, argument.annotation)
            for thing in variables[argument.arg] if cls is not None else ():
                if thing.kind == "instance" and thing.definition is None and thing is not UNSET:
                    thing.definition = cls
        return variables

    @staticmethod
    def defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Value]:
        """Parameters that are None where no argument is given."""
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        pairs = [
            *zip(reversed(named), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        return {
            argument.arg: frozenset({NONE})
            for argument, default in pairs
            if isinstance(default, ast.Constant) and default.value is None
        }

    def result(self, cls: Definition | None, state: State) -> Value:
        """What a call that is not followed gives: some object."""
        thing = Thing("instance", cls, born=True)
        state.attributes[thing, BORN] = NOTHING
        return frozenset({thing})

    def owner(self) -> Definition | None:
        """The class that the running method stands in."""
        definition = self.frame.definition
        return None if definition.owner is None else self.definitions.find(definition.module, definition.owner)

    def called(self, thing: Thing, node: ast.Call, given: list[Value], named: dict[str, Value], state: State) -> Value:
        """What calling one thing gives."""
        definition = thing.definition
        makes = thing if thing.kind == "class" else thing.receiver if thing.kind == "method" else None
        if (
            makes is not None
            and makes.kind == "class"
            and (makes is thing or (definition and definition.takes_class()))
        ):
            return self.make(makes, definition if makes is not thing else None, given, named, state)
        title = ast.unparse(node.func)
        for value in (*given, *named.values()):
            self.note("pass", title, NOTHING, value)
        if definition is None or thing.kind not in ("function", "method"):
            return self.result(None, state)
        receiver = thing.receiver
        if thing.kind == "method" and receiver is not None and receiver.kind == "class" and given:
            receiver, given = next(iter(given[0]), None), given[1:]  # Base.method(self, ...)
        return self.enter(definition, receiver, named, given, state, thing.closure)

    def make(
        self, thing: Thing, factory: Definition | None, given: list[Value], named: dict[str, Value], state: State
    ) -> Value:
        """A new object of a class: of its constructor, or of a class method that makes one."""
        definition = thing.definition
        made = Thing("instance", definition, self.frame.spot, born=True)
        state.attributes[made, BORN] = NOTHING
        if definition is not None and factory is not None and not self.inside(definition.module) and not self.aside:
            self.made_by(made, factory, thing, given, named, state)
        if definition is None or factory is not None:
            return frozenset({made})
        fields = [
            item.target.id
            for each in reversed(self.definitions.line(definition))
            for item in each.node.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        ]
        for name, value in (*zip(fields, given, strict=False), *named.items()):
            self.note("give", name, frozenset({made}), value)
            state.attributes[made, name] = value
        return frozenset({made})

    def made_by(
        self,
        made: Thing,
        factory: Definition,
        cls: Thing,
        given: list[Value],
        named: dict[str, Value],
        state: State,
    ) -> None:
        """Give an object the attributes that its class method sets: a batch made from a batch keeps its parts."""
        self.aside += 1
        try:
            values = self.follow(factory, cls, self.bound(factory, cls, named, given), state)
        finally:
            self.aside -= 1
        for left in values:
            for (thing, name), value in left.attributes.items():
                if thing in left.value and name != BORN:
                    state.attributes[made, name] = state.attributes.get((made, name), NOTHING) | value

    def enter(
        self,
        definition: Definition,
        receiver: Thing | None,
        named: dict[str, Value],
        given: list[Value],
        state: State,
        closure: object = None,
    ) -> Value:
        """Call a function of the tree: follow it if it lies inside, and bring its effects here."""
        if not isinstance(definition.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return frozenset({Thing()})
        spot = Spot(self.frame.definition.file, self.frame.called_at, self.frame.definition.name)
        self.edges.setdefault((self.frame.definition, definition), {})[spot] = None
        running = sum(frame.definition.node is definition.node for frame in self.frames)
        if (
            not self.inside(definition.module)
            or running > 1
            or len(self.frames) > MOST_DEPTH
            or self.calls > MOST_CALLS
        ):
            return self.result(self.definitions.of_annotation(definition.module, definition.node.returns), state)
        variables = self.bound(definition, receiver, named, given)
        if isinstance(closure, dict):
            variables = {**closure, **variables}
        left = self.follow(definition, receiver, variables, state)
        self.frame.entered += left
        after = joined([State({}, dict(each.attributes)) for each in left])
        if after is not None:
            state.attributes = after.attributes
        return NOTHING.union(*(each.value for each in left))
