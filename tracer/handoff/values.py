"""What an expression of a worker's code may be: names, attributes, parts of objects."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable

from pathtrace.tracer.handoff.definitions import Definition, Definitions
from pathtrace.tracer.handoff.things import NONE, NOTHING, UNSET, Event, EventKind, Left, Spot, State, Thing, Value


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


class Values(ABC):
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

    def note(self, kind: EventKind, name: str, things: Value, value: Value) -> None:
        """Add an event at the running statement."""
        if self.aside:
            return
        self.events.append(Event(kind, name, things, value, self.frame.spot))

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

    @abstractmethod
    def call(self, node: ast.Call, state: State) -> Value:
        """What a call gives."""

    @abstractmethod
    def enter(
        self, definition: Definition, receiver: Thing | None, named: dict[str, Value], given: list[Value], state: State
    ) -> Value:
        """What a function of the tree gives."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Value, state: State) -> None:
        """Bind a target."""
