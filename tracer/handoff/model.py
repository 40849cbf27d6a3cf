"""What `pathtrace handoff` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SiteKind = Literal["creates", "fills", "passes", "returns", "stores", "fetches", "consumes"]
Phase = Literal["prefill", "decode", "any"]
Loop = Literal["overlap", "synchronous", "any"]


@dataclass(frozen=True)
class Site:
    """A statement that has to do with the hand-off.

    Attributes:
        kind: ``creates`` (the object is made), ``fills`` (an attribute of it is set), ``passes`` (it is an
            argument), ``returns``, ``stores`` (it is put into an attribute of another object), ``fetches``
            (it is read in order to fill it) or ``consumes`` (it is read).
        file: path in the tree.
        line: first line of the statement.
        text: that line.
        function: ``Class.method`` or function.
        on_path: whether the chosen worker runs it.
        replaced: whether the object is put into a result, and another takes its place before the step ends.
    """

    kind: SiteKind
    file: str
    line: int
    text: str
    function: str
    on_path: bool = True
    replaced: bool = False


@dataclass(frozen=True)
class StepReturn:
    """A way out of the entry method.

    Attributes:
        file: path in the tree.
        line: line of the ``return``; the end of the function where it has none.
        function: the function that it stands in.
        phase: the kind of step that leaves there, by the conditions before it.
        carries: whether the result has the hand-off by then; None where only some paths set it.
        producers: functions that made it.
        hands_on: whether it returns what another function returned, whose own returns are listed too.
    """

    file: str
    line: int
    function: str
    phase: Phase
    carries: bool | None
    producers: tuple[str, ...]
    hands_on: bool = False


@dataclass(frozen=True)
class Consumer:
    """A statement outside of the workers that reads the hand-off. ``loop``: the event loop it runs in."""

    file: str
    line: int
    text: str
    function: str
    loop: Loop


@dataclass(frozen=True)
class FunctionRole:
    """A function that has to do with the hand-off, or one of the same name that this worker does not run.

    Attributes:
        name: ``Class.method`` or function.
        file: where it is defined.
        line: line of its definition.
        roles: the kinds of its sites; of a look-alike, none.
        called_at: ``file:line`` of the statements that call it.
        on_path: whether this worker runs it.
    """

    name: str
    file: str
    line: int
    roles: tuple[SiteKind, ...]
    called_at: tuple[str, ...]
    on_path: bool = True


@dataclass(frozen=True)
class Call:
    """A function that calls another: each as ``Class.method`` with ``file:line`` of its definition."""

    caller: str
    caller_at: str
    callee: str
    callee_at: str


@dataclass(frozen=True)
class Handoff:
    """Where one worker's hand-off is made, filled, stored and read.

    Attributes:
        worker: the class.
        file: where it stands.
        line: its line.
        entry: the method that the scheduler calls, as ``Class.method``.
        field: the attribute that carries the hand-off; None where nothing plays that role.
        named: whether that is the field that was asked for.
        sites: on the worker's path.
        functions: the functions that these stand in, and those of other classes with the same names.
        look_alikes: statements that speak of the same field in functions that this worker does not run.
        returns: every way out of the entry method.
        consumers: who reads it.
        calls: the call graph from the entry method on.
    """

    worker: str
    file: str
    line: int
    entry: str
    field: str | None
    named: bool
    sites: tuple[Site, ...]
    functions: tuple[FunctionRole, ...]
    look_alikes: tuple[Site, ...]
    returns: tuple[StepReturn, ...]
    consumers: tuple[Consumer, ...]
    calls: tuple[Call, ...]

    def producers(self, phase: Phase) -> tuple[str, ...]:
        """Functions that make what leaves a step of this phase."""
        found = [each for each in self.returns if each.phase in (phase, "any") and not each.hands_on]
        return tuple(dict.fromkeys(name for each in found for name in each.producers))
