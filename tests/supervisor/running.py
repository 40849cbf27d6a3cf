"""``pathtrace run`` in a process of its own, around a fake server (see ``fake_server``)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fake_server.py")
PATHTRACE = (sys.executable, "-m", "pathtrace")
CONFIRMS: list[list[Any]] = [["built", {}], ["both"]]


def command(steps: Sequence[Sequence[Any]], *launch: str) -> list[str]:
    """The fake server's command."""
    return [sys.executable, str(SERVER), json.dumps(list(steps)), *launch]


def run_command(steps: Sequence[Sequence[Any]], *launch: str, options: Sequence[str] = ()) -> list[str]:
    """The command of ``pathtrace run`` around it, without a static answer."""
    return [*PATHTRACE, "run", "--no-static-answer", *options, "--", *command(steps, *launch)]


def run(
    steps: Sequence[Sequence[Any]], *launch: str, options: Sequence[str] = (), **given: Any
) -> subprocess.CompletedProcess[bytes]:
    """A run from start to end."""
    given = {"stdin": subprocess.DEVNULL, **given}
    return subprocess.run(
        run_command(steps, *launch, options=options), capture_output=True, timeout=40, check=False, **given
    )


def _signals_as_ever() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def running(
    steps: Sequence[Sequence[Any]], *launch: str, options: Sequence[str] = (), **given: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A run that goes on; it is killed at the end, whatever happens."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **given}
    # Whoever runs the tests in the background has them ignore some signals, and a child inherits that.
    given = {"preexec_fn": _signals_as_ever, **given}
    process = subprocess.Popen(run_command(steps, *launch, options=options), **given)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def own_lines(stderr: bytes) -> list[str]:
    """What pathtrace itself said of a run: not that it begins, and not the lines of the server's processes."""
    lines = stderr.decode("utf-8", "replace").splitlines()
    lines = [line for line in lines if not re.fullmatch(r"pathtrace: run [0-9a-f]{12} begins", line)]
    marks = ("pathtrace: built ", "pathtrace: live ", "pathtrace: failed ")
    return [line for line in lines if line.startswith("pathtrace: ") and not line.startswith(marks)]


def read_until(stream: Any, wanted: str) -> str:
    """What a stream says up to and with a line that holds ``wanted``."""
    said = b""
    until = time.monotonic() + 20
    while wanted.encode() not in said:
        assert time.monotonic() < until, said
        line = stream.readline()
        assert line, said
        said += line
    return said.decode("utf-8", "replace")


def children_said(output: str | bytes) -> list[int]:
    """Process ids that the fake server's children printed."""
    text = output if isinstance(output, str) else output.decode()
    return [int(found) for found in re.findall(r"child (\d+)", text)]


def is_running(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def environment(**variables: str) -> Mapping[str, str]:
    """This environment with some variables."""
    return {**os.environ, **variables}
