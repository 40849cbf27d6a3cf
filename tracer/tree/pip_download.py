"""One wheel of one release, downloaded with pip and never built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

from pathtrace.tracer.errors import BadInput

_TIMEOUT_S = 900
_OPTIONS = ("--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--quiet")
_PATIENCE = ("--retries", "2", "--timeout", "20")
_PLATFORMS = (
    "manylinux_2_34_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
    "any",
)
_OTHER_PYTHONS = ("3.11", "3.12", "3.10", "3.13")
_INSTEAD = "give a wheel, a directory or PATH@REV instead"


def download_wheel(version: str, folder: str) -> str:
    """Download the release's wheel into an empty folder and return its path.

    First as this interpreter would take it; then, since the wheel is only read, as Linux on x86-64
    with each Python would. Source distributions are never taken: building one runs its code.

    Raises:
        BadInput: no pip, no network, or no wheel of that release; with pip's own last error line.
    """
    said = ""
    for options in _attempts():
        code, said = _pip(version, folder, options)
        wheels = sorted(name for name in os.listdir(folder) if name.endswith(".whl"))
        if code == 0 and len(wheels) == 1:
            return os.path.join(folder, wheels[0])
        if code != 0 and "No module named pip" in said:
            raise BadInput(
                f"cannot fetch sglang {version}: this environment has no pip (uv makes them so); "
                f"add it with `uv pip install pip`, or {_INSTEAD}"
            )
        if "connection broken" in said or "Connection error" in said:
            raise BadInput(
                f"cannot fetch sglang {version}: pip reached no package index ({_last_error(said)}); "
                f"check the network, or {_INSTEAD}"
            )
    raise BadInput(f"cannot fetch sglang {version}: {_last_error(said)}{_newest(said)}; {_INSTEAD}")


def _attempts() -> Iterator[tuple[str, ...]]:
    yield ()
    platforms = tuple(word for name in _PLATFORMS for word in ("--platform", name))
    for python in _OTHER_PYTHONS:
        tag = "cp" + python.replace(".", "")
        abis = ("--abi", tag, "--abi", "abi3", "--abi", "none")
        yield ("--python-version", python, "--implementation", "cp", *abis, *platforms)


def _pip(version: str, folder: str, options: tuple[str, ...]) -> tuple[int, str]:
    command = [sys.executable, "-m", "pip", "download", *_OPTIONS, *_PATIENCE, *options]
    try:
        done = subprocess.run(
            [*command, "--dest", folder, f"sglang=={version}"],
            cwd=folder,  # `-m` imports from the current folder first: an empty one
            env={**os.environ, "PIP_NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"cannot fetch sglang {version}: pip could not be run: {error}") from error
    return done.returncode, done.stderr.decode("utf-8", "replace")


def _last_error(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip gave no reason"])[-1][:300].rstrip(".")


def _newest(said: str) -> str:
    """The last release that pip listed, as a clause."""
    listed = re.search(r"\(from versions: ([^)]*)\)", said)
    last = listed.group(1).split(",")[-1].strip() if listed else "none"
    return "" if last == "none" else f" (the newest it lists is {last})"
