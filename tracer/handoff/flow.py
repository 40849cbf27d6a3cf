"""Follow objects through a worker's step, on every path, without running anything.

One function at a time, its statements in order; calls of functions in the worker's own packages are
followed into. A value is the set of things that it may be. Where paths meet, sets are joined.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from pathtrace.tracer.handoff.definitions import Definition, Definitions, bindings
from pathtrace.tracer.handoff.things import BORN, NONE, NOTHING, UNSET, Event, Left, Spot, State, Thing, Value, joined

MOST_CALLS = 6000
MOST_DEPTH = 24


class Frame:
    """A function that is being followed."""

    def __init__(self, definition: Definition, receiver: Thing | None) -> None:
        self.definition = definition
        self.receiver = receiver
        self.statement: ast.stmt = definition.node
        self.tests: tuple[tuple[ast.expr, bool], ...] = ()
        self.left: list[Left] = []
        self.entered: tuple[Left, ...] = ()  # what the last call that was entered left by
        self.called_at = definition.node.lineno
        self.direct: tuple[Left, ...] = ()  # the same of the last call that was evaluated, if it was entered

    @property
    def spot(self) -> Spot:
        """The running statement."""
        return Spot(self.definition.file, self.statement.lineno, self.definition.name)


class Flow:
    """The objects of one worker.

    Args:
        definitions: names of the tree.
        inside: whether calls into a module are followed.

    Attributes:
        events: what happened, in order of the paths.
        edges: caller and callee of every call whose callee is known, and the lines that call.
    """

    def __init__(self, definitions: Definitions, inside: Callable[[str], bool]) -> None:
        self.definitions = definitions
        self.inside = inside
        self.events: list[Event] = []
        self.edges: dict[tuple[Definition, Definition], dict[Spot, None]] = {}
        self.calls = 0
        self.aside = 0  # in a function that only makes an object: what it does is no site
        self.kept: tuple[Thing, str] | None = None  # what is handed in, and the attribute that keeps it
        self.again: dict[Spot, Thing] = {}  # that, where it is put back
        self.frames: list[Frame] = []
        self._parts: dict[tuple[Thing, str], Thing] = {}

    @property
    def frame(self) -> Frame:
        """The function that is being followed now."""
        return self.frames[-1]

    def note(self, kind: str, name: str, things: Value, value: Value) -> None:
        """Add an event at the running statement."""
        if self.aside:
            return
        self.events.append(Event(kind, name, things, value, self.frame.spot))  # type: ignore[arg-type]

    # ------------------------------------------------------------------ functions
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

    # ------------------------------------------------------------------ values
    def value(self, node: ast.expr, state: State, quiet: bool = False) -> Value:
        """What an expression may be. ``quiet``: a target, whose own read is no use of it."""
        if isinstance(node, ast.Name):
            return self.name(node.id, state)
        if isinstance(node, ast.Attribute):
            things = self.value(node.value, state)
            found = self.attribute(things, node.attr, state)
            if not quiet:
                self.note("get", node.attr, things, found)
            return found
        if isinstance(node, ast.Call):
            return self.call(node, state)
        if isinstance(node, ast.IfExp):
            self.value(node.test, state)
            return self.value(node.body, state) | self.value(node.orelse, state)
        if isinstance(node, ast.BoolOp):
            return NOTHING.union(*(self.value(part, state) for part in node.values))
        if isinstance(node, ast.Tuple):
            return frozenset({Thing("tuple", items=tuple(self.value(part, state) for part in node.elts))})
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value, state)
            self.assign(node.target, value, state)
            return value
        if isinstance(node, ast.Await | ast.Starred):
            return self.value(node.value, state)
        if isinstance(node, ast.Subscript):
            return self.item(node, state)
        if isinstance(node, ast.Constant):
            return frozenset({NONE if node.value is None else Thing()})
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return frozenset({Thing()})
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.value(part, state)
        return frozenset({Thing()})

    def item(self, node: ast.Subscript, state: State) -> Value:
        """An item of a tuple; anything else is not known."""
        things = self.value(node.value, state)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        found = [
            thing.items[index]
            for thing in things
            if thing.kind == "tuple" and isinstance(index, int) and -len(thing.items) <= index < len(thing.items)
        ]
        return NOTHING.union(*found) if found else frozenset({Thing()})

    def name(self, ident: str, state: State) -> Value:
        """A variable, or a name of the module."""
        known = state.variables.get(ident)
        if known is not None:
            return known
        found = self.definitions.find(self.frame.definition.module, ident)
        return frozenset({Thing()}) if found is None else frozenset({self.named(found)})

    def named(self, found: Definition) -> Thing:
        """The thing for a class or a function."""
        return Thing("class" if isinstance(found.node, ast.ClassDef) else "function", found)

    def typed(self, value: Value, annotation: ast.expr | None) -> Value:
        """A value whose class only its annotation says."""
        cls = self.definitions.of_annotation(self.frame.definition.module, annotation)
        if cls is not None:
            for thing in value:
                if thing.kind == "instance" and thing.definition is None and thing is not UNSET:
                    thing.definition = cls
        return value

    def attribute(self, things: Value, name: str, state: State) -> Value:
        """An attribute: what was set, a property's value, a method, or what the class makes of it."""
        found = NOTHING
        for thing in things - {NONE}:
            known = state.attributes.get((thing, name))
            if known is not None and UNSET not in known:
                found |= known
            else:
                found |= (known or NOTHING) - {UNSET} | self.looked_up(thing, name, state)
        return found

    def looked_up(self, thing: Thing, name: str, state: State) -> Value:
        """An attribute that nothing on this path has set."""
        definition = thing.definition
        if thing.kind == "super" and definition is not None and thing.receiver is not None:
            receiver = thing.receiver
            method = (
                None if receiver.definition is None else self.definitions.method(receiver.definition, name, definition)
            )
            return NOTHING if method is None else frozenset({Thing("method", method, receiver=receiver)})
        if definition is None or not isinstance(definition.node, ast.ClassDef):
            return frozenset({self.part(thing, name)})
        method = self.definitions.method(definition, name)
        if method is not None and method.is_property() and thing.kind == "instance":
            return self.enter(method, thing, {}, [], state)
        if method is not None:
            return frozenset({Thing("method", method, receiver=thing)})
        return frozenset({self.part(thing, name)})

    def part(self, thing: Thing, name: str) -> Thing:
        """An attribute that came with the object; its class is what the object's class sets it to."""
        known = self._parts.get((thing, name))
        if known is None:
            known = self._parts[(thing, name)] = Thing()
            made = None if thing.definition is None else self.definitions.attribute(thing.definition, name)
            if made is not None:
                owner, value = made
                annotation = value.func if isinstance(value, ast.Call) else value
                known.definition = self.definitions.of_annotation(owner.module, annotation)
        return known

    # ------------------------------------------------------------------ calls
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
