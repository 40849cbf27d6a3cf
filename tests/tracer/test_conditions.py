"""Conditions against brute force: every operation means what it says under every assignment."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.eval import conditions
from pathtrace.tracer.eval.conditions import Conditions, Guarded, breadth

NAMES = ("a", "b", "c", "d", "e")
Assignment = dict[str, bool]
ASSIGNMENTS: list[Assignment] = [
    dict(zip(NAMES, bits, strict=True)) for bits in itertools.product((False, True), repeat=5)
]

# Truth tables over five atoms stand for conditions, terminals by index for guarded values.
FORMULAS = st.recursive(
    st.sampled_from([*NAMES, True, False]),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.just("ite"), inner, inner, inner),
    ),
    max_leaves=12,
)
# Equal by == and yet different values: True and 1, 0 and False, 1.0 and 1.
TERMINALS = st.sampled_from([None, True, False, 1, 0, 1.0, "x", "", b"x", (1, "x"), (True, "x"), ("y",)])
VALUES = st.recursive(TERMINALS, lambda inner: st.tuples(st.just("if"), FORMULAS, inner, inner), max_leaves=6)
ORDERS = st.permutations(NAMES)


def same(left: Any, right: Any) -> bool:
    """Whether two terminals are one value: 1 and True are not."""
    return type(left) is type(right) and repr(left) == repr(right)


def holds(formula: Any, at: Assignment) -> bool:
    """What a formula says, worked out without diagrams."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, str):
        return at[formula]
    name, *parts = formula
    if name == "not":
        return not holds(parts[0], at)
    if name == "and":
        return holds(parts[0], at) and holds(parts[1], at)
    if name == "or":
        return holds(parts[0], at) or holds(parts[1], at)
    return holds(parts[1] if holds(parts[0], at) else parts[2], at)


def value_at(value: Any, at: Assignment) -> Any:
    """The terminal of a value, worked out without diagrams."""
    while isinstance(value, tuple) and len(value) == 4 and value[0] == "if":
        value = value[2] if holds(value[1], at) else value[3]
    return value


class Made:
    """The same formulas and values as diagrams, with atoms in any order."""

    def __init__(self, order: tuple[str, ...] | list[str]) -> None:
        self.conditions = Conditions()
        self.atoms = {name: self.conditions.atom(name, name, frozenset({name})) for name in order}

    def test(self, formula: Any) -> Any:
        if isinstance(formula, bool):
            return formula
        if isinstance(formula, str):
            return self.atoms[formula]
        name, *parts = formula
        made = [self.test(part) for part in parts]
        operation: Callable[..., Any] = {
            "not": self.conditions.negation,
            "and": self.conditions.both,
            "or": self.conditions.either,
            "ite": self.conditions.ite,
        }[name]
        return operation(*made)

    def value(self, value: Any) -> Any:
        if isinstance(value, tuple) and len(value) == 4 and value[0] == "if":
            return self.conditions.ite(self.test(value[1]), self.value(value[2]), self.value(value[3]))
        return value

    @staticmethod
    def at(node: Any, at: Assignment) -> Any:
        """Walk a diagram to its terminal."""
        while type(node) is Guarded:
            node = node.hi if at[node.atom.text] else node.lo
        return node


def nodes(value: Any) -> Iterator[Guarded]:
    if type(value) is Guarded:
        yield value
        yield from nodes(value.hi)
        yield from nodes(value.lo)


@given(ORDERS, FORMULAS)
def test_a_diagram_is_its_formula(order: list[str], formula: Any) -> None:
    made = Made(order)
    diagram = made.test(formula)
    for at in ASSIGNMENTS:
        assert made.at(diagram, at) is holds(formula, at)


@given(ORDERS, VALUES)
def test_a_guarded_value_is_its_terminal_by_type_too(order: list[str], value: Any) -> None:
    made = Made(order)
    diagram = made.value(value)
    for at in ASSIGNMENTS:
        assert same(made.at(diagram, at), value_at(value, at))


@given(ORDERS, FORMULAS, VALUES, VALUES)
def test_ite_chooses(order: list[str], formula: Any, then: Any, other: Any) -> None:
    made = Made(order)
    diagram = made.conditions.ite(made.test(formula), made.value(then), made.value(other))
    for at in ASSIGNMENTS:
        assert same(made.at(diagram, at), value_at(then if holds(formula, at) else other, at))


@given(ORDERS, FORMULAS, FORMULAS)
def test_equal_conditions_are_the_same_object(order: list[str], left: Any, right: Any) -> None:
    made = Made(order)
    equal = all(holds(left, at) == holds(right, at) for at in ASSIGNMENTS)
    assert (made.test(left) is made.test(right)) == equal


