"""Processes: starting one as a shell would, reaping, and ending everything that came of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Makes this process the parent of every descendant whose own parent ends; returns whether it is."""
    if os.getpid() == 1:
        return True
    control = _control()
    return control is not None and control(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def start(words: Sequence[str], environ: Mapping[str, str], output: Mapping[int, int]) -> int:
    """Starts a program in a process group of its own; returns its process id.

    It is told to end if this process dies. The caller has only one thread yet: this forks.

    Args:
        words: the program, looked for on the environment's PATH, and its arguments.
        environ: its environment.
        output: its standard streams, number there, number here; one that is left out is this process's own.

    Raises:
        OSError: it cannot be started.
    """
    parent = os.getpid()
    control = _control()

    def before_exec() -> None:
        os.setpgid(0, 0)
        if control is not None:
            control(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    started = subprocess.Popen(
        list(words),
        executable=program(words[0], environ),
        env=dict(environ),
        stdin=output.get(0),
        stdout=output.get(1),
        stderr=output.get(2),
        # What whoever started this process has handed down is handed on.
        close_fds=False,
        preexec_fn=before_exec,
    )
    # Whatever becomes of it is learnt by `reap`, and by nobody else.
    started.returncode = 0
    return started.pid


def _control() -> Callable[..., int] | None:
    """The system call by which a process of Linux says what becomes of it and its children."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return None
    return found


def program(word: str, environ: Mapping[str, str]) -> str:
    """The file that a command's first word names.

    Raises:
        FileNotFoundError: there is none.
        PermissionError: there is one, and it cannot be run.
    """
    places = [word]
    if os.sep not in word:
        path = environ.get("PATH", os.defpath)
        places = [os.path.join(folder or os.curdir, word) for folder in path.split(os.pathsep)] if word else []
    found = [place for place in places if os.path.exists(place)]
    for place in found:
        if os.access(place, os.X_OK) and not os.path.isdir(place):
            return place
    if found:
        raise PermissionError(f"{found[0]} cannot be run")
    raise FileNotFoundError(f"no such program: {word}")


def reap(on_stopped: Callable[[int, int], None]) -> list[tuple[int, int]]:
    """The children that have ended, each with its exit status: 128 and the signal for one that died of it.

    Args:
        on_stopped: told of a child that was stopped, and by which signal.
    """
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if os.WIFSTOPPED(status):
            on_stopped(pid, os.WSTOPSIG(status))
            continue
        code = os.waitstatus_to_exitcode(status)
        ended.append((pid, code if code >= 0 else 128 - code))


def send(number: int, pid: int, *, to_group: bool) -> None:
    """Sends a signal to a process, or to the whole group that it leads; one that has ended gets none."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if to_group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def descendants() -> list[int]:
    """Every process that this one has started, or that one of those has, and so on; nothing without /proc."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            parent = _living_parent(name)
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _living_parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as stream:
            # The name stands in parentheses and may hold anything.
            state, parent = stream.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(parent)
