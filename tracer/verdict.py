"""From an evaluated run to the outcome: one class and loop, none, a refusal, or several under conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pathtrace.tracer.answer import (
    Alternative,
    Condition,
    EventLoop,
    Outcome,
    PossibleRefusal,
    Refusal,
    Worker,
)
from pathtrace.tracer.eval.machine import Machine
from pathtrace.tracer.eval.operators import show, truth
from pathtrace.tracer.eval.text import exception_text
from pathtrace.tracer.eval.values import ClassV, External, Instance, Unknown
from pathtrace.tracer.facts import supply_for
from pathtrace.tracer.stages import Run, Stop


@dataclass(frozen=True)
class Verdict:
    """The outcome and what goes with it."""

    outcome: Outcome
    worker: Worker | None = None
    event_loop: EventLoop | None = None
    refusal: Refusal | None = None
    alternatives: tuple[Alternative, ...] = ()
    possible_refusals: tuple[PossibleRefusal, ...] = ()
    note: str | None = None


def verdict(m: Machine, run: Run, whole: bool = True) -> Verdict:
    """The outcome of a run; not ``whole``: only the possible refusals of the chosen module's import."""
    if run.gave_up is not None:
        given_up = run.gave_up
        text = f"the evaluation stopped at {given_up.file}:{given_up.line}: {given_up.reason}"
        alternative = Alternative(Condition(text), "undecided")
        return Verdict(
            "undecided", alternatives=(alternative,), possible_refusals=_possible(m, run.stops, whole), note=text
        )
    if run.refused:
        primary = run.stops[-1] if run.stops[-1:] else None
        for stop in run.stops:
            if stop.test is True:
                primary = stop
        assert primary is not None
        rest = [stop for stop in run.stops if stop is not primary]
        return Verdict("refused", refusal=refusal(m, primary), possible_refusals=_possible(m, rest, whole))
    assert run.choice is not None
    results = outcomes(m, run)
    possible = _possible(m, run.stops, whole)
    if len(results) == 1:
        _test, result = results[0]
        if result.outcome != "undecided":
            return Verdict(result.outcome, result.worker, result.event_loop, possible_refusals=possible)
    alternatives = tuple(
        Alternative(condition(m, test), result.outcome, result.worker, result.event_loop) for test, result in results
    )
    return Verdict("undecided", alternatives=alternatives, possible_refusals=possible)


def outcomes(m: Machine, run: Run) -> list[tuple[Any, Alternative]]:
    """Each distinct (class, loop) with the condition under which it comes out."""
    assert run.choice is not None
    overlap = run.choice.overlap
    loops = (
        truth(m, overlap)
        if type(overlap) is not Unknown or overlap.text in m.conditions.atoms
        else m.ask(overlap.text, overlap.roots)
    )
    found: list[tuple[Any, Alternative]] = []
    for test, leaf in m.split(run.choice.worker):
        if m.conditions.both(m.pc, test) is False:
            continue
        for loop, wanted in ((loops, "overlap"), (m.conditions.negation(loops), "synchronous")):
            both = m.conditions.both(test, loop)
            if m.conditions.both(m.pc, both) is False:
                continue
            result = _result(m, leaf, wanted)
            for index, (seen, other) in enumerate(found):
                if other == result:
                    found[index] = (m.conditions.either(seen, both), other)
                    break
            else:
                found.append((both, result))
    return [(m.conditions.restrict(test, m.pc), result) for test, result in found]


def _result(m: Machine, leaf: Any, loop: Any) -> Alternative:
    nothing = Condition("")
    if leaf is None:
        return Alternative(nothing, "none", None, loop)
    if type(leaf) is Instance and isinstance(leaf.cls, ClassV):
        cls = leaf.cls
        return Alternative(nothing, "worker", Worker(cls.name, cls.module, cls.file, cls.line), loop)
    if isinstance(leaf, External) or (isinstance(leaf, Instance) and isinstance(leaf.cls, External)):
        path = leaf.path if isinstance(leaf, External) else leaf.cls.path
        module, _, name = path.rpartition(".")
        if path.startswith("sglang."):
            return Alternative(nothing, "undecided", None, loop)  # of the tree, in a file that cannot be read
        return Alternative(nothing, "worker", Worker(name, module, "", 0), loop)
    return Alternative(nothing, "undecided", None, loop)


def refusal(m: Machine, stop: Stop) -> Refusal:
    """A raise as the answer shows it."""
    exc = stop.raised.exc
    cls = exc.cls
    name = (
        cls.name if isinstance(cls, ClassV) else cls.path.rsplit(".", 1)[-1] if type(cls) is External else cls.__name__
    )
    saved = m.pc
    m.pc = stop.test
    try:
        message = exception_text(m, exc)
        message = m.conditions.restrict(message, stop.test)
    finally:
        m.pc = saved
    if name == "SystemExit":
        args = exc.slots.get("args", ())
        message = args[1] if len(args) > 1 else message
    if not isinstance(message, str):
        cases = m.conditions.cases(message)
        message = " / ".join(case if isinstance(case, str) else show(case) for _test, case in cases[:3])
    return Refusal(
        stop.phase,
        name,
        message,
        stop.raised.file,
        stop.raised.line,
        m.external_state.get("hint") if stop.phase == "parse" else None,
    )


def _possible(m: Machine, stops: list[Stop], whole: bool) -> tuple[PossibleRefusal, ...]:
    found: list[PossibleRefusal] = []
    for stop in stops:
        if not whole and not (stop.phase == "dispatch" and stop.raised.importing):
            continue
        item = PossibleRefusal(condition(m, stop.test), refusal(m, stop))
        if item not in found:
            found.append(item)
    return tuple(found)


def condition(m: Machine, test: Any) -> Condition:
    """A condition in words: alternatives of conjunctions, and the facts that would decide it."""
    if test is True:
        return Condition("always")
    texts: list[str] = []
    for cube in m.conditions.cubes(test):
        parts = [atom.text if holds else f"not ({atom.text})" for atom, holds in cube[-4:]]
        texts.append(" and ".join(parts))
    texts = [text for text in texts if text] or ["always"]
    roots = {root for atom in m.conditions.support(test).values() for root in atom.roots}
    supplies = sorted({supply_for(root) for root in roots}, key=_handiest_first)
    return Condition(" or ".join(dict.fromkeys(texts)), tuple(supplies))


def _handiest_first(supply: str) -> tuple[bool, bool, str]:
    """Files first, since one may settle all the rest; then other options; then what no option gives."""
    return (not supply.endswith(" FILE"), not supply.startswith("--"), supply)