@given(ORDERS, FORMULAS)
def test_atoms_stand_in_order_once_and_only_where_they_matter(order: list[str], formula: Any) -> None:
    made = Made(order)
    diagram = made.test(formula)
    for node in nodes(diagram):
        assert node.hi is not node.lo
        for below in (node.hi, node.lo):
            assert type(below) is not Guarded or below.atom.index > node.atom.index
    matter = {
        name for name in NAMES for at in ASSIGNMENTS if holds(formula, at) != holds(formula, {**at, name: not at[name]})
    }
    assert {atom.text for atom in made.conditions.support(diagram).values()} == matter
    assert breadth(diagram) == len(matter)


@given(ORDERS, FORMULAS, FORMULAS)
def test_implies(order: list[str], care: Any, formula: Any) -> None:
    made = Made(order)
    wanted = all(holds(formula, at) for at in ASSIGNMENTS if holds(care, at))
    assert made.conditions.implies(made.test(care), made.test(formula)) is wanted


@given(ORDERS, VALUES, FORMULAS)
def test_restrict_changes_nothing_where_it_matters(order: list[str], value: Any, care: Any) -> None:
    made = Made(order)
    before = made.value(value)
    after = made.conditions.restrict(before, made.test(care))
    for at in ASSIGNMENTS:
        if holds(care, at):
            assert same(made.at(after, at), value_at(value, at))


@given(ORDERS, VALUES, FORMULAS)
def test_restrict_decides_what_is_decided(order: list[str], value: Any, care: Any) -> None:
    """A value with one terminal wherever the condition holds becomes that terminal."""
    made = Made(order)
    seen = [value_at(value, at) for at in ASSIGNMENTS if holds(care, at)]
    if seen and all(same(seen[0], other) for other in seen):
        assert same(made.conditions.restrict(made.value(value), made.test(care)), seen[0])


@given(ORDERS, VALUES)
def test_cases_are_each_terminal_once_and_exactly_where_it_stands(order: list[str], value: Any) -> None:
    made = Made(order)
    cases = made.conditions.cases(made.value(value))
    for (_, one), (_, other) in itertools.combinations(cases, 2):
        assert not same(one, other)
    for at in ASSIGNMENTS:
        holding = [terminal for test, terminal in cases if made.at(test, at) is True]
        assert len(holding) == 1
        assert same(holding[0], value_at(value, at))
    assert all(test is not False for test, _terminal in cases)


@given(ORDERS, VALUES)
def test_terminals_and_where_say_what_cases_say(order: list[str], value: Any) -> None:
    made = Made(order)
    diagram = made.value(value)
    cases = made.conditions.cases(diagram)
    assert len(made.conditions.terminals(diagram)) == len(cases)
    for test, terminal in cases:
        assert any(same(terminal, found) for found in made.conditions.terminals(diagram))
        if terminal is True or terminal is False or terminal is None:
            assert made.conditions.where(diagram, terminal) is test


@given(ORDERS, FORMULAS, FORMULAS)
def test_conditions_of_an_earlier_evaluation_mean_the_same(order: list[str], left: Any, right: Any) -> None:
    made = Made(order)
    before = made.test(left)
    with mock.patch.object(conditions, "MOST_KEPT", 0):
        made.conditions.restart()
    both = made.conditions.both(before, made.test(right))
    assert all((made.at(both, at) is True) == (holds(left, at) and holds(right, at)) for at in ASSIGNMENTS)


@given(ORDERS, VALUES)
def test_cases_put_together_are_the_value(order: list[str], value: Any) -> None:
    made = Made(order)
    diagram = made.value(value)
    cases = made.conditions.cases(diagram)
    again = cases[-1][1]
    for test, terminal in reversed(cases[:-1]):
        again = made.conditions.ite(test, terminal, again)
    assert again is diagram or same(again, diagram)


@given(ORDERS, FORMULAS, st.integers(0, 40))
def test_cubes_hold_only_where_the_condition_does(order: list[str], formula: Any, most: int) -> None:
    made = Made(order)
    cubes = list(made.conditions.cubes(made.test(formula), most))
    assert len(cubes) <= most
    covered = [at for at in ASSIGNMENTS if any(all(at[atom.text] is wanted for atom, wanted in cube) for cube in cubes)]
    assert all(holds(formula, at) for at in covered)
    if most >= 32:
        assert len(covered) == sum(holds(formula, at) for at in ASSIGNMENTS)


@given(ORDERS, FORMULAS)
def test_a_named_condition_waits_for_the_same_facts(order: list[str], formula: Any) -> None:
    made = Made(order)
    test = made.test(formula)
    if type(test) is Guarded:
        named = made.conditions.name(test, "a.py", 1)
        roots = {root for atom in made.conditions.support(test).values() for root in atom.roots}
        assert named.atom.roots == roots
        assert made.conditions.name(test, "b.py", 2) is named
        assert made.conditions.name(made.conditions.negation(test), "b.py", 3) is made.conditions.negation(named)
