"""One worker's step, followed from its entry method: sites, ways out, producers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.definitions import Definition, Definitions, own_method
from pathtrace.tracer.handoff.flow import Flow
from pathtrace.tracer.handoff.model import Phase, Site, SiteKind, StepReturn
from pathtrace.tracer.handoff.things import NOTHING, UNSET, Event, Left, State, Thing, Value

ENTRIES = ("forward_batch_generation", "forward_batch_speculative_generation")
FIELD = "next_draft_input"
ROLE = "spec_info"
_SHORTEST = 3
_PREFILL_WORDS = ("is_extend", "is_extend_in_batch", "is_prefill", "is_extend_or_draft_extend_or_mixed", "EXTEND")
_DECODE_WORDS = ("is_decode", "is_decode_or_idle", "DECODE")


@dataclass(frozen=True)
class WorkerStep:
    """What following one worker's entry method found."""

    cls: Definition
    entry: Definition
    field: str | None
    named: bool
    sites: tuple[Site, ...]
    returns: tuple[StepReturn, ...]
    flow: Flow


def entry_of(definitions: Definitions, cls: Definition) -> Definition | None:
    """The method of a worker that the scheduler calls: the nearest of that name, from the class to its bases."""
    for each in definitions.line(cls):
        for name in ENTRIES:
            found = own_method(each, name)
            if found is not None:
                return found
    return None


def packages_of(module: str) -> tuple[str, ...]:
    """The packages whose functions are a worker's own: its own, up to three names deep."""
    return (".".join(module.split(".")[:-1][:3]),)


def follow_worker(sources: Sources, definitions: Definitions, cls: Definition, field: str) -> WorkerStep | None:
    """Follow a worker's step; None where the class has no entry method.

    Args:
        sources: the tree's modules.
        definitions: its names.
        cls: the worker.
        field: the attribute that is asked for.
    """
    entry = entry_of(definitions, cls)
    if entry is None:
        return None
    packages = packages_of(cls.module)
    bases = {each.module for each in definitions.line(cls)}

    def inside(module: str) -> bool:
        return module in bases or any(module == each or module.startswith(each + ".") for each in packages)

    flow = Flow(definitions, inside)
    worker = Thing("instance", cls)
    receiver, *others = entry.parameters or (ast.arg("self"),)
    batch = Thing("instance", definitions.of_annotation(entry.module, others[0].annotation) if others else None)
    given: dict[str, Value] = {other.arg: frozenset({Thing()}) for other in others}
    given.update({others[0].arg: frozenset({batch})} if others else {})
    given[receiver.arg] = frozenset({worker})
    handed_in = Thing()
    flow.kept = (handed_in, ROLE)
    left = flow.follow(entry, worker, given, State({}, {(batch, ROLE): frozenset({handed_in})}))
    return _told(sources, flow, cls, entry, left, batch, field)


def _told(
    sources: Sources, flow: Flow, cls: Definition, entry: Definition, left: tuple[Left, ...], batch: Thing, field: str
) -> WorkerStep:
    stored = [event.value for event in flow.events if event.kind in ("set", "give") and event.name == field]
    objects = {thing for value in stored for thing in value if thing.made is not None}
    outs = list(_outs(left))
    if objects:
        ends = [_carried(each, each.value, field) for each in outs]
        final = {thing for value in ends for thing in value}
    else:
        ends = [_carried(each, frozenset({batch}), ROLE) for each in outs]
        again = set(flow.again.values())
        final = objects = {thing for value in ends for thing in value if thing in again or _is_input(thing)}
    named = bool(stored) and bool(objects)
    told = field if objects and stored else ROLE if objects else None
    sites = _sites(sources, flow, objects, final, told)
    returns = tuple(
        StepReturn(
            each.spot.file, each.spot.line, each.spot.function, _phase(each.tests),
            _carries(value, objects), tuple(dict.fromkeys(_makers(value & frozenset(objects)))), bool(each.inner),
        )
        for each, value in zip(outs, ends, strict=True)
    )  # fmt: skip
    return WorkerStep(cls, entry, told, named, sites, returns, flow)


