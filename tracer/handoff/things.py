"""What the flow of objects through a worker is made of."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pathtrace.tracer.handoff.definitions import Definition

EventKind = Literal["set", "give", "get", "pass", "return"]
Kind = Literal["none", "instance", "class", "function", "method", "module", "tuple", "super"]


@dataclass(frozen=True)
class Spot:
    """A statement: its file, its first line, and the function that it stands in."""

    file: str
    line: int
    function: str


@dataclass(eq=False)
class Thing:
    """An object, as far as it matters: two things are the same only if they are one.

    Attributes:
        kind: what it is; ``instance`` for any object, ``none`` for ``None``.
        definition: its class; for a class, function or method, that itself.
        made: the statement that made it; None for what came from outside.
        receiver: the object of a method, or of ``super()``.
        items: of a tuple, what it holds.
        closure: the variables that an inner function sees.
        born: whether it is the result of a call, so that there are paths on which it does not exist.
    """

    kind: Kind = "instance"
    definition: Definition | None = None
    made: Spot | None = None
    receiver: Thing | None = None
    items: tuple[Value, ...] = ()
    closure: Mapping[str, Value] | None = None
    born: bool = False


Value = frozenset[Thing]
NOTHING: Value = frozenset()


@dataclass
class State:
    """Variables of the running function, and attributes of things, at one point of one path."""

    variables: dict[str, Value] = field(default_factory=dict)
    attributes: dict[tuple[Thing, str], Value] = field(default_factory=dict)

    def copy(self) -> State:
        """A state that goes its own way."""
        return State(dict(self.variables), dict(self.attributes))


def joined(states: list[State | None]) -> State | None:
    """One state for several paths that meet; None where none of them gets there.

    An attribute that some paths do not set keeps, of those paths, what is known without it: nothing.
    """
    alive = [state for state in states if state is not None]
    if len(alive) < 2:
        return alive[0] if alive else None
    first, *others = alive
    met = first.copy()
    for other in others:
        for name, value in other.variables.items():
            met.variables[name] = met.variables.get(name, NOTHING) | value
        keys = {*met.attributes, *other.attributes}
        met.attributes = {key: _held(met, key) | _held(other, key) for key in keys}
    return met


def _held(state: State, key: tuple[Thing, str]) -> Value:
    """What an attribute holds on a path that may not have set it, or not even have made the object."""
    known = state.attributes.get(key)
    if known is not None:
        return known
    thing, _name = key
    return NOTHING if thing.born and (thing, BORN) not in state.attributes else _UNSET


BORN = "*"
"""The attribute that every born object has where it exists."""
NONE = Thing("none")
"""Python's ``None``."""
UNSET = Thing()
_UNSET: Value = frozenset({UNSET})
"""Stands in an attribute for the paths that have not set it."""


@dataclass(frozen=True)
class Event:
    """Something that happens to an attribute or to an argument.

    Attributes:
        kind: ``set`` (``x.name = value``), ``give`` (``Class(name=value)``), ``get`` (``x.name``), ``pass``
            (an argument of a function) or ``return``.
        name: of the attribute, keyword or called function.
        things: the objects whose attribute it is; of an argument, none.
        value: what is set, read, passed or returned.
        spot: the statement.
    """

    kind: EventKind
    name: str
    things: Value
    value: Value
    spot: Spot


@dataclass(frozen=True)
class Left:
    """A ``return`` that a call reached, or the end of its body.

    Attributes:
        spot: the statement.
        value: what is returned.
        attributes: the attributes of things by then.
        tests: the conditions of the function that lead there, each with whether it held.
        inner: of ``return other(...)``, the returns of that function.
        falls: whether it is the end of the body.
    """

    spot: Spot
    value: Value
    attributes: Mapping[tuple[Thing, str], Value]
    tests: tuple[tuple[ast.expr, bool], ...]
    inner: tuple[Left, ...] = ()
    falls: bool = False
