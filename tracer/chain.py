"""The chain: the decisions that lead to the answer, found by following values back to the inputs.

The machine notes which slots each expression read and who wrote them. Starting from the branches of
the choice (or from the raise), the slice goes from a branch to the values it saw, from a value to the
line that wrote it, and from that line to the branch it stood under.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pathtrace.tracer.answer import Decision, Origin, OriginKind, Place, Reading
from pathtrace.tracer.eval.branches import Branch
from pathtrace.tracer.eval.operators import show
from pathtrace.tracer.eval.values import ABSENT, DictV, Instance
from pathtrace.tracer.evaluation import Evaluated
from pathtrace.tracer.guards import guards
from pathtrace.tracer.launch.open_text import shown
from pathtrace.tracer.naming import naming_place, parts, place_of
from pathtrace.tracer.scheduler import LOOP

MOST_STEPS = 24
MOST_ORIGINS = 3
MOST_FOUND = 40  # origins of one value that are looked at, to show the likeliest
_RANKS: tuple[OriginKind, ...] = ("flag", "variable", "hook", "config", "default", "assumption", "unknown")
MOST_READS = 4000  # of one value: one made from more says nothing about any of them
_DEPTH = 60


class Ahead:
    """Stretches of reads that are still to be walked, each once, the nearest first."""

    def __init__(self, r0: int, r1: int) -> None:
        self.queue = deque([(r0, r1, 0)])
        self.known = {(r0, r1)}

    def __bool__(self) -> bool:
        return bool(self.queue)

    def add(self, r0: int, r1: int, depth: int) -> None:
        """Walk these reads later, unless they were seen, are none, or are so many that they say nothing."""
        if 0 < r1 - r0 < MOST_READS and depth <= _DEPTH and (r0, r1) not in self.known:
            self.known.add((r0, r1))
            self.queue.append((r0, r1, depth))

    def next(self) -> tuple[int, int, int]:
        """The first read, the one after the last, and how far away they are."""
        return self.queue.popleft()


class Slice:
    """A backward slice over one evaluation."""

    def __init__(self, done: Evaluated) -> None:
        self.done = done
        self.m = done.machine
        self.record = record = done.run.record
        self.fields: set[str] = set()
        if isinstance(record, Instance) and getattr(record.cls, "fields", None):
            self.fields = {field.name for field in record.cls.fields}
        self.environ = self.m.environ.slots.number
        self.known_origins: dict[tuple[int, int], tuple[Origin, ...]] = {}
        self.texts: set[str] = set()  # variables whose default is a text: no switches

    # ------------------------------------------------------------------ the slice
    def decisions(self) -> tuple[Decision, ...]:
        """The chain, in the order in which it happened."""
        branches: dict[int, Branch] = {}
        writes: dict[int, tuple[Any, str, Any]] = {}
        queue: list[Branch] = list(self.starts())
        seen_writes: set[int] = set()

        def add(write: Any, key: str, value: Any) -> None:
            if write.seq not in seen_writes:
                seen_writes.add(write.seq)
                writes[write.seq] = (write, key, value)
                queue.extend(self.above(write.ctrl))

        choice = self.done.run.choice
        if choice is not None and not self.done.run.refused:
            for write in parts(choice.loop_write):
                add(write, LOOP, choice.overlap)
                said = self.m.sources.line(write.file, write.line)
                for key, value, earlier in self.config_writes(write.r0, write.r1):
                    if key in said:  # a whole configuration may have been copied on the way
                        add(earlier, key, value)
        while queue and len(branches) + len(writes) < 4 * MOST_STEPS:
            branch = queue.pop(0)
            if branch.seq in branches:
                continue
            branches[branch.seq] = branch
            for _node, _value, r0, r1 in branch.operands or ():
                for key, value, write in self.config_writes(r0, r1):
                    add(write, key, value)
            queue += self.above(branch.parent)
        chosen = [(seq, self.branch_decision(branch)) for seq, branch in branches.items() if self.tells(branch)]
        chosen += [(seq, self.write_decision(*item)) for seq, item in writes.items()]
        fields = self.spoken_of([decision for _seq, decision in chosen])
        passed = [branch for branch in guards(self.m.branches, fields) if branch.seq not in branches]
        chosen += [(branch.seq, self.branch_decision(branch)) for branch in passed if self.tells(branch)]
        chosen.sort(key=lambda item: item[0])
        steps = [decision for _seq, decision in chosen][-MOST_STEPS:]
        return (*steps, *self.choice())

    def spoken_of(self, decisions: Sequence[Decision]) -> set[str]:
        """Configuration fields that these decisions name, or that a flag behind them sets."""
        given = self.m.external_state.get("given_dests") or {}
        by_text = {text: dest for dest, text in given.items()}
        found: set[str] = set()
        for decision in decisions:
            found.update(re.findall(r"\w+", decision.place.text))
            origins = [origin for reading in decision.readings for origin in reading.origins]
            found.update(by_text[origin.text] for origin in origins if origin.text in by_text)
        return found & self.fields

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
        ahead = Ahead(r0, r1)
        while ahead:
            start, end, depth = ahead.next()
            for number, key, written in self.reads(start, end, depth, ahead):
                for write in parts(written):
                    if write.seq in visited or write.leads:
                        continue
                    visited.add(write.seq)
                    if write.leaf is None and self.configures(number, key) and not self.initial(write):
                        found.append((str(key), self.m.objects[number].slots.get(key, ABSENT), write))
                    else:
                        ahead.add(write.r0, write.r1, depth + 1)
        return found

    def configures(self, number: int, key: Any) -> bool:
        """Whether a slot is a variable, a field of the record, or the field's place in an overlay of it."""
        owner = self.m.objects.get(number)
        if number == self.environ:
            return owner is not None
        return key in self.fields and (owner is self.record or type(owner) is DictV)

    def initial(self, write: Any) -> bool:
        """Whether a write only hands the parsed arguments over."""
        return any(leaf.leaf is not None and leaf.leaf[0] in ("flag", "default") for leaf in self.sources_of(write, 3))

    def sources_of(self, write: Any, depth: int) -> list[Any]:
        found: list[Any] = [write]
        if depth and write.r1 - write.r0 <= 4:
            for _number, _key, written in self.m.reads[write.r0 : write.r1]:
                for part in parts(written):
                    found += self.sources_of(part, depth - 1)
        return found

    def tells(self, branch: Branch) -> bool:
        """Whether a branch says something: its condition saw an input."""
        return any(self.origins(r0, r1) for _node, _value, r0, r1 in branch.operands or ())

    # ------------------------------------------------------------------ decisions
    def branch_decision(self, branch: Branch) -> Decision:
        result = "undecided" if not isinstance(branch.result, bool) else "true" if branch.result else "false"
        node = branch.node
        word = "assert " if isinstance(node, ast.Assert) else "if "
        text = ast.unparse(node) if isinstance(node, ast.IfExp) else word + ast.unparse(node.test)
        readings = tuple(
            Reading(ast.unparse(node), show(value), self.origins(r0, r1))
            for node, value, r0, r1 in branch.operands or ()
        )
        return Decision("branch", Place(branch.file, branch.line, text), result, _distinct(readings))

    def write_decision(self, write: Any, key: str, value: Any) -> Decision:
        shown = show(value)
        reading = Reading(key, shown, self.origins(write.r0, write.r1))
        return Decision(
            "write", naming_place(self.m, [write], key), f"{key} = {shown}",
            (reading,) if reading.origins else (),
        )  # fmt: skip

    def choice(self) -> tuple[Decision, ...]:
        worker = self.done.verdict.worker
        if worker is None or not worker.file:
            return ()
        where = self.m.chosen_at.get((worker.module, worker.cls))
        place = Place(worker.file, worker.line, self.m.sources.line(worker.file, worker.line))
        if where is not None:
            place = Place(where[0], where[1], self.m.sources.line(*where))
        return (Decision("choice", place, worker.cls),)

    # ------------------------------------------------------------------ origins
    def origins(self, r0: int, r1: int) -> tuple[Origin, ...]:
        """Where the values that an expression read came from: what was given first, then the nearest."""
        known = self.known_origins.get((r0, r1))
        if known is None:
            known = self.known_origins[(r0, r1)] = self.find_origins(r0, r1)
        return known

    def find_origins(self, r0: int, r1: int) -> tuple[Origin, ...]:
        found: dict[str, Origin] = {}
        visited: set[int] = set()
        ahead = Ahead(r0, r1)
        variable: str | None = None
        while ahead and len(found) < MOST_FOUND:
            start, end, depth = ahead.next()
            for number, key, written in self.reads(start, end, depth, ahead):
                if number == self.environ:
                    variable = str(key)
                    origin = self.variable(variable, written)
                    found.setdefault(origin.text, origin)
                    continue
                for write in parts(written):
                    if write.seq in visited or write.leads:
                        continue
                    visited.add(write.seq)
                    stands_for = self.stands_for(number) or variable if key == "default" else None
                    if write.leaf is not None:
                        origin = self.leaf(write)
                        found.setdefault(origin.text, origin)
                    elif write.r0 == write.r1 and self.configures(number, key):
                        origin = self.set_by(write, key, self.m.objects[number].slots.get(key, ABSENT))
                        found.setdefault(origin.text, origin)
                    elif stands_for is not None:
                        if self.m.environ.slots.get(stands_for, ABSENT) is ABSENT:
                            found.setdefault("default", Origin("default", stands_for, self.deepest(write)))
                    else:
                        ahead.add(write.r0, write.r1, depth + 1)
        ranked = sorted(found.values(), key=lambda origin: _RANKS.index(origin.kind))
        return tuple(ranked[:MOST_ORIGINS])

    def reads(self, start: int, end: int, depth: int, ahead: Ahead) -> Iterator[tuple[int, Any, Any]]:
        """The reads of an expression, its calls aside: of a call, what it returns lies ahead.

        So does, a step later, what the called function's own conditions read.
        """
        m, window = self.m, (start, end)
        while start < end:
            inside = (call for call in m.calls.get(start, ()) if call.end <= end and window not in call.returns)
            made = max(inside, key=lambda call: call.end, default=None)
            if made is None:
                yield m.reads[start]
                start += 1
                continue
            for r0, r1 in made.returns:
                ahead.add(r0, r1, depth + 1)
            for branch in m.branches[made.b0 : made.b1]:
                if branch.function is made.function:
                    for _node, _value, r0, r1 in branch.operands or ():
                        ahead.add(r0, r1, depth + 2)
            start = made.end

    def stands_for(self, number: int) -> str | None:
        """The variable that an object with a default stands for, by the object's own ``name``."""
        owner = self.m.objects.get(number)
        name = None if owner is None else owner.slots.get("name")
        if owner is None or not isinstance(name, str):
            return None
        if isinstance(owner.slots.get("default"), str):
            self.texts.add(name)
        return name

    def variable(self, name: str, write: Any) -> Origin:
        """A variable as it was read: set by the tree on the way, or as the launch gives it."""
        if write is not None:
            value = self.m.environ.slots.get(name, ABSENT)
            return Origin("hook", f"{name}={show(value)}", naming_place(self.m, [write], name))
        given = self.done.inputs.environ.get(name)
        return Origin("variable", f"{name} is not set" if given is None else f"{name}={shown(given)}")

    def set_by(self, write: Any, key: Any, value: Any) -> Origin:
        """A field that the tree's own code sets to a constant: a hook, a handler."""
        return Origin("hook", f"{key} = {show(value)}", naming_place(self.m, [write], str(key)))

    def leaf(self, write: Any) -> Origin:
        kind, text = write.leaf
        kinds: dict[str, OriginKind] = {"flag": "flag", "default": "default", "config": "config"}
        place = place_of(self.m, write) if kind == "default" and write.file else None
        return Origin(kinds[kind], text, place)

    def deepest(self, write: Any) -> Place:
        """The line where a constant default stands."""
        for _ in range(6):
            nexts = [part for _number, _key, written in self.m.reads[write.r0 : write.r1] for part in parts(written)]
            if not nexts:
                break
            write = nexts[0]
        return place_of(self.m, write)


def _distinct(readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    return tuple(dict.fromkeys(readings))


def deciding_variables(decisions: Sequence[Decision]) -> tuple[str, ...]:
    """Environment variables that a chain reads, whether they are set or not."""
    origins = (
        origin
        for decision in decisions
        for reading in decision.readings
        for origin in reading.origins
        if origin.kind == "variable"
    )
    return tuple(dict.fromkeys(origin.text.split("=")[0].split(" ")[0] for origin in origins))