def _outs(left: Iterable[Left], tests: tuple[tuple[ast.expr, bool], ...] = ()) -> Iterator[Left]:
    """The ways out, and of ``return other(...)`` those of the other function after it."""
    for each in left:
        under = (*tests, *each.tests)
        yield Left(each.spot, each.value, each.attributes, under, each.inner, each.falls)
        yield from _outs(each.inner, under)


def _carried(each: Left, things: Value, field: str) -> Value:
    """What an attribute of these things may be when a step leaves."""
    found = [each.attributes.get((thing, field), frozenset({UNSET})) or frozenset({UNSET}) for thing in things]
    return NOTHING.union(*found) if found else frozenset({UNSET})


def _carries(value: Value, objects: Iterable[Thing]) -> bool | None:
    known = set(objects)
    has = {thing in known for thing in value}
    return has.pop() if len(has) == 1 else None


def _is_input(thing: Thing) -> bool:
    """Whether an object is a draft's input, by its class: what it says of itself, or its name.

    Source: ``SpecInputType.EAGLE_DRAFT`` and the like in the classes of srt/speculative; before there was
    such a type, the classes are called ``...DraftInput``.
    """
    if thing.definition is None or thing.made is None:
        return False
    says = {node.attr for node in ast.walk(thing.definition.node) if isinstance(node, ast.Attribute)}
    return "DraftInput" in thing.definition.node.name or any(word.endswith("_DRAFT") for word in says)


def _makers(things: Iterable[Thing]) -> Iterator[str]:
    return (thing.made.function for thing in sorted(things, key=_made_at) if thing.made is not None)


def _made_at(thing: Thing) -> tuple[str, int]:
    return ("", 0) if thing.made is None else (thing.made.file, thing.made.line)


def _phase(tests: Iterable[tuple[ast.expr, bool]]) -> Phase:
    """Prefill or decode, by the last condition that asks for the batch's forward mode.

    Of ``extend and other``, that it does not hold says nothing.
    """
    found: Phase = "any"
    for test, holds in tests:
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and not holds:
            continue
        words = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
        words |= {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
        if not words.isdisjoint(_PREFILL_WORDS):
            found = "prefill" if holds else "decode"
        elif not words.isdisjoint(_DECODE_WORDS):
            found = "decode" if holds else "prefill"
    return found


def _sites(
    sources: Sources, flow: Flow, objects: Iterable[Thing], final: Iterable[Thing], field: str | None
) -> tuple[Site, ...]:
    """What happens to the hand-off's objects, each statement once for each kind."""
    known, last = set(objects), set(final)
    found: dict[tuple[SiteKind, str, int], Site] = {}

    def add(kind: SiteKind, file: str, line: int, function: str, things: set[Thing]) -> None:
        text = sources.line(file, line)
        if len(text) < _SHORTEST:  # an opening bracket: what matters stands on the next line
            text = f"{text} {sources.line(file, line + 1)}"
        replaced = things.isdisjoint(last) and kind == "creates"
        site = Site(kind, file, line, text, function, True, replaced)
        earlier = found.get((kind, file, line))
        if earlier is None or earlier.replaced:
            found[kind, file, line] = site

    for thing in known:
        if thing.made is not None:
            add("creates", thing.made.file, thing.made.line, thing.made.function, {thing})
    filled = {(event.spot.file, event.spot.function) for event in flow.events if _fills(event, known)}
    for event in flow.events:
        spot, held = event.spot, known & event.value
        if _fills(event, known):
            add("fills", spot.file, spot.line, spot.function, known & event.things)
        elif event.kind in ("set", "give") and held:
            kind: SiteKind = "stores" if event.kind == "set" or event.name == field else "passes"
            add(kind, spot.file, spot.line, spot.function, held)
        elif event.kind == "get" and event.name == field and held:
            reads: SiteKind = "fetches" if (spot.file, spot.function) in filled else "consumes"
            add(reads, spot.file, spot.line, spot.function, held)
        elif event.kind in ("pass", "return") and held:
            add("passes" if event.kind == "pass" else "returns", spot.file, spot.line, spot.function, held)
    return tuple(sorted(found.values(), key=lambda site: (site.file, site.line, site.kind)))


def _fills(event: Event, known: set[Thing]) -> bool:
    return event.kind == "set" and not known.isdisjoint(event.things)
