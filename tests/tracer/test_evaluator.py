"""The evaluator against Python itself: the same program leaves the same variables.

With one boolean unknown, every variable is a guarded value: restricted to either case it is what Python
gives with the boolean forced. Where the evaluator does not follow, it may say unknown; never something else.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings

from pathtrace.tests.tracer.programs import READ_BACK, programs, run, whole
from pathtrace.tracer.answer import TreeInfo
from pathtrace.tracer.eval import forks
from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.exits import Frame
from pathtrace.tracer.eval.machine import Machine
from pathtrace.tracer.eval.scopes import module_env
from pathtrace.tracer.eval.slots import NUMBERING
from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.eval.values import ABSENT, DictV, Instance, ListV, Maybe, SetV, Unknown

UNKNOWN = "<unknown>"


class OneFile:
    """A tree of one module, ``sglang/prog.py``."""

    info = TreeInfo(given="made", kind="directory", path="made")

    def __init__(self, text: str) -> None:
        self.files = {"sglang/__init__.py": b"", "sglang/prog.py": text.encode("utf-8")}

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def is_dir(self, path: str) -> bool:
        return path == "sglang"

    def listdir(self, path: str) -> tuple[str, ...]:
        return ("__init__.py", "prog.py") if path == "sglang" else ()


class Everything:
    """Packages that are present: all."""

    def __contains__(self, name: object) -> bool:
        return True


def evaluated(text: str) -> tuple[Machine, dict[str, Any]]:
    """A module's variables after the evaluator has run its body as part of an evaluation, not as an import."""
    machine = Machine(Sources(OneFile(text)), {}, {})
    machine.external_state["present"] = Everything()
    machine.frames = [Frame("root", len(machine.trail))]
    module = machine.module("sglang.prog")
    module.slots["__name__"], module.state = module.name, "done"
    body = machine.sources.body(module.name)
    assert body is not None
    machine.file, machine.parted = module.file, NUMBERING.last
    with NUMBERING.signed(1):
        machine.run_frame("module", lambda: machine.exec_block(body, module_env(module)))
    return machine, module.slots


class Reader:
    """Host values of evaluated ones, under a condition; what is not known is :data:`UNKNOWN`."""

    def __init__(self, machine: Machine, care: Any) -> None:
        self.machine = machine
        self.care = care

    def read(self, value: Any) -> Any:
        value = self.machine.conditions.restrict(value, self.care)
        if type(value) is Guarded or type(value) is Unknown:
            return UNKNOWN
        if type(value) is ListV:
            return self.items(value.slots[""], list)
        if type(value) is tuple:
            return self.items(value, tuple)
        if type(value) is DictV:
            if value.havoc:
                return UNKNOWN
            if any(self.may_be_missing(item) for item in value.slots.values()):
                return UNKNOWN
            read = {key: self.read(item) for key, item in value.slots.items()}
            return {key: item for key, item in read.items() if item is not ABSENT}
        if type(value) is SetV:
            there = {key: self.read(item) for key, item in value.slots.items()}
            return UNKNOWN if UNKNOWN in there.values() else {key for key, item in there.items() if item is True}
        if type(value) is Instance and value.native is not ABSENT:
            return self.read(value.native)
        return value

    def may_be_missing(self, item: Any) -> bool:
        item = self.machine.conditions.restrict(item, self.care)
        return type(item) is Guarded and ABSENT in self.machine.conditions.terminals(item)

    def items(self, items: Any, kind: type) -> Any:
        items = self.machine.conditions.restrict(items, self.care)
        if type(items) is not tuple:
            return UNKNOWN
        found = []
        for item in items:
            if type(item) is Maybe:
                there = self.machine.conditions.restrict(item.test, self.care)
                if there is False:
                    continue
                if there is not True:
                    return UNKNOWN
                item = item.value
            found.append(self.read(item))
        return kind(found)


def left(machine: Machine, slots: dict[str, Any], care: Any = True) -> dict[str, Any]:
    """The variables that programs are compared by."""
    reader = Reader(machine, care)
    found = {name: reader.read(slots[name]) for name in READ_BACK}
    for name in ("box", "small"):
        found[name] = reader.read(slots[name].slots["held"]) if type(slots[name]) is Instance else UNKNOWN
    found["reads"] = reader.read(slots["box"].slots["reads"]) if type(slots["box"]) is Instance else UNKNOWN
    return found


