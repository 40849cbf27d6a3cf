"""From a scheduler that has just been built to its confirmation: describe, bind, say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from pathtrace import __version__
from pathtrace.instrument.binding import CannotBind, bind, worker_of
from pathtrace.instrument.confirmation import Built, Live, Origin, write_line
from pathtrace.instrument.describing import algorithm_of, loop_of, place_of, ranks
from pathtrace.instrument.hook import Hook
from pathtrace.instrument.output import say
from pathtrace.instrument.policy import Observe, Policy, Refused, policy_for
from pathtrace.instrument.settings import Settings, read_settings


def confirm(
    scheduler: Any,
    construct: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    environ: Mapping[str, str],
    carrier: str | None,
) -> Built:
    """Hooks the worker of a scheduler and says so on standard error; returns what was said.

    Args:
        scheduler: the scheduler, built.
        construct: its own constructor.
        args: what that was called with.
        kwargs: likewise.
        environ: what the hook is asked for.
        carrier: what brought pathtrace into the process.
    """
    settings = read_settings(environ)
    for problem in settings.problems:
        say(f"pathtrace: {problem}; it is ignored")
    origin = Origin(os.getpid(), settings.run, **ranks(scheduler, construct, args, kwargs))
    worker = worker_of(scheduler)
    fields = _described(origin, scheduler, worker)
    hook = None
    if worker is not None:
        policy, refusal = _policy(settings, scheduler, worker)
        hook = _hook(origin, worker, policy)
        fields |= _bound(hook, scheduler)
        fields["refused"] = refusal
    built = _judged(fields, settings, carrier)
    write_line(built)
    is_measured = settings.metrics_file is not None or settings.metrics_port is not None
    if hook is not None and built.problem is None and is_measured:
        from pathtrace.instrument.metrics import start_metrics

        start_metrics(settings, hook, origin)
    return built


def _described(origin: Origin, scheduler: Any, worker: Any | None) -> dict[str, Any]:
    fields = {"origin": origin, "loop": loop_of(scheduler), "algorithm": algorithm_of(scheduler)}
    if worker is None:
        return fields
    cls = type(worker)
    file, line = place_of(cls)
    return {**fields, "worker": cls.__name__, "module": cls.__module__, "file": file, "line": line}


def _policy(settings: Settings, scheduler: Any, worker: Any) -> tuple[Policy, str | None]:
    """The policy, and why it is not the one that was asked for."""
    try:
        return policy_for(settings, scheduler, worker), None
    except Refused as problem:
        return Observe(), str(problem)


def _hook(origin: Origin, worker: Any, policy: Policy) -> Hook:
    name = type(worker).__name__

    def first(mode: str, size: int | None) -> None:
        write_line(Live(origin, name, mode, size))

    def failed(problem: BaseException) -> None:
        say(
            f"pathtrace: the hook of {name} failed and the worker's own step ran; this is said once and counted from "
            f"now on: {type(problem).__name__}: {problem}"
        )

    return Hook(worker, policy, first, failed)


def _bound(hook: Hook, scheduler: Any) -> dict[str, Any]:
    try:
        bound = bind(hook, scheduler)
    except CannotBind as problem:
        return {"problem": str(problem)}
    return {
        "entry": bound.entry,
        "inherited_from": bound.inherited_from,
        "mechanism": hook.policy.mechanism,
        "acts_at": hook.policy.threshold,
    }


def _judged(fields: dict[str, Any], settings: Settings, carrier: str | None) -> Built:
    predicted = settings.predicted
    agrees = None
    if predicted is not None:
        agrees = predicted.agrees(fields.get("worker"), fields.get("module"), fields["loop"])
    return Built(
        **fields,
        threshold=settings.threshold,
        carrier=carrier,
        predicted=predicted,
        agrees=agrees,
        pathtrace=__version__,
    )
