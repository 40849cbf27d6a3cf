"""Where a report goes: standard output, or a file that is whole or not there.

A file is written beside its target and moved over it at the end, so a reader never sees half a report
and a failed run leaves the old one alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pathtrace.tracer.errors import BadInput


@contextlib.contextmanager
def report_stream(target: str | None) -> Iterator[TextIO]:
    """A stream for the report.

    Args:
        target: ``--output-file`` as given; None or ``-`` is standard output.

    Raises:
        BadInput: the file cannot be written.
    """
    if target is None or target == "-":
        stdout = _standard_output()
        yield stdout
        stdout.flush()
        return
    mode = _mode_of(target)
    if mode is not None and not stat.S_ISREG(mode):
        with _refused_by_system(target):
            device = open(target, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        with device:
            yield device
        return
    with _replacing(Path(os.path.realpath(target)), mode, target) as stream:
        yield stream


def _standard_output() -> TextIO:
    """Standard output, which writes what its encoding lacks as an escape instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return sys.stdout


def _mode_of(target: str) -> int | None:
    with _refused_by_system(target):
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            return None
    if stat.S_ISDIR(mode):
        raise BadInput("the output file is a folder; name a file in it", file=target)
    return mode


@contextlib.contextmanager
def _replacing(path: Path, mode: int | None, target: str) -> Iterator[TextIO]:
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    with _refused_by_system(target):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        stream = open(descriptor, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    try:
        with stream:
            yield stream
        with _refused_by_system(target):
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextlib.contextmanager
def _refused_by_system(target: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = error.strerror or type(error).__name__
        raise BadInput(f"cannot write the report: {reason}", file=target) from error
