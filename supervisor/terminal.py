"""The terminal that a server is started from, where there is one."""

from __future__ import annotations

import os
import signal


def has_terminal() -> bool:
    """Whether this process group is the one that a terminal's keys reach."""
    try:
        descriptor = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def give_terminal(group: int) -> None:
    """Lets a process group read from the terminal, as a shell does for the job in front.

    A server that is stopped because it read from there would stay stopped for ever.
    """
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(descriptor, group)
        os.killpg(group, signal.SIGCONT)
    except OSError:
        return
    finally:
        signal.signal(signal.SIGTTOU, before)
        os.close(descriptor)
