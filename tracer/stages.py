"""The stages of a launch, in the tree's own code: parse, resolve, validate, dispatch.

Each stage calls what the launcher calls, by the names it has had in every release: the tree's
``prepare_server_args``, the record's ``resolve_once`` and ``check_server_args``, and then the part of
``Scheduler`` that sets ``draft_worker``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pathtrace.tracer.answer import Phase
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.eval.exits import Dead, Frame, Raised
from pathtrace.tracer.eval.machine import GiveUp, Machine
from pathtrace.tracer.eval.objects import find_in_class, get_attr
from pathtrace.tracer.eval.slots import NUMBERING
from pathtrace.tracer.eval.values import ABSENT, Args, ClassV, Instance, Unknown
from pathtrace.tracer.scheduler import Choice, choose
from pathtrace.tracer.serve import ARGS_MODULE, server_words

VIEW_MODULE = "sglang.srt.arg_groups.overrides"


@dataclass
class Stop:
    """A raise that ends the launch under ``test``."""

    phase: Phase
    test: Any
    raised: Raised


@dataclass
class Run:
    """What came out of evaluating one launch."""

    record: Any = None
    choice: Choice | None = None
    stops: list[Stop] = field(default_factory=list)
    refused: bool = False
    gave_up: GiveUp | None = None
    phase: Phase = "parse"
    pc: Any = True
    in_front_end: bool = False


def run_launch(
    m: Machine,
    argv: tuple[str, ...],
    kwargs: Mapping[str, Any] | None,
    open_kwargs: tuple[str, ...] = (),
    serve: bool = False,
) -> Run:
    """Evaluate one launch.

    Args:
        m: the machine, fresh or reset.
        argv: the launcher's words.
        kwargs: keyword arguments of ``Engine(...)`` instead of words, or None.
        open_kwargs: further ones, whose values are not known.
        serve: whether the words are those of ``sglang serve``.

    Raises:
        BadInput: a launch through ``sglang serve`` that starts no language model server.
    """
    run = Run()
    m.parted = NUMBERING.last
    m.external_state["default_at"] = lambda name: default_place(m, name)

    def parse() -> None:
        if kwargs is None:
            words = m.lower(list(argv))
            if serve:
                run.in_front_end = True
                words = server_words(m, argv)
                run.in_front_end = False
            run.record = m.call(_entry(m, "prepare_server_args"), Args([words]))
        else:
            cls = _entry(m, "ServerArgs")
            given = {key: m.lower(value) for key, value in kwargs.items()}
            for key in open_kwargs:
                given[key] = Unknown(f"{key} of the launch", frozenset({f"{key} in the launch"}))
            args = Args([], given)
            for key, value in kwargs.items():
                write = m.written(len(m.reads))
                write.leaf = ("flag", f"{key}={value!r}")
                args.kw_from[key] = write
            run.phase = "resolve"
            run.record = m.call(cls, args)

    def resolve() -> None:
        if isinstance(run.record, Instance) and find_in_class(m, run.record.cls, "resolve_once") is not ABSENT:
            m.call(get_attr(m, run.record, "resolve_once"), Args())

    def validate() -> None:
        if isinstance(run.record, Instance) and find_in_class(m, run.record.cls, "check_server_args") is not ABSENT:
            m.call(get_attr(m, run.record, "check_server_args"), Args())

    def dispatch() -> None:
        run.choice = choose(m, run.record)

    steps: list[tuple[Phase, Callable[[], None]]] = [
        ("parse", parse),
        ("resolve", resolve),
        ("validate", validate),
        ("dispatch", dispatch),
    ]
    for phase, step in steps:
        run.phase = phase
        if not _stage(m, run, step):
            break
    run.pc = m.pc
    return run


def _entry(m: Machine, name: str) -> Any:
    """A name that every server starts from.

    Raises:
        BadInput: the tree's server_args.py does not have it.
    """
    module = m.import_module(ARGS_MODULE)
    found = get_attr(m, module, name, None)
    if found is None:
        raise BadInput(f"there is no {name} in it, which a server starts from; is the file whole?", module.file)
    return found


def default_place(m: Machine, name: str) -> tuple[str, int] | None:
    """The line that declares a field's default."""
    module = m.modules.get(ARGS_MODULE)
    cls = module.slots.get("ServerArgs") if module is not None else None
    if not isinstance(cls, ClassV):
        return None
    declared = next((field.where for field in cls.fields or () if field.name == name), None)
    write = m.writers.get((cls.slots.number, name)) or declared
    return None if write is None or not write.file else (write.file, write.line)


def _stage(m: Machine, run: Run, step: Callable[[], None]) -> bool:
    """Run one stage; False where nothing goes on after it."""
    root = Frame("root", len(m.trail))
    m.frames = [root]
    m.stack, m.depth, m.ctrl = [], 0, None
    alive = True
    last: list[Stop] = []
    try:
        step()
    except Raised as raised:
        last.append(Stop(_phase(m, run, raised), m.pc, raised))
        run.refused = True
        alive = False
    except Dead:
        alive = False
        run.refused = True
    except GiveUp as stop:
        run.gave_up = stop
        alive = False
    except (RecursionError, MemoryError) as error:
        run.gave_up = GiveUp(f"a value too deep or too large ({type(error).__name__})", m.file, m.line)
        alive = False
    finally:
        m.frames = [Frame("root", len(m.trail))]  # what is read afterwards may raise too
    for pending in root.pending:
        run.stops.append(Stop(_phase(m, run, pending.value), pending.test, pending.value))
    run.stops += last  # the raise that the last path ran into comes last
    return alive


def _phase(m: Machine, run: Run, raised: Raised) -> Phase:
    """Older trees resolve while they parse: only argparse's exit is a parse error, and one of ``serve``."""
    if run.phase == "parse" and not run.in_front_end and not m.exception_matches(raised.exc, SystemExit):
        return "resolve"
    return run.phase


def resolved_view_of(m: Machine, record: Any) -> Any:
    """The view through which a tree with declared resolution is read, or the record itself."""
    if m.find_module(VIEW_MODULE) is None or not isinstance(record, Instance):
        return record
    maker = m.attempt(lambda: get_attr(m, m.import_module(VIEW_MODULE), "resolving_view"), AttributeError, None)
    return record if maker is None else m.call(maker, Args([record]))