def agrees(found: Any, wanted: Any) -> bool:
    """Equal in type and value, unknown parts left out."""
    if found is UNKNOWN or (isinstance(found, str) and UNKNOWN in found):
        return True
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(agrees(one, two) for one, two in zip(found, wanted, strict=True))
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(agrees(found[key], wanted[key]) for key in wanted)
    return bool(found == wanted)


def unknown_in(value: Any) -> bool:
    if isinstance(value, dict):
        return any(unknown_in(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(unknown_in(item) for item in value)
    return value is UNKNOWN


RETURNS_OR_RAISES = """
def f(x):
    try:
        if flag:
            items.append(7)
            return 1
        raise ValueError
    except ValueError:
        items.append(8)
    items.append(9)
    return 2
a = f(1)
"""
SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def compare(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    wrong = {name: (found[name], wanted[name]) for name in wanted if not agrees(found[name], wanted[name])}
    assert not wrong, f"(evaluator, Python): {wrong}"


@SLOW
@given(programs())
def test_a_program_leaves_what_python_leaves(body: str) -> None:
    for flag in (True, False):
        found = left(*evaluated(whole(body, repr(flag))))
        compare(found, run(body, flag))
        assert not unknown_in(found), "everything is given, so everything is known"


@SLOW
@given(programs())
@example("if flag:\n    items.append(1)\nitems.append(2)")
@example("if flag:\n    raise ValueError\nout.append(1)")
@example("if flag:\n    bump(table, by=2)\na = str(dict(table))")
@example("if flag:\n    items.append(4)\na = str(items)\nb = f'{set(items)}'\nc = repr((box.held,))")
@example("for v in [1, 2, 3]:\n    if flag:\n        break\n    out.append(v)\nelse:\n    out.append('else')")
@example("if flag:\n    del items[:1]\nitems = sorted(items, key=str)")
@example(RETURNS_OR_RAISES)
def test_with_one_unknown_each_case_is_what_python_gives(body: str) -> None:
    each_case_is_what_python_gives(body)


@SLOW
@given(programs())
@example("try:\n    if flag:\n        raise KeyError('k')\n    items.append(1)\nexcept KeyError:\n    items.append(2)")
@example("for v in [1, 2, 3]:\n    if flag:\n        break\n    out.append(v)\nelse:\n    out.append('else')")
@example("def f(x):\n    if flag:\n        return x\n    return -x\na = f(3)\nitems.append(a)")
@example(RETURNS_OR_RAISES)
def test_with_every_condition_too_wide_nothing_wrong_is_decided(body: str) -> None:
    with mock.patch.multiple(forks, MOST_BREADTH=0, COARSE_BREADTH=0, WIDE=0):
        each_case_is_what_python_gives(body)


def each_case_is_what_python_gives(body: str) -> None:
    machine, slots = evaluated(whole(body, "os.path.exists('/x')"))
    flag = slots["flag"]
    if type(flag) is Unknown:
        flag = machine.ask(flag.text, flag.roots)
    assert type(flag) is Guarded
    for value in (True, False):
        care = flag if value else machine.conditions.negation(flag)
        compare(left(machine, slots, care), run(body, value))


@pytest.mark.parametrize(
    "body",
    [
        "a = 1 if flag else 2",
        "if flag:\n    a = 1\nelse:\n    a = 2\nb = a + 1",
        "def f(x):\n    if flag:\n        return x\n    return -x\na = f(3)",
        "if flag:\n    table['n'] = 1\na = table.get('n')",
        "if flag:\n    items.append(4)\na = len(items)\nb = 4 in items",
        "try:\n    if flag:\n        raise KeyError('k')\n    a = 1\nexcept KeyError:\n    a = 2",
        "for v in items:\n    if flag and v == 1:\n        break\n    a = v",
        "a = [x for x in items if flag or x > 1]",
        "box.held = 'y' if flag else 'n'\na = box.twice\nb = f'{box.held}'",
        "while a < 3:\n    a += 1\n    if flag:\n        break",
        "a = flag and 'yes' or 'no'",
        "c = {True: 'x', False: 'y'}[bool(flag)]",
        "try:\n    refuse(not flag)\nexcept Refused as e:\n    a = e.why",
    ],
)
def test_simple_programs_are_decided_in_each_case(body: str) -> None:
    """The least that must be followed exactly: no unknown is left once the boolean is fixed."""
    machine, slots = evaluated(whole(body, "os.path.exists('/x')"))
    flag = slots["flag"]
    flag = machine.ask(flag.text, flag.roots) if type(flag) is Unknown else flag
    for value in (True, False):
        found = left(machine, slots, flag if value else machine.conditions.negation(flag))
        compare(found, run(body, value))
        assert not unknown_in(found)
