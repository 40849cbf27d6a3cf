"""What a built scheduler says of itself: rank, event loop, algorithm; and where its worker's class is."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Where recent trees keep the ranks; read only where the server itself has loaded it.
CONTEXT_MODULE = "sglang.srt.runtime_context"
# What a half-built context raises when it is asked.
NOT_SAID = (AttributeError, AssertionError, LookupError, RuntimeError, TypeError, ValueError)


def ranks(
    scheduler: Any, construct: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, int | None]:
    """Tensor, pipeline and data parallel rank of a scheduler; None for one that it does not say.

    Args:
        construct: the scheduler's own constructor.
        args: what it was called with.
        kwargs: likewise.
    """
    sources = tuple(_sources(scheduler, construct, args, kwargs))
    names = {"tensor": "tp_rank", "pipeline": "pp_rank", "data": "dp_rank"}
    return {ours: _first_rank(sources, theirs) for ours, theirs in names.items()}


def _sources(
    scheduler: Any, construct: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[Callable[[str], Any]]:
    """Where a rank can stand, each as a function from its name, the most direct first."""
    try:
        arguments = inspect.signature(construct).bind_partial(scheduler, *args, **kwargs).arguments
        yield arguments.get
    except (TypeError, ValueError):
        pass
    yield lambda name: getattr(scheduler, name, None)
    yield lambda name: getattr(scheduler.ps, name)
    yield lambda name: getattr(sys.modules[CONTEXT_MODULE].get_parallel(), name)
    yield lambda name: getattr(scheduler.tp_worker, name)


def _first_rank(sources: tuple[Callable[[str], Any], ...], name: str) -> int | None:
    for source in sources:
        try:
            rank = source(name)
        except NOT_SAID:
            continue
        if isinstance(rank, int) and not isinstance(rank, bool):
            return int(rank)
    return None


def loop_of(scheduler: Any) -> str | None:
    """``overlap`` or ``synchronous``, None where the scheduler does not say."""
    overlap = getattr(scheduler, "enable_overlap", None)
    if overlap is None:
        return None
    return "overlap" if overlap else "synchronous"


def algorithm_of(scheduler: Any) -> str | None:
    """The scheduler's name for the algorithm, None without speculation."""
    algorithm = getattr(scheduler, "spec_algorithm", None)
    is_none = getattr(algorithm, "is_none", None)
    if algorithm is None or (callable(is_none) and is_none()):
        return None
    return str(getattr(algorithm, "name", algorithm))


def place_of(cls: type) -> tuple[str | None, int | None]:
    """File and line of a class; None where it has none, as one made at run time."""
    try:
        file = inspect.getsourcefile(cls)
        return file, inspect.findsource(cls)[1] + 1
    except (OSError, TypeError):
        return getattr(sys.modules.get(cls.__module__), "__file__", None), None
