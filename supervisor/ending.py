"""Ending whatever a server leaves behind: no process stays, and none is waited for without end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from pathtrace.supervisor import processes

# What a killed process may take to go away: one that takes longer hangs in the kernel, or is somebody else's.
KILLED_S = 10.0
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.2


def end_descendants(kill_after_s: float, reap: Callable[[], None]) -> list[int]:
    """Asks every process below this one to end, then kills those that do not; returns those that stay all the same.

    Args:
        kill_after_s: how long they have to end.
        reap: called again and again, to take note of those that have ended.
    """
    kill_at = time.monotonic() + kill_after_s
    told: set[int] = set()
    pause = _FIRST_PAUSE_S
    while True:
        reap()
        rest = processes.descendants()
        now = time.monotonic()
        if not rest or now >= kill_at + KILLED_S:
            return rest
        is_over = now >= kill_at
        for pid in rest:
            if is_over or pid not in told:
                processes.send(signal.SIGKILL if is_over else signal.SIGTERM, pid, to_group=False)
                # One that is stopped ends only when it goes on.
                processes.send(signal.SIGCONT, pid, to_group=False)
        told.update(rest)
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
