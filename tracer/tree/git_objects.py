"""Running git so that it only reads: no hooks, filters, pagers, prompts, network or checkout."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import weakref
from typing import IO

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.paths import MAX_FILE_BYTES, too_large

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
_OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")
_TIMEOUT_S = 120


def git_command(repository: str, *arguments: str) -> list[str]:
    """The command line for a reading git command in a repository."""
    return ["git", *_OPTIONS, "-C", repository, *arguments]


def git_environment() -> dict[str, str]:
    """The environment for git.

    Inside a git hook ``GIT_DIR`` and others name the repository being committed to, so all of them are
    dropped. The user's and the system's configuration stay: they say which repositories are trusted
    (``safe.directory``), and the commands used here run nothing from any configuration.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **_QUIET}


def run_git(repository: str, *arguments: str) -> tuple[bytes | None, str]:
    """What a git command wrote, and its error sentence; the output is None where it failed.

    Raises:
        BadInput: there is no git, or it does not end.
    """
    try:
        done = subprocess.run(
            git_command(repository, *arguments),
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
    except FileNotFoundError as error:
        raise BadInput("git is not installed; give a directory, a wheel or a release instead", repository) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"git could not be run: {error}", repository) from error
    return (done.stdout if done.returncode == 0 else None), _error_line(done.stderr)


def _error_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or ["no reason given"])[0].removeprefix("fatal: ").removeprefix("error: ")


class Blobs:
    """Contents of git blobs by object name, from one ``git cat-file --batch`` kept open.

    Started at the first read, and again in a child process after a fork. Safe to use from threads.
    """

    def __init__(self, repository: str) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._git: subprocess.Popen[bytes] | None = None
        self._process = 0

    def read(self, name: str, path: str) -> bytes:
        """The blob's bytes.

        Args:
            name: object name.
            path: file in the tree, for errors.

        Raises:
            BadInput: the repository does not hold the blob (a partial clone), or it is too large.
        """
        with self._lock:
            try:
                return self._ask(name, path)
            except (OSError, EOFError) as error:
                self._close()
                raise BadInput(
                    f"git in {self._repository} does not hold this file's contents (a partial clone?); "
                    "fetch them with git first",
                    path,
                ) from error

    def _ask(self, name: str, path: str) -> bytes:
        stdin, stdout = self._pipes()
        stdin.write(name.encode() + b"\n")
        stdin.flush()
        header = stdout.readline().split()
        if len(header) != 3 or header[1] != b"blob":
            raise EOFError(name)
        size = int(header[2])
        if size > MAX_FILE_BYTES:
            self._close()
            raise too_large(path, self._repository)
        content = stdout.read(size)
        if len(content) != size or stdout.read(1) != b"\n":
            raise EOFError(name)
        return content

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._git is None or self._process != os.getpid():
            self._git = subprocess.Popen(
                git_command(self._repository, "cat-file", "--batch"),
                env=git_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._process = os.getpid()
            weakref.finalize(self, _end, self._git, self._process)
        if self._git.stdin is None or self._git.stdout is None:
            raise EOFError
        return self._git.stdin, self._git.stdout

    def _close(self) -> None:
        if self._git is not None:
            _end(self._git, self._process)
        self._git = None


def _end(git: subprocess.Popen[bytes], process: int) -> None:
    """End git, but only in the process that started it (a forked child only holds a copy)."""
    if process != os.getpid():
        return
    git.kill()
    for pipe in (git.stdin, git.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    git.wait()
