"""Waiting for the scheduler: its module's import, then the end of its constructor, when the worker stands."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from types import ModuleType
from typing import Any

from pathtrace.instrument import starting
from pathtrace.instrument.output import report_failure

SCHEDULER_MODULE = "sglang.srt.managers.scheduler"
# Where the tree has plugins: what they registered takes effect in there, a replacement of the scheduler too.
REGISTRY_MODULE = "sglang.srt.plugins.hook_registry"

WATCHED = "_pathtrace_watches"
# Schedulers under construction: a subclass runs the constructor of its base, and the worker stands after the last.
_constructing: set[int] = set()


def watch_scheduler() -> None:
    """Hooks the import of the scheduler's module, in whatever process that happens."""
    try:
        import wrapt
    except ImportError as problem:
        command = f"{sys.executable} -m pip install wrapt"
        report_failure(f"wrapt cannot be imported by {sys.executable}: {problem}; install it there: {command}")
        return
    wrapt.register_post_import_hook(_scheduler_imported, SCHEDULER_MODULE)
    wrapt.register_post_import_hook(_registry_imported, REGISTRY_MODULE)


def _scheduler_imported(module: ModuleType) -> None:
    # wrapt lets what is raised here end the import of the scheduler.
    try:
        scheduler = getattr(module, "Scheduler", None)
        if isinstance(scheduler, type):
            _watch_constructor(scheduler)
        else:
            report_failure(f"{module.__name__} has no class Scheduler: this tree builds its worker elsewhere")
    except Exception as problem:
        report_failure(f"{module.__name__} could not be hooked: {type(problem).__name__}: {problem}")


def _registry_imported(module: ModuleType) -> None:
    registry = getattr(module, "HookRegistry", None)
    apply = getattr(registry, "apply_hooks", None)
    if not isinstance(registry, type) or not inspect.ismethod(apply):
        return  # another mechanism than the one that is known: plugins then cannot be waited for
    function = apply.__func__

    @functools.wraps(function)
    def apply_hooks(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = function(cls, *args, **kwargs)
        scheduler_module = sys.modules.get(SCHEDULER_MODULE)
        if scheduler_module is not None:
            _scheduler_imported(scheduler_module)
        return result

    registry.apply_hooks = classmethod(apply_hooks)  # type: ignore[attr-defined]


def _watch_constructor(scheduler: Any) -> None:
    """Every tree builds its worker in the scheduler's constructor and takes no step before that returns."""
    construct = scheduler.__init__
    if getattr(construct, WATCHED, False):
        return

    # A plain function: schedulers are constructed by keyword, inspected and pickled as if it were not there.
    @functools.wraps(construct)
    def constructed(self: Any, /, *args: Any, **kwargs: Any) -> None:
        if id(self) in _constructing:
            construct(self, *args, **kwargs)
            return
        _constructing.add(id(self))
        try:
            construct(self, *args, **kwargs)
        finally:
            _constructing.discard(id(self))
        try:
            from pathtrace.instrument.confirming import confirm

            confirm(self, construct, args, kwargs, os.environ, starting.carrier())
        except Exception as problem:
            report_failure(f"the worker could not be hooked: {type(problem).__name__}: {problem}")

    setattr(constructed, WATCHED, True)
    scheduler.__init__ = constructed
