"""What would change the answer: the smallest changes of inputs that lead to another class.

Candidates are the inputs that the chain names, with values taken from its conditions. Each is tried by
evaluating the launch again.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

from pathtrace.tracer.answer import Change, Decision
from pathtrace.tracer.eval.operators import plain
from pathtrace.tracer.evaluation import Evaluated, Evaluator, Inputs
from pathtrace.tracer.verdict import Verdict

MOST_EVALUATIONS = 200
MOST_SECONDS = 10.0  # of processor time; said when reached
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


def search(
    evaluator: Evaluator, edits: Sequence[Edit], inputs: Inputs, base: Verdict, expect: str | None
) -> tuple[tuple[Change, ...], str | None]:
    """Try the edits one at a time, and in pairs where ``expect`` is given and no single one meets it."""
    tried = 0
    started = process_time()

    def spent() -> bool:
        return tried >= MOST_EVALUATIONS or process_time() - started > MOST_SECONDS

    found: list[Change] = []
    seen: set[Any] = set()
    switched: set[str] = set()

    def attempt(chosen: tuple[Edit, ...]) -> Change | None:
        nonlocal tried
        tried += 1
        changed = inputs
        for edit in chosen:
            changed = edit.apply(changed)
        result = evaluator.evaluate(changed, whole=False).verdict
        if result.outcome != "worker" or _same_class(result, base):
            return None
        return Change(
            tuple(edit.text for edit in chosen), result.outcome, result.worker, result.event_loop, result.refusal
        )

    for edit in edits:
        if spent():
            break
        if edit.variable is not None and edit.variable[0] in switched:
            continue  # another value of it already leads elsewhere
        change = attempt((edit,))
        if change is None or (change.worker, change.event_loop, edit.variable and edit.variable[0], edit.drop) in seen:
            continue
        seen.add((change.worker, change.event_loop, edit.variable and edit.variable[0], edit.drop))
        found.append(change)
        if edit.variable is not None:
            switched.add(edit.variable[0])
        if expect is None and len(found) >= MOST_SHOWN:
            break
    if expect is not None and not any(_meets(change, expect) for change in found):
        for index, first in enumerate(edits):
            for second in edits[index + 1 :]:
                if spent() or any(_meets(change, expect) for change in found):
                    break
                change = attempt((first, second))
                if change is not None and _meets(change, expect):
                    found.append(change)
    note = f"the search for changes stopped after {tried} evaluations: there may be others" if spent() else None
    if expect is not None:
        found.sort(key=lambda change: not _meets(change, expect))
    return tuple(found), note


def _same_class(result: Verdict, base: Verdict) -> bool:
    if result.worker is None or base.worker is None:
        return result.worker is base.worker
    return (result.worker.module, result.worker.cls) == (base.worker.module, base.worker.cls)


def _meets(change: Change, expect: str) -> bool:
    return change.worker is not None and expect in (change.worker.cls, f"{change.worker.module}.{change.worker.cls}")
