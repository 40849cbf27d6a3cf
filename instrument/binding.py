"""Putting the hook around the entry method of the worker that a scheduler has built.

The wrapper goes onto the class that loaded, as an attribute of that class alone: an inherited method stays as
it is on the base class, so siblings do not see the hook. It is on the class rather than on the instance because
there it is seen by ``inspect``, passes through pickling and is found by ``type(worker).method``. Only
instances that were bound are counted; any other of the same class or of a subclass takes its step untouched.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MethodType, ModuleType
from typing import Any

from pathtrace.instrument.hook import Hook

# The older name first: where a worker has both, the other one is what it inherits from the plain worker.
ENTRIES = ("forward_batch_speculative_generation", "forward_batch_generation")

_lock = threading.Lock()
_hooks: dict[int, Hook] = {}


class CannotBind(Exception):
    """The worker cannot be hooked; the sentence says why."""


@dataclass(frozen=True)
class Bound:
    """Where the hook sits.

    Attributes:
        entry: name of the method.
        inherited_from: name of the class that defines it, where that is not the worker's own.
        rebound: references that had been taken before and now lead to the hook.
    """

    entry: str
    inherited_from: str | None = None
    rebound: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Wrapping:
    """A wrapper, the method that it stands for and the class that defines that."""

    wrapper: Callable[..., Any]
    method: Any
    owner: type


_wrappings: dict[tuple[type, str], _Wrapping] = {}


def worker_of(scheduler: Any) -> Any | None:
    """The object that takes the speculative steps of a scheduler, None where it has none."""
    draft = getattr(scheduler, "draft_worker", None)
    model = getattr(scheduler, "model_worker", None)
    if draft is None or model is None or model is getattr(scheduler, "tp_worker", None):
        return draft
    return model


def entry_of(worker: Any) -> str:
    """The name of the method that takes the worker's steps."""
    for name in ENTRIES:
        if callable(getattr(worker, name, None)):
            return name
    raise CannotBind(f"{type(worker).__name__} has none of the methods {', '.join(ENTRIES)}")


def hooks() -> tuple[Hook, ...]:
    """The hooks of this process."""
    with _lock:
        return tuple(_hooks.values())


def bind(hook: Hook, scheduler: Any) -> Bound:
    """Puts the hook around the steps of its worker.

    Args:
        scheduler: who calls the worker; references that it holds are found and rebound.

    Raises:
        CannotBind: the class does not let itself be changed, or has no method that takes steps.
    """
    worker = hook.worker
    cls, entry = type(worker), entry_of(worker)
    with _lock:
        try:
            if entry in getattr(worker, "__dict__", {}) or not hasattr(cls, entry):
                _bind_instance(hook, worker, entry)
                wrapping = None
            else:
                wrapping = _wrapping(cls, entry)
        except (AttributeError, TypeError) as problem:
            raise CannotBind(f"{cls.__name__} does not let itself be changed: {problem}") from problem
        # The hook keeps its worker alive, so no other object can come by the same id.
        _hooks[id(worker)] = hook
    if wrapping is None:
        return Bound(entry)
    rebound = tuple(_rebind(scheduler, worker, wrapping.method, wrapping.wrapper))
    return Bound(entry, None if wrapping.owner is cls else wrapping.owner.__name__, rebound)


def _wrapping(cls: type, entry: str) -> _Wrapping:
    """The wrapper of a class's entry method, put there if it is not yet."""
    known = _wrappings.get((cls, entry))
    if known is not None and vars(cls).get(entry) is known.wrapper:
        return known
    owner = next(base for base in cls.__mro__ if entry in vars(base))
    method = vars(owner)[entry]
    wrapping = _wrappings[cls, entry] = _Wrapping(_wrapper(cls, entry, method, owner is cls), method, owner)
    setattr(cls, entry, wrapping.wrapper)
    return wrapping


def _wrapper(cls: type, entry: str, method: Any, is_own: bool) -> Callable[..., Any]:
    """What takes the place of ``method`` on ``cls``: a plain function, so that it pickles as a method does."""

    @functools.wraps(method)
    def step(worker: Any, /, *args: Any, **kwargs: Any) -> Any:
        # An inherited method is looked up anew: whoever replaces it on the base class later is still heard.
        is_inherited = not is_own and isinstance(worker, cls)
        own = getattr(super(cls, worker), entry) if is_inherited else method.__get__(worker, type(worker))
        hook = _hooks.get(id(worker))
        if hook is None:
            return own(*args, **kwargs)
        return hook.step(own, args, kwargs)

    if not is_own:
        step.__module__, step.__qualname__ = cls.__module__, f"{cls.__qualname__}.{entry}"
    return step


def _bind_instance(hook: Hook, worker: Any, entry: str) -> None:
    """For a method that is the instance's own, or that a proxy answers for: the class has nothing to wrap."""
    own = getattr(worker, entry)

    @functools.wraps(own)
    def step(*args: Any, **kwargs: Any) -> Any:
        return hook.step(own, args, kwargs)

    setattr(worker, entry, step)


def _rebind(scheduler: Any, worker: Any, original: Any, wrapper: Callable[..., Any]) -> Iterator[str]:
    """Leads references that were taken before to the hook; yields where they were."""
    holders = [("scheduler", scheduler), ("worker", worker)]
    for name, value in list(getattr(scheduler, "__dict__", {}).items()):
        if type(value).__module__.partition(".")[0] == "sglang" and value is not worker:
            holders.append((f"scheduler.{name}", value))
    holders += [(name, module) for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)]
    for place, holder in holders:
        for name, value in list(getattr(holder, "__dict__", {}).items()):
            renewed = _renewed(value, worker, original, wrapper)
            if renewed is not None and _replace(holder, name, renewed):
                yield f"{place}.{name}"


def _renewed(value: Any, worker: Any, original: Any, wrapper: Callable[..., Any]) -> Any | None:
    """What a reference becomes: None where it does not lead to the original method."""
    if value is original:
        return wrapper
    if type(value) is MethodType and value.__self__ is worker and value.__func__ is original:
        return MethodType(wrapper, worker)
    if type(value) is functools.partial:
        inner = _renewed(value.func, worker, original, wrapper)
        return None if inner is None else functools.partial(inner, *value.args, **value.keywords)
    return None


def _replace(holder: Any, name: str, value: Any) -> bool:
    try:
        setattr(holder, name, value)
    except (AttributeError, TypeError):
        return False
    return True
