"""Paths that part at an undecided condition, and meet again.

Each branch runs from the same state, its changes are taken down and undone, and the states are merged: a
slot that differs becomes a guarded value. Where conditions grow wide, some of what is known is forgotten;
that can only make an answer less decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pathtrace.tracer.eval.conditions import Guarded, breadth
from pathtrace.tracer.eval.exits import LEAVES, Dead, Frame, Pending, Raised, Signal
from pathtrace.tracer.eval.heap import Heap, Write
from pathtrace.tracer.eval.slots import Slots
from pathtrace.tracer.eval.values import ABSENT, Unknown

MOST_CASES = 48
MOST_TERMINALS = 12
MOST_BREADTH = 6
MANY_NODES = 40_000  # diagrams from here on are kept coarser: less is decided, but it ends
COARSE_TERMINALS = 3
COARSE_BREADTH = 2
WIDE = 4  # times the breadth: how many atoms a value may hang on before each of its cases gets a name


class Forks(Heap):
    """A heap whose state can be forked and merged."""

    @property
    def coarse(self) -> bool:
        """Whether the diagrams have grown so large that new ones must stay small."""
        return self.conditions.size() > MANY_NODES

    @property
    def breadth(self) -> int:
        """The number of atoms from which a condition gets a name of its own."""
        return COARSE_BREADTH if self.coarse else MOST_BREADTH

    @property
    def terminals(self) -> int:
        """The number of values from which a guarded value is simply unknown."""
        return COARSE_TERMINALS if self.coarse else MOST_TERMINALS

    def frame_for(self, kinds: tuple[str, ...]) -> Frame:
        """The innermost frame of one of these kinds."""
        for frame in reversed(self.frames):
            if frame.kind in kinds or frame.kind == "finally":
                return frame
        raise LookupError(kinds)

    def leave(self, kinds: tuple[str, ...], value: Any) -> None:
        """Put the current path, which ends here, into the frame that catches it."""
        frame = self.frame_for(kinds)
        if frame.kind == "finally":
            value = (kinds, value)
        diff = {} if frame.kind == "root" else self.diff(frame.mark)  # nothing goes on after the root
        number = 0
        if "root" not in kinds or any(frame.stops for frame in self.frames):
            number = self.exits = self.exits + 1
        frame.catch(Pending(self.pc, value, diff, number))

    def feasible(self, test: Any) -> Any:
        """The path condition and ``test``; False where they exclude each other."""
        return self.conditions.both(self.pc, test)

    def fork(self, cases: Sequence[tuple[Any, Callable[[], Any]]]) -> Any:
        """Run each case from the current state under its condition; merge states and results.

        A case that returns a :class:`Signal` or raises leaves; if all leave, so does :class:`Dead`.
        """
        conditions = self.conditions
        base = self.pc
        possible = [(path, thunk) for test, thunk in cases if (path := conditions.both(base, test)) is not False]
        if not possible:
            raise Dead
        if len(possible) == 1:
            self.pc, thunk = possible[0]
            return thunk()
        outcomes: list[tuple[Any, Any, dict[Any, Any]]] = []
        file, line, ctrl = self.file, self.line, self.ctrl
        depth = len(self.frames)
        parted, left = self.parted, self.exits
        for path, thunk in possible:
            self.pc = path
            mark = len(self.trail)
            self.part()
            try:
                result = thunk()
                if type(result) is Signal:
                    self.leave(LEAVES[result.kind], result.value)
                else:
                    outcomes.append((self.pc, result, self.diff(mark)))
            except Raised as raised:
                del self.frames[depth:]
                self.leave(("try", "root"), raised)
            except Dead:
                del self.frames[depth:]
            self.undo(mark)
            self.file, self.line, self.ctrl = file, line, ctrl
        self.join(parted)
        if not outcomes:
            self.pc = base
            raise Dead
        result = self.merge(outcomes)
        if breadth(self.pc) > self.breadth and breadth(self.pc) > breadth(base):
            self.narrow(base, left)
        return result

    def narrow(self, base: Any, left: int) -> None:
        """Make the path condition narrower after paths have left.

        Exceptions that nothing stops are not worth a condition this wide. Other early exits since
        ``left`` get names of their own where what they hang on is wide: they and the path that goes on
        still exclude each other and cover what they covered.
        """
        conditions = self.conditions
        self.pc = base
        for frame in self.frames:
            for pending in frame.pending:
                if pending.number <= left:
                    continue
                test = conditions.restrict(pending.test, self.pc)
                if breadth(test) > self.breadth:
                    test = conditions.name(test, self.file, self.line)
                pending.test = conditions.both(self.pc, test)
                self.pc = conditions.both(self.pc, conditions.negation(test))

    def merge(self, outcomes: list[tuple[Any, Any, dict[Any, Any]]]) -> Any:
        """Join states given as differences from the current one; the result is guarded likewise."""
        conditions = self.conditions
        care = False
        for test, _value, _diff in outcomes:
            care = conditions.either(care, test)
        self.pc = care
        if len(outcomes) == 1:
            _test, value, diff = outcomes[0]
            self.replay(diff)
            return value
        tests = [conditions.restrict(test, care) for test, _value, _diff in outcomes]
        tests = [
            conditions.name(test, self.file, self.line) if breadth(test) > self.breadth else test for test in tests
        ]
        places: dict[Any, tuple[Slots, Any]] = {}
        for _test, _value, diff in outcomes:
            for where, (slots, key, _new, _write) in diff.items():
                places.setdefault(where, (slots, key))
        for where, (slots, key) in places.items():
            current = slots.get(key, ABSENT)
            news, writes = [], []
            for _test, _value, diff in outcomes:
                entry = diff.get(where)
                news.append(current if entry is None else entry[2])
                write = self.writers.get(where) if entry is None else entry[3]
                if write is not None and write not in writes:
                    writes.append(write)
            if key == "" and type(current) is tuple:
                value = self.merge_lists(tests, news, current)
            else:
                value = self.choose(tests, news)
            write = writes[0] if len(writes) == 1 else None
            if len(writes) > 1:
                write = Write(self.tick(), self.file, self.line, self.ctrl, 0, 0)
                write.parts = tuple(writes)
            self.store(slots, key, value, write)
        return self.choose(tests, [value for _test, value, _diff in outcomes])

    def choose(self, tests: list[Any], values: list[Any]) -> Any:
        """The guarded value: ``values[i]`` where ``tests[i]`` holds.

        Several unknown values become one: they are equally unknown, and keeping them apart would
        multiply the cases of everything made from them.
        """
        if not any(type(value) is Unknown or type(value) is Guarded for value in values):
            return self._join(tests, values)
        unknowns = {}
        count = 0
        for value in values:
            if type(value) is Unknown:
                unknowns[value.text] = value
                count += 1
            elif type(value) is Guarded:
                for leaf in self.conditions.terminals(value):
                    count += 1
                    if type(leaf) is Unknown:
                        unknowns[leaf.text] = leaf
        most = self.terminals
        if len(unknowns) > 1 or count > most:
            roots = frozenset(root for unknown in unknowns.values() for root in unknown.roots)
            place = f"{self.file}:{self.line}"
            nth = self.unknowns[place] = self.unknowns.get(place, 0) + 1
            one = Unknown(f"value #{nth} of {place}", roots)
            values = [self._forget(value, one, count > 4 * most) for value in values]
        return self._join(tests, values)

    def _forget(self, value: Any, one: Unknown, everything: bool) -> Any:
        if type(value) is Unknown or everything and type(value) is Guarded:
            return one
        if type(value) is not Guarded:
            return value
        result: Any = one
        for test, leaf in self.conditions.cases(value):
            if type(leaf) is not Unknown:
                result = self.conditions.ite(test, leaf, result)
        return result

    def _join(self, tests: list[Any], values: list[Any]) -> Any:
        result = values[-1]
        for test, value in zip(reversed(tests[:-1]), reversed(values[:-1]), strict=True):
            result = self.conditions.ite(test, value, result)
        if breadth(result) > WIDE * self.breadth:
            cases = self.conditions.cases(result)
            result = cases[-1][1]
            for test, value in cases[:-1]:
                result = self.conditions.ite(self.conditions.name(test, self.file, self.line), value, result)
        return result

    def merge_lists(self, tests: list[Any], news: list[Any], base: tuple[Any, ...]) -> Any:
        """Merge list contents that grew from a common start: elements under conditions, in order.

        Like :meth:`choose`, it takes the first whose test holds: tests may overlap after :meth:`narrow`.
        """
        from pathtrace.tracer.eval.values import Maybe

        if any(type(new) is not tuple for new in news):
            return self.choose(tests, news)
        common = 0
        shortest = min(len(new) for new in news)
        while common < shortest and all(new[common] is news[0][common] for new in news):
            common += 1
        merged = list(news[0][:common])
        earlier: Any = False
        for test, new in zip(tests, news, strict=True):
            test, earlier = self.conditions.ite(earlier, False, test), self.conditions.either(earlier, test)
            for item in new[common:]:
                if type(item) is Maybe:
                    merged.append(Maybe(self.conditions.both(test, item.test), item.value))
                else:
                    merged.append(Maybe(test, item))
        return tuple(merged)

    # ------------------------------------------------------------------ frames
    def run_frame(self, kind: str, thunk: Callable[[], Any]) -> Any:
        """Run ``thunk`` in a frame and merge the early exits that it caught into its result.

        The thunk's own result counts where no early exit was taken. Raises :class:`Dead` where
        nothing reaches the end.
        """
        mark, parted = len(self.trail), self.parted
        frame = Frame(kind, mark)
        self.frames.append(frame)
        depth = len(self.frames)
        alive = True
        value: Any = None
        try:
            value = thunk()
            if type(value) is Signal and frame.pending:
                if LEAVES[value.kind] == (kind,):
                    value = value.value
                else:
                    self.leave(LEAVES[value.kind], value.value)
                    alive = False
        except Raised as raised:
            if not frame.pending:
                raise
            del self.frames[depth - 1 :]
            self.leave(("try", "root"), raised)  # the rest raises; the paths that left early go on
            alive = False
        except Dead:
            alive = False
            if not frame.pending:
                raise
        finally:
            del self.frames[depth - 1 :]
            self.join(parted)
        if not frame.pending:
            return value
        outcomes = [(pending.test, pending.value, pending.diff) for pending in frame.pending]
        if alive:
            outcomes.append((self.pc, value, self.diff(mark)))
        self.undo(mark)
        return self.merge(outcomes)

    # ------------------------------------------------------------------ guarded values
    def split(self, value: Any) -> list[tuple[Any, Any]]:
        """The cases of a value that the path condition allows."""
        value = self.conditions.restrict(value, self.pc)
        if type(value) is not Guarded:
            return [(True, value)]
        cases = [
            (test, terminal)
            for test, terminal in self.conditions.cases(value)
            if self.conditions.both(self.pc, test) is not False
        ]
        if len(cases) > MOST_CASES:
            roots = frozenset(root for atom in self.conditions.support(value).values() for root in atom.roots)
            return [(True, Unknown(f"one of {len(cases)} values at {self.file}:{self.line}", roots))]
        return cases

    def lift(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call ``function`` for every combination of the cases of its arguments."""
        for index, arg in enumerate(args):
            if type(arg) is Guarded:
                cases = self.split(arg)
                if len(cases) == 1:
                    return self.lift(function, *args[:index], cases[0][1], *args[index + 1 :])
                return self.fork(
                    [
                        (test, partial(self.lift, function, *args[:index], leaf, *args[index + 1 :]))
                        for test, leaf in cases
                    ]
                )
        return function(*args)
