"""Inputs without effect: variables that nothing reads, or that only make the server warn; flags overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from pathtrace.tracer.answer import Ignored, Place
from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.machine import Machine
from pathtrace.tracer.eval.operators import equal, show, truth
from pathtrace.tracer.eval.values import ABSENT, Instance, Unknown
from pathtrace.tracer.evaluation import Evaluated, Evaluator
from pathtrace.tracer.launch.open_text import shown
from pathtrace.tracer.naming import naming_place, naming_write, parts, place_of, writes_read
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.python_files import CLIENTS, python_files

# Variables that belong to the process, not to SGLang: the tree need not name them to be affected.
_FOREIGN = (
    "PATH",
    "HOME",
    "LD_",
    "PYTHON",
    "CUDA_",
    "NCCL_",
    "HF_",
    "TORCH",
    "OMP_",
    "TRITON_",
    "TRANSFORMERS_",
    "NVIDIA_",
    "GLOO_",
    "UCX_",
    "XDG_",
    "LANG",
    "LC_",
    "USER",
    "SHELL",
    "TERM",
    "PWD",
    "TMP",
    "http",
    "HTTP",
    "no_proxy",
    "NO_PROXY",
)


def ignored(
    evaluator: Evaluator, done: Evaluated, sources: Mapping[str, str], deciding: Set[str] = frozenset()
) -> tuple[Ignored, ...]:
    """Variables and flags of this launch that do not count.

    Args:
        sources: where each variable comes from.
        deciding: variables that a step of the chain reads: they count, whatever else they do.
    """
    return (*overwritten(done), *_variables(evaluator, done, sources, deciding))


def overwritten(done: Evaluated) -> tuple[Ignored, ...]:
    """Flags whose value the resolution replaced, with the line that did."""
    m, record = done.machine, done.run.record
    namespace = m.external_state.get("namespace")
    given = m.external_state.get("given_dests") or {}
    if not isinstance(record, Instance) or not isinstance(namespace, Instance):
        return ()
    view = m.external_state.get("view", record)
    found = []
    for dest, text in given.items():
        before, r0 = namespace.slots.get(dest, ABSENT), len(m.reads)
        after = m.get_attr_or(view, dest, ABSENT)
        if before is ABSENT or after is ABSENT or type(after) in (Guarded, Unknown) or isinstance(after, Instance):
            continue
        if truth(m, equal(m, before, after)) is False:
            found.append(
                Ignored(
                    "flag",
                    str(text).split(" ")[0].split("=")[0],
                    show(before),
                    "overwritten",
                    show(after),
                    _writing_line(m, r0, dest),
                )
            )
    return tuple(found)


def _writing_line(m: Machine, r0: int, field: str) -> Place | None:
    """The line that gave a field the value that was read since ``r0``."""
    found = naming_write(m, writes_read(m, r0, len(m.reads)), field)
    return None if found is None else place_of(m, found)


def _variables(
    evaluator: Evaluator, done: Evaluated, sources: Mapping[str, str], deciding: Set[str]
) -> Iterator[Ignored]:
    m = done.machine
    reads = set(m.env_reads)
    for name, value in done.inputs.environ.items():
        if sources.get(name) == "inherited" or name.startswith(_FOREIGN):
            continue
        written = shown(value)
        became = _replaced(m, name, value)
        if became is not None:
            yield replace(became, value=written)
        elif name in reads:
            if name not in deciding:
                yield from _warned(evaluator, done, name, written)
        elif not mentioned(evaluator.tree, name):
            yield Ignored("variable", name, written, "unread")


def _replaced(m: Machine, name: str, value: str) -> Ignored | None:
    """A variable that the tree itself sets to something else."""
    after = m.environ.slots.get(name, ABSENT)
    writes = parts(m.writers.get((m.environ.slots.number, name)))
    if not isinstance(after, str) or after == value or not writes:
        return None
    return Ignored("variable", name, value, "overwritten", after, naming_place(m, writes, name))


def _warned(evaluator: Evaluator, done: Evaluated, name: str, value: str) -> Iterator[Ignored]:
    """A variable that the launch reads: does it do more than make the server warn?"""
    lines = [
        (message, file, line)
        for _level, message, file, line, _pc in done.machine.log
        if isinstance(message, str) and name in message
    ]
    if not lines:
        return
    without = {key: item for key, item in done.inputs.environ.items() if key != name}
    before = done.verdict
    after = evaluator.evaluate(replace(done.inputs, environ=without))
    same = (after.verdict.outcome, after.verdict.worker, after.verdict.event_loop, after.verdict.refusal) == (
        before.outcome, before.worker, before.event_loop, before.refusal,
    )  # fmt: skip
    if same:
        _message, file, line = lines[0]
        yield Ignored("variable", name, value, "warned", None, Place(file, line, evaluator.sources.line(file, line)))


def mentioned(tree: Tree, name: str) -> bool:
    """Whether any Python file of the tree's server holds this name."""
    wanted = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    return any(wanted.search(data) for _path, data in python_files(tree, "sglang", CLIENTS))
