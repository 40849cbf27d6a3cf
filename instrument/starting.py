"""Starting in a process: once, by whichever carrier comes first, and at no cost until sglang is imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import ModuleType

from pathtrace.instrument.output import report_failure

OLDEST = (3, 10)

_lock = threading.Lock()
_carrier: str | None = None


def carrier() -> str | None:
    """What brought pathtrace into this process, None where nothing did."""
    return _carrier


def start(name: str) -> bool:
    """Arranges for the hook to be bound; the first carrier does it, a later one finds it done.

    Args:
        name: the carrier, ``sitecustomize`` or ``plugin``.

    Returns:
        Whether this call did it.
    """
    global _carrier
    with _lock:
        if _carrier is not None:
            return False
        _carrier = name
    if "sglang" in sys.modules:
        _watch_scheduler()
    else:
        # First: a finder before it could hand out sglang without this one being asked.
        sys.meta_path.insert(0, _FirstImport())
    return True


class _FirstImport:
    """Waits for the first import of sglang, so that any other Python process pays for nothing more.

    It stays on ``sys.meta_path``: whoever leaves that list while it is walked makes the walk skip the next finder.
    """

    def __init__(self) -> None:
        self._waits = True

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Finds nothing itself: the import goes on with the other finders."""
        if name == "sglang" and self._waits:
            self._waits = False
            _watch_scheduler()


def _watch_scheduler() -> None:
    # Neither an import of sglang nor a server may fail because of what happens here.
    try:
        if sys.version_info < OLDEST:
            found, needed = (".".join(map(str, version[:2])) for version in (sys.version_info, OLDEST))
            report_failure(f"{sys.executable} is Python {found}, pathtrace needs {needed} or later")
            return
        from pathtrace.instrument.watching import watch_scheduler

        watch_scheduler()
    except Exception as problem:
        report_failure(f"the hook could not start: {type(problem).__name__}: {problem}")
