"""The inputs that a tree's choice may hang on, found in one evaluation of it.

Three kinds of conditions point to them: those of the choice itself; those that set a field which the
choice or the event loop reads, whichever way they went; and those that raise or return in front of such
a line. What such a condition reads (a variable, a flag, a default) is an input; the constants it is
compared with give the values to try.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pathtrace.tracer.chain import Slice
from pathtrace.tracer.evaluation import Evaluated
from pathtrace.tracer.naming import parts as parts_of

GIVEN = "given"
UNSET = "unset"
MOST_VALUES = 4
DEPTH, SIMPLE = 3, 6  # how far an input is followed back, and how much a simple assignment reads
MOST_READS = 200  # an operand that reads more is the outcome of a whole computation
_ON_OFF = ("1", "0")


@dataclass(frozen=True)
class Input:
    """A variable, a switch (a flag without a value) or an option (a flag with one), as the user writes it."""

    name: str
    kind: Literal["variable", "switch", "option"]

    def words(self, value: str) -> tuple[str, ...]:
        """What the launch has for this value; a variable has no words."""
        if self.kind == "variable":
            return ()
        return (self.name,) if self.kind == "switch" else (self.name, value)


@dataclass(frozen=True)
class Lead:
    """What points to an input: the values to try, and the conditions that read it with their results."""

    values: tuple[str, ...]
    conditions: frozenset[tuple[str, int, str]]


Found = dict[Input, Lead]
_Values = dict[Input, dict[str, None]]


class Finder:
    """Finds the inputs in evaluations of one tree.

    Attributes:
        algorithm: the record's field for the algorithm.
        fields: fields that the choice or the event loop reads; they grow with each evaluation.
        fixed: destinations of flags that are no inputs: the launch gives them, or they name a model.
    """

    def __init__(self, algorithm: str, fixed: frozenset[str], variables: frozenset[str]) -> None:
        self.algorithm = algorithm
        self.fields = {algorithm}
        self.fixed = fixed | {algorithm}
        self.variables = variables
        self._written: dict[int, frozenset[str]] = {}
        self._blocks: dict[int, dict[int, list[ast.stmt]]] = {}
        self._keep: list[ast.AST] = []

    def inputs(self, done: Evaluated) -> Found:
        """The inputs and the values to try, in the order of the conditions that read them."""
        parser = done.machine.external_state.get("parser")
        if parser is None:
            return {}
        by_dest = {action.dest: action for action in parser._actions if action.option_strings}
        chain = Slice(done)
        self.learn(done, chain, by_dest)
        found: dict[Input, dict[str, None]] = {}
        conditions: dict[Input, set[tuple[str, int, str]]] = {}
        for name, place in self.loop_fields(done).items():
            if name in by_dest:
                conditions.update((item, {place}) for item in self.flag(found, by_dest[name], ()))
        for branch in self.relevant(done, chain):
            here = (branch.file, branch.line, str(branch.result) if isinstance(branch.result, bool) else "")
            for item in self.read_by(done, branch, by_dest, found):
                conditions.setdefault(item, set()).add(here)
        return {
            item: Lead(tuple(values)[:MOST_VALUES], frozenset(conditions.get(item, ())))
            for item, values in found.items()
            if values
        }

    def read_by(self, done: Evaluated, branch: Any, by_dest: dict[str, Any], found: _Values) -> Iterator[Input]:
        """The inputs that a condition reads."""
        parser = done.machine.external_state["parser"]
        for node, _value, r0, r1 in branch.operands or ():
            constants = tuple(_compared(branch.node.test, node))
            sources = _sources(done.machine, r0, r1) if r1 - r0 <= MOST_READS else []
            for kind, text in sources:
                word = text.split("=")[0].split(" ")[0]
                if kind == "variable" and word not in self.variables:
                    item = Input(word, "variable")
                    values = (*_ON_OFF, *(value for value in constants if isinstance(value, str)))
                    found.setdefault(item, {}).update(dict.fromkeys(values))
                    yield item
                action = by_dest.get(word) if kind == "default" else _flag(parser, word) if kind == "flag" else None
                if action is not None:
                    yield from self.flag(found, action, constants if len(sources) == 1 else ())
            for name in _attributes(node):
                if name in by_dest:
                    yield from self.flag(found, by_dest[name], constants)

    def flag(self, found: _Values, action: Any, constants: Iterable[Any]) -> Iterator[Input]:
        """Add a flag with the values that the constants give."""
        if action.dest in self.fixed or action.required:
            return
        name = next((flag for flag in action.option_strings if flag.startswith("--")), action.option_strings[0])
        if action.nargs == 0:
            item = Input(name, "switch")
            found.setdefault(item, {})[GIVEN] = None
            yield item
            return
        values = {str(value): None for value in constants if _accepts(action, value)}
        if values:
            item = Input(name, "option")
            found.setdefault(item, {}).update(values)
            yield item

    # ------------------------------------------------------------------ which conditions count
    def learn(self, done: Evaluated, chain: Slice, by_dest: dict[str, Any]) -> None:
        """Take up the fields that the choice and the event loop read."""
        if done.run.choice is None:
            return
        for branch in _starts(done, chain):
            self.fields |= _attributes(branch.node.test) & by_dest.keys()
        self.fields |= {key for _number, key, _write in self.loop_reads(done) if isinstance(key, str)} & by_dest.keys()

    def loop_reads(self, done: Evaluated) -> list[tuple[int, Any, Any]]:
        """What the scheduler's switch between the two event loops is made from."""
        m = done.machine
        partial = m.external_state.get("partial")
        if partial is None or done.run.choice is None:
            return []
        write = m.writers.get((partial.object.slots.number, "enable_overlap"))
        return list(m.reads[write.r0 : write.r1]) if write else []

    def loop_fields(self, done: Evaluated) -> dict[str, tuple[str, int, str]]:
        """Fields that the event loop reads, with the line that set each.

        All fields, where the import of the chosen module ends the launch.
        """
        if done.run.refused and done.run.phase == "dispatch":
            return {name: ("", 0, name) for name in sorted(self.fields)}
        found: dict[str, tuple[str, int, str]] = {}
        for _number, key, write in self.loop_reads(done):
            if key in self.fields:
                found[key] = (write.file, write.line, key) if write else ("", 0, key)
        return found

    def relevant(self, done: Evaluated, chain: Slice) -> list[Any]:
        """The branches that point to inputs, each line once, in the order in which they ran.

        Where the launch is refused before the choice, those that lead to the raise.
        """
        m = done.machine
        chosen: dict[int, Any] = {}
        for start in _starts(done, chain):
            for branch in chain.above(start):
                chosen[branch.seq] = branch
                for _node, _value, r0, r1 in branch.operands or ():
                    for key, _written, write in chain.config_writes(r0, r1):
                        if key in self.fields:
                            chosen.update((above.seq, above) for above in chain.above(write.ctrl))
        early = done.run.refused and done.run.phase != "dispatch"
        for branch in () if early else m.branches:
            if branch.seq not in chosen and (self.steers(branch.node) or self.guards(branch)):
                chosen[branch.seq] = branch
        lines = {(branch.file, branch.line): branch for _seq, branch in sorted(chosen.items(), reverse=True)}
        return sorted(lines.values(), key=lambda branch: branch.seq)

    def steers(self, node: ast.AST) -> bool:
        """Whether a statement, somewhere in it, sets a field of the choice."""
        written = self._written.get(id(node))
        if written is None:
            self._keep.append(node)
            written = self._written[id(node)] = frozenset(_written(node))
        return not written.isdisjoint(self.fields)

    def guards(self, branch: Any) -> bool:
        """Whether a branch raises beside a line that sets a field of the choice, or returns before one."""
        node = branch.node
        if branch.function is None or not isinstance(node, ast.If):
            return False
        ends = [
            type(item)
            for side in (node.body, node.orelse)
            for item in side
            if isinstance(item, (ast.Raise, ast.Return))
        ]
        if not ends:
            return False
        block = self.block(branch.function.node, node)
        if ast.Raise in ends and any(not isinstance(item, _COMPOUND) and self.steers(item) for item in block):
            return True
        after = block[block.index(node) + 1 :] if ast.Return in ends and node in block else []
        return any(self.steers(item) for item in after)

    def block(self, function: ast.AST, node: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement of a function stands in."""
        blocks = self._blocks.get(id(function))
        if blocks is None:
            self._keep.append(function)
            blocks = self._blocks[id(function)] = {}
            for item in ast.walk(function):
                for name in ("body", "orelse", "finalbody"):
                    side = getattr(item, name, None)
                    if isinstance(side, list):
                        blocks.update((id(statement), side) for statement in side)
        return blocks.get(id(node), [])


_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


def _starts(done: Evaluated, chain: Slice) -> Iterator[Any]:
    """The branches of the choice itself, or those above the raise that refuses the launch."""
    choosers = done.machine.choosers
    for branch in chain.starts():
        function = branch.function
        own = function is None or id(function.node) in choosers or "*partial*" in function.slots
        if done.run.refused or own:  # a method of another class may have the name of the scheduler's
            yield branch


def _sources(m: Any, r0: int, r1: int) -> list[tuple[str, str]]:
    """The inputs that reads saw, as they are or through a few simple assignments.

    What a value far away was worked out from, a model's config say, is no input of the condition.
    """
    found: dict[tuple[str, str], None] = {}
    environ = m.environ.slots.number
    stack = [(r0, r1, 0)]
    while stack:
        start, end, depth = stack.pop()
        for number, key, written in m.reads[start:end]:
            if number == environ:
                found[("variable", str(key))] = None
                continue
            for write in parts_of(written):
                if write.leaf is not None:
                    found[write.leaf] = None
                elif depth < DEPTH and write.r1 - write.r0 <= SIMPLE:
                    stack.append((write.r0, write.r1, depth + 1))
    return list(found)


def _written(node: ast.AST) -> Iterator[str]:
    """Names that a statement sets: attributes, keywords of a call, keys of a dictionary."""
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store):
            yield item.attr
        elif isinstance(item, ast.keyword) and item.arg:
            yield item.arg
        elif isinstance(item, ast.Dict):
            yield from (key.value for key in item.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _attributes(node: ast.AST) -> set[str]:
    return {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}


def _flag(parser: Any, word: str) -> Any:
    """The action of a flag as typed, prefixes included."""
    known: dict[str, argparse.Action] = parser._option_string_actions
    if word in known or not word.startswith("--"):
        return known.get(word)
    return next((action for flag, action in known.items() if flag.startswith(word)), None)


def _compared(test: ast.AST, operand: ast.AST) -> Iterator[Any]:
    """Constants that a condition compares an operand with; for a limit, a number on either side of it.

    The operand is known by its text: a condition that was cut short did not read all of its places.
    """
    wanted = ast.dump(operand)
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        op, sides = type(node.ops[0]), (node.left, node.comparators[0])
        first = ast.dump(sides[0]) == wanted
        if not first and ast.dump(sides[1]) != wanted:
            continue
        try:
            value = ast.literal_eval(sides[1] if first else sides[0])
        except (ValueError, TypeError, SyntaxError):
            continue
        if isinstance(value, (list, tuple, set, frozenset)):
            yield from value
        elif isinstance(value, int) and not isinstance(value, bool):
            below = op in ((ast.Lt, ast.GtE) if first else (ast.Gt, ast.LtE))
            yield from (value - 1, value) if below else (value, value + 1)
        else:
            yield value


def _accepts(action: Any, value: Any) -> bool:
    """Whether a constant is worth trying: of the option's kind, and not what it has anyway."""
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float, str)) or value == action.default:
        return False
    if action.choices is not None:
        return value in action.choices
    if action.type in (int, float):
        return isinstance(value, (int, float)) and value >= 1
    return isinstance(value, str) and value != ""


def given_flags(parser: Any, words: Iterable[str]) -> frozenset[str]:
    """Destinations of the flags among the words of a launch."""
    actions = (_flag(parser, word.split("=")[0]) for word in words if word.startswith("--"))
    return frozenset(action.dest for action in actions if action is not None)
