"""What would change the answer: the smallest changes of inputs that lead to another class.

Candidates are the inputs that the chain names, with values taken from its conditions. Each is tried by
evaluating the launch again.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from time import process_time
from typing import Any

from pathtrace.tracer.answer import Change, Decision
from pathtrace.tracer.chain import Slice
from pathtrace.tracer.eval.operators import plain
from pathtrace.tracer.evaluation import Evaluated, Evaluator, Inputs
from pathtrace.tracer.table_algorithms import NAME as ALGORITHM
from pathtrace.tracer.table_algorithms import Algorithms
from pathtrace.tracer.verdict import Verdict

MOST_EVALUATIONS = 200
MOST_SECONDS = 10.0  # of processor time; said when reached
MOST_SECONDS_TO_EXPECTED = 60.0  # the same where a class is expected: then the change is the question
MOST_SHOWN = 6


@dataclass(frozen=True)
class Edit:
    """One change of one input: an instruction, and the inputs that it makes."""

    text: str
    variable: tuple[str, str | None] | None = None
    drop: tuple[str, ...] = ()
    add: tuple[str, ...] = ()

    def apply(self, inputs: Inputs) -> Inputs:
        """The inputs with this change."""
        environ = dict(inputs.environ)
        if self.variable is not None:
            name, value = self.variable
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value
        argv = list(_without(inputs.argv, self.drop)) if self.drop else list(inputs.argv)
        return replace(inputs, argv=(*argv, *self.add), environ=environ)


def _without(argv: Sequence[str], drop: tuple[str, ...]) -> Iterator[str]:
    index = 0
    while index < len(argv):
        if tuple(argv[index : index + len(drop)]) == drop:
            index += len(drop)
            continue
        yield argv[index]
        index += 1


def candidates(done: Evaluated, decisions: Sequence[Decision], texts: Set[str] = frozenset()) -> list[Edit]:
    """Edits of the inputs that the chain depends on: the likeliest first, and last what has modules run again.

    ``texts``: variables that are no switches, so that neither 1 nor 0 is tried.
    """
    variables: dict[str, set[str]] = {}
    flags: dict[str, None] = {}
    defaults: dict[str, None] = {}
    for decision in reversed(decisions):
        for reading in decision.readings:
            for origin in reading.origins:
                if origin.kind == "variable":
                    variables.setdefault(origin.text.split("=")[0].split(" ")[0], set()).add(reading.value)
                elif origin.kind == "flag":
                    flags.setdefault(origin.text)
                elif origin.kind == "default":
                    defaults.setdefault(origin.text)
    constants = _constants(decisions)
    edits: list[Edit] = []
    for name, seen in variables.items():
        current = done.inputs.environ.get(name)
        for value in () if name in texts else ("1", "0"):
            # A switch that is on already is not tried on again, whatever turns it on.
            if current != value and not seen <= ({"True"} if value == "1" else {"False", "None"}):
                edits.append(Edit(f"set {name}={value}", variable=(name, value)))
        if current is not None:
            edits.append(Edit(f"unset {name}", variable=(name, None)))
    if done.inputs.kwargs is None:
        parser = done.machine.external_state.get("parser")
        edits += _flag_edits(parser, done.inputs, flags, defaults, constants)
    at_load = done.machine.load_reads
    return sorted(edits, key=lambda edit: edit.variable is not None and edit.variable[0] in at_load)


def _flag_edits(
    parser: Any, inputs: Inputs, flags: dict[str, None], defaults: dict[str, None], constants: dict[str, list[Any]]
) -> list[Edit]:
    drops: list[Edit] = []
    values: list[Edit] = []
    if parser is None:
        return []
    by_dest = {action.dest: action for action in parser._actions}
    by_flag: dict[str, argparse.Action] = parser._option_string_actions
    for text in flags:
        word = text.split(" ")[0].split("=")[0]
        action = by_flag.get(word) or next((by_flag[flag] for flag in by_flag if flag.startswith(word)), None)
        if action is None:
            continue
        given = _given_words(inputs.argv, text, word)
        if action.nargs == 0:
            drops.append(Edit(f"drop {word}", drop=given))
            continue
        for value in constants.get(action.dest, []):
            if _accepts(action, value) and str(value) not in given:
                values.append(Edit(f"{word} {value}", drop=given, add=(word, str(value))))
        if not action.required and action.dest not in ("model_path",):
            drops.append(Edit(f"drop {word}", drop=given))
    for dest in defaults:
        action = by_dest.get(dest)
        if action is None or not action.option_strings:
            continue
        word = next((flag for flag in action.option_strings if flag.startswith("--")), action.option_strings[0])
        if action.nargs == 0:
            drops.append(Edit(f"add {word}", add=(word,)))
            continue
        for value in constants.get(dest, []):
            if _accepts(action, value):
                values.append(Edit(f"{word} {value}", add=(word, str(value))))
    return drops + values


def _given_words(argv: Sequence[str], text: str, word: str) -> tuple[str, ...]:
    for index, item in enumerate(argv):
        if item == word:
            return (item, argv[index + 1]) if text != word and index + 1 < len(argv) and "=" not in text else (item,)
        if item.startswith(word + "="):
            return (item,)
    return (word,)


def _accepts(action: argparse.Action, value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return False
    if action.choices is not None and value not in action.choices:
        return False
    if action.type is int:
        return isinstance(value, int)
    return True


def _constants(decisions: Sequence[Decision]) -> dict[str, list[Any]]:
    """Values that the conditions of the chain compare each field with, and their neighbours."""
    found: dict[str, list[Any]] = {}
    for decision in decisions:
        text = decision.place.text.split(" ", 1)[-1]
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            names = [side.attr for side in sides if isinstance(side, ast.Attribute)]
            for side in sides:
                try:
                    value = ast.literal_eval(side)
                except (ValueError, TypeError, SyntaxError):
                    continue
                options = list(value) if isinstance(value, (list, tuple, set)) else [value]
                if isinstance(value, int) and not isinstance(value, bool):
                    options = [value, value + 1, value - 1]
                for name in names:
                    known = found.setdefault(name, [])
                    known += [option for option in options if plain(option) and option not in known]
    return found


class Search:
    """Tries edits: one at a time, and in pairs where a class is expected and no single one gives it."""

    def __init__(self, evaluator: Evaluator, inputs: Inputs, base: Verdict, expect: str | None) -> None:
        self.evaluator = evaluator
        self.inputs = inputs
        self.base = base
        self.expect = expect
        self.tried = 0
        self.found: list[Change] = []
        self.further: list[tuple[Edit, Edit]] = []
        self.started = process_time()

    def spent(self) -> bool:
        """Whether the bound on evaluations or time is reached."""
        seconds = MOST_SECONDS if self.expect is None else MOST_SECONDS_TO_EXPECTED
        return self.tried >= MOST_EVALUATIONS or process_time() - self.started > seconds

    def met(self) -> bool:
        """Whether a change gives the expected class."""
        return self.expect is not None and any(_meets(change, self.expect) for change in self.found)

    def attempt(self, *chosen: Edit) -> tuple[Change | None, Evaluated]:
        """The change that these edits make, if they lead to another class."""
        self.tried += 1
        changed = self.inputs
        for edit in chosen:
            changed = edit.apply(changed)
        done = self.evaluator.evaluate(changed, whole=False)
        result = done.verdict
        if result.outcome != "worker" or _same_class(result, self.base):
            return None, done
        words = tuple(edit.text for edit in chosen)
        return Change(words, result.outcome, result.worker, result.event_loop, result.refusal), done

    def singly(self, edits: Sequence[Edit]) -> None:
        """Each edit by itself. Of one variable, the first value that leads elsewhere is enough."""
        seen: set[Any] = set()
        switched: set[str] = set()
        known = {edit.text for edit in edits}
        for edit in edits:
            name = edit.variable and edit.variable[0]
            if self.spent() or self.met() or (self.expect is None and len(self.found) >= MOST_SHOWN):
                return
            if name in switched:
                continue
            change, done = self.attempt(edit)
            if self.expect is not None and (change is None or not _meets(change, self.expect)):
                self.further += [(edit, more) for more in self.behind(done) if more.text not in known]
            key = (change and change.worker, change and change.event_loop, name, edit.drop)
            if change is None or key in seen:
                continue
            seen.add(key)
            self.found.append(change)
            if name is not None:
                switched.add(name)

    def behind(self, done: Evaluated) -> list[Edit]:
        """What the chain of a changed launch offers: it may stop at a condition that was not met before."""
        chain = Slice(done)
        return candidates(done, chain.decisions(), chain.texts)

    def paired(self, edits: Sequence[Edit]) -> None:
        """Pairs of edits, those that one edit brought up first, until one gives the expected class."""
        for first, second in (*self.further, *combinations(edits, 2)):
            if self.spent() or self.met():
                return
            if first.variable is not None and second.variable is not None and first.variable[0] == second.variable[0]:
                continue
            change, _done = self.attempt(first, second)
            if change is not None and self.expect is not None and _meets(change, self.expect):
                self.found.append(change)


def search(
    evaluator: Evaluator, edits: Sequence[Edit], done: Evaluated, expect: str | None
) -> tuple[tuple[Change, ...], str | None]:
    """What leads to another class; with ``expect``, what leads to that one comes first.

    Args:
        evaluator: the one that ``done`` comes from, which is no longer valid afterwards.
        edits: changes that the chain suggests.
        done: the evaluation of the launch as it is.
        expect: the class that is wanted, if any.

    Returns:
        The changes, and a note where the search stopped at its bound.
    """
    if expect is not None:
        edits = (*edits, *(edit for edit in _algorithm_edits(done) if edit.text not in {each.text for each in edits}))
    tries = Search(evaluator, done.inputs, done.verdict, expect)
    tries.singly(edits)
    if expect is not None:
        tries.paired(edits)
        tries.found.sort(key=lambda change: not _meets(change, expect))
    stopped = tries.spent() and not tries.met()
    note = f"the search for changes stopped after {tries.tried} evaluations: there may be others" if stopped else None
    return tuple(tries.found), note


def _algorithm_edits(done: Evaluated) -> list[Edit]:
    """Every other algorithm of the tree."""
    parser = done.machine.external_state.get("parser")
    if done.inputs.kwargs is not None or parser is None or ALGORITHM not in parser._option_string_actions:
        return []
    names = Algorithms()
    names.first(done)
    action = parser._option_string_actions[ALGORITHM]
    text = (done.machine.external_state.get("given_dests") or {}).get(action.dest)
    drop = () if text is None else _given_words(done.inputs.argv, text, text.split(" ")[0].split("=")[0])
    return [Edit(f"{ALGORITHM} {name}", drop=drop, add=(ALGORITHM, name)) for name in names.names if name not in drop]


def _same_class(result: Verdict, base: Verdict) -> bool:
    if result.worker is None or base.worker is None:
        return result.worker is base.worker
    return (result.worker.module, result.worker.cls) == (base.worker.module, base.worker.cls)


def _meets(change: Change, expect: str) -> bool:
    return change.worker is not None and expect in (change.worker.cls, f"{change.worker.module}.{change.worker.cls}")
