"""Signals that come to the supervisor of a server."""

from __future__ import annotations

import signal
from collections.abc import Callable

# Asked to end: what a server says while it ends is no longer judged.
ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
# A terminal sends these to the whole group that it shows, which the server's group is not.
FROM_TERMINAL = frozenset({signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH")


def take_signals(forward: Callable[[int], None], reap: Callable[[], None], pause: Callable[[], None]) -> None:
    """Has signals call these functions, which must only take note: they run between any two steps of the program.

    Args:
        forward: told of a signal that is the server's.
        reap: told that a child has ended.
        pause: told that a terminal wants the program to stop.
    """
    for name in _FORWARDED:
        number = getattr(signal, name)
        # What was ignored when this process started is ignored by the server too: nohup.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda received, _frame: forward(received))
    signal.signal(signal.SIGCHLD, lambda _received, _frame: reap())
    if signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, lambda _received, _frame: pause())
