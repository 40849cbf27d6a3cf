"""The chain: the decisions that lead to the answer, found by following values back to the inputs.

The machine notes which slots each expression read and who wrote them. Starting from the branches of
the choice (or from the raise), the slice goes from a branch to the values it saw, from a value to the
line that wrote it, and from that line to the branch it stood under.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from pathtrace.tracer.answer import Decision, Origin, OriginKind, Place, Reading
from pathtrace.tracer.eval.operators import show
from pathtrace.tracer.eval.statements import Branch
from pathtrace.tracer.eval.values import ABSENT, Instance
from pathtrace.tracer.evaluation import Evaluated

MOST_STEPS = 24
MOST_ORIGINS = 3
_DEPTH = 60


class Slice:
    """A backward slice over one evaluation."""

    def __init__(self, done: Evaluated) -> None:
        self.done = done
        self.m = done.machine
        record = done.run.record
        self.fields: set[str] = set()
        if isinstance(record, Instance) and getattr(record.cls, "fields", None):
            self.fields = {field.name for field in record.cls.fields}
        self.environ = self.m.environ.slots.number
        self.origin_memo: dict[int, tuple[Origin, ...]] = {}

    # ------------------------------------------------------------------ the slice
    def decisions(self) -> tuple[Decision, ...]:
        """The chain, in the order in which it happened."""
        branches: dict[int, Branch] = {}
        writes: dict[int, tuple[Any, str, Any]] = {}
        queue: list[Branch] = list(self.starts())
        seen_writes: set[int] = set()
        while queue and len(branches) + len(writes) < 4 * MOST_STEPS:
            branch = queue.pop(0)
            if branch.seq in branches:
                continue
            branches[branch.seq] = branch
            for _node, _value, r0, r1 in branch.operands or ():
                for key, value, write in self.config_writes(r0, r1):
                    if write.seq in seen_writes:
                        continue
                    seen_writes.add(write.seq)
                    writes[write.seq] = (write, key, value)
                    queue += self.above(write.ctrl)
            queue += self.above(branch.parent)
        chosen = [(seq, self.branch_decision(branch)) for seq, branch in branches.items() if self.tells(branch)]
        chosen += [(seq, self.write_decision(*item)) for seq, item in writes.items()]
        chosen.sort(key=lambda item: item[0])
        steps = [decision for _seq, decision in chosen][-MOST_STEPS:]
        return (*steps, *self.choice())

    def starts(self) -> Iterable[Branch]:
        """The branches of the choice, or those above the raise that refuses the launch."""
        run, m = self.done.run, self.m
        if run.choice is not None and not run.refused:
            for branch in m.branches[run.choice.branches_from :]:
                if branch.function is not None and (
                    id(branch.function.node) in m.choosers or "*partial*" in branch.function.slots
                ):
                    yield branch
        elif run.stops:
            yield from self.above(run.stops[-1].raised.ctrl)

    def above(self, branch: Any) -> list[Branch]:
        """A branch and the branches that it stands in, as far as the same function and its callers go."""
        found: list[Branch] = []
        while branch is not None and len(found) < 6:
            found.append(branch)
            branch = branch.parent
        return found

    def config_writes(self, r0: int, r1: int) -> list[tuple[str, Any, Any]]:
        """Writes by the tree's own code of configuration fields (or variables) that these reads saw."""
        found: list[tuple[str, Any, Any]] = []
        visited: set[int] = set()
        stack = [(r0, r1, 0)]
        while stack:
            start, end, depth = stack.pop()
            for where in self.m.reads[start:end]:
                for write in _parts(self.m.writers.get(where)):
                    if write.seq in visited or depth > _DEPTH:
                        continue
                    visited.add(write.seq)
                    key = where[1]
                    if (
                        (key in self.fields or where[0] == self.environ)
                        and write.leaf is None
                        and not self.initial(write)
                    ):
                        value = self.value_at(where)
                        if value is not ABSENT:  # a default in a class body is no decision
                            found.append((str(key), value, write))
                            continue
                    if write.r1 > write.r0 and write.r1 - write.r0 < 4000:
                        stack.append((write.r0, write.r1, depth + 1))
        return found

    def initial(self, write: Any) -> bool:
        """Whether a write only hands the parsed arguments over."""
        return any(leaf.leaf is not None and leaf.leaf[0] in ("flag", "default") for leaf in self.sources_of(write, 3))

    def sources_of(self, write: Any, depth: int) -> list[Any]:
        found: list[Any] = [write]
        if depth and write.r1 - write.r0 <= 4:
            for where in self.m.reads[write.r0 : write.r1]:
                for part in _parts(self.m.writers.get(where)):
                    found += self.sources_of(part, depth - 1)
        return found

    def value_at(self, where: tuple[int, Any]) -> Any:
        slots = self.m.objects.get(where[0])
        return ABSENT if slots is None else slots.get(where[1], ABSENT)

    def tells(self, branch: Branch) -> bool:
        """Whether a branch says something: its condition saw an input."""
        return any(self.origins(r0, r1) for _node, _value, r0, r1 in branch.operands or ())

    # ------------------------------------------------------------------ decisions
    def branch_decision(self, branch: Branch) -> Decision:
        result = "undecided" if not isinstance(branch.result, bool) else "true" if branch.result else "false"
        test = branch.node.test
        word = "assert" if isinstance(branch.node, ast.Assert) else "if"
        readings = tuple(
            Reading(ast.unparse(node), show(value), self.origins(r0, r1))
            for node, value, r0, r1 in branch.operands or ()
        )
        return Decision(
            "branch", Place(branch.file, branch.line, f"{word} {ast.unparse(test)}"), result, _distinct(readings)
        )

    def write_decision(self, write: Any, key: str, value: Any) -> Decision:
        text = self.m.sources.line(write.file, write.line)
        shown = show(value)
        reading = Reading(key, shown, self.origins(write.r0, write.r1))
        return Decision(
            "write", Place(write.file, write.line, text), f"{key} = {shown}", (reading,) if reading.origins else ()
        )

    def choice(self) -> tuple[Decision, ...]:
        worker = self.done.verdict.worker
        if worker is None or not worker.file:
            return ()
        where = self.m.chosen_at
        place = Place(worker.file, worker.line, self.m.sources.line(worker.file, worker.line))
        if where is not None:
            place = Place(where[0], where[1], self.m.sources.line(*where))
        return (Decision("choice", place, worker.cls),)

    # ------------------------------------------------------------------ origins
    def origins(self, r0: int, r1: int) -> tuple[Origin, ...]:
        """Where the values that an expression read came from."""
        found: dict[str, Origin] = {}
        visited: set[int] = set()
        stack = [(r0, r1, 0)]
        variable: str | None = None
        while stack and len(found) < MOST_ORIGINS + 3:
            start, end, depth = stack.pop()
            for where in self.m.reads[start:end]:
                if where[0] == self.environ:
                    variable = str(where[1])
                    origin = self.variable(variable, self.m.writers.get(where))
                    found.setdefault(origin.text, origin)
                    continue
                for write in _parts(self.m.writers.get(where)):
                    if write.seq in visited or depth > _DEPTH:
                        continue
                    visited.add(write.seq)
                    if write.leaf is not None:
                        origin = self.leaf(write)
                        found.setdefault(origin.text, origin)
                    elif where[1] == "default" and variable is not None:
                        if self.m.environ.slots.get(variable, ABSENT) is not ABSENT:
                            continue
                        place = self.deepest(write)
                        found.setdefault("default", Origin("default", variable, place))
                    elif write.r1 > write.r0 and write.r1 - write.r0 < 400:
                        stack.append((write.r0, write.r1, depth + 1))
        return tuple(found.values())[:MOST_ORIGINS]

    def variable(self, name: str, write: Any) -> Origin:
        value = self.m.environ.slots.get(name, ABSENT)
        if write is not None:
            return Origin(
                "hook",
                f"{name}={show(value)}",
                Place(write.file, write.line, self.m.sources.line(write.file, write.line)),
            )
        if value is ABSENT:
            return Origin("variable", f"{name} is not set")
        return Origin("variable", f"{name}={value}")

    def leaf(self, write: Any) -> Origin:
        kind, text = write.leaf
        kinds: dict[str, OriginKind] = {"flag": "flag", "default": "default", "config": "config"}
        place = (
            Place(write.file, write.line, self.m.sources.line(write.file, write.line))
            if kind == "default" and write.file
            else None
        )
        return Origin(kinds[kind], text, place)

    def deepest(self, write: Any) -> Place:
        """The line where a constant default stands."""
        for _ in range(6):
            nexts = [part for where in self.m.reads[write.r0 : write.r1] for part in _parts(self.m.writers.get(where))]
            if not nexts:
                break
            write = nexts[0]
        return Place(write.file, write.line, self.m.sources.line(write.file, write.line))


def _parts(write: Any) -> list[Any]:
    """The writes that a merged slot may hold."""
    if write is None:
        return []
    found: list[Any] = []
    stack = [write]
    while stack and len(found) < 12:
        item = stack.pop()
        if item.parts:
            stack += item.parts
        else:
            found.append(item)
    return found


def _distinct(readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    return tuple(dict.fromkeys(readings))
