"""The environment of the live servers: made once, in the user's cache, from the package index and the pinned wheels.

``PATHTRACE_LIVE_DIR`` moves it; ``PATHTRACE_LIVE_PYTHON`` names the interpreter to make it with. What is there, whole
and made from the same requirements is kept; ``python -m pathtrace.tests.live.environment`` makes all of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs
import pytest

from pathtrace.tests import trees
from pathtrace.tests.live.releases import RELEASES

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
REQUIREMENTS = HERE / "requirements.txt"
INSTALL_S = 1800


@dataclass(frozen=True)
class Environment:
    """Where everything lies that a server of one release needs.

    Attributes:
        python: the interpreter.
        tree: folder that holds the release's package ``sglang``.
        packages: folders to lay before the environment's own packages.
        models: folder of the generated models.
    """

    python: Path
    tree: Path
    packages: tuple[Path, ...]
    models: Path


def live_folder() -> Path:
    """Where the environment lies."""
    given = os.environ.get("PATHTRACE_LIVE_DIR")
    return Path(given).expanduser().absolute() if given else platformdirs.user_cache_path("pathtrace") / "live"


def environment(release: str) -> Environment:
    """The environment of a release; what is missing of it is made."""
    folder = live_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        python = _interpreter(folder)
        packages = RELEASES[release].packages
        found = (_packages(folder, python, packages),) if packages else ()
        return Environment(python, _tree(folder, python, release), found, _models(folder, python))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two runs at once: the second waits until the first has made what both need."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _interpreter(folder: Path) -> Path:
    venv = folder / "venv"
    python = venv / "bin" / "python"

    def make() -> None:
        _run(os.environ.get("PATHTRACE_LIVE_PYTHON") or sys.executable, "-m", "venv", str(venv))
        _pip(python, "install", "--no-compile", "--requirement", str(REQUIREMENTS))

    # The interpreter that it was made with may be gone: then the link to it leads nowhere.
    _once(venv, REQUIREMENTS.read_bytes(), make, is_whole=python.exists)
    return python


def _packages(folder: Path, python: Path, packages: tuple[str, ...]) -> Path:
    target = folder / "packages" / packages[0].replace("==", "-")

    def make() -> None:
        _pip(python, "install", "--no-compile", "--no-deps", "--target", str(target), *packages)

    _once(target, " ".join(packages).encode(), make)
    return target


def _tree(folder: Path, python: Path, release: str) -> Path:
    target = folder / "trees" / release

    def make() -> None:
        with zipfile.ZipFile(trees.wheel(release)) as archive:
            names = [name for name in archive.namelist() if name.startswith("sglang/")]
            archive.extractall(target, [name for name in names if not name.startswith("sglang/multimodal_gen/")])
        # Three processes of each server import it, perhaps where nothing may write bytecode: compiled once.
        # Some files are templates that do not compile; whatever matters among the rest fails at its import.
        _run(str(python), "-m", "compileall", "-q", "-j", "2", str(target / "sglang" / "srt"), may_fail=True)

    _once(target, trees.PINNED[release].encode(), make)
    return target


def _models(folder: Path, python: Path) -> Path:
    target, script = folder / "models", HERE / "models.py"
    _once(target, script.read_bytes(), lambda: _run(str(python), str(script), str(target)))
    return target


def _once(target: Path, content: bytes, make: Callable[[], None], is_whole: Callable[[], bool] | None = None) -> None:
    """Makes ``target`` unless it is there, whole, and was made from ``content``."""
    note, wanted = target.with_name(target.name + ".made"), hashlib.sha256(content).hexdigest()
    is_there = (is_whole or target.exists)()
    if is_there and note.exists() and note.read_text("utf-8") == wanted:
        return
    # The note goes first and comes last: what is broken off in between is never taken for whole.
    note.unlink(missing_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    make()
    note.write_text(wanted, "utf-8")


def with_pathtrace(environment: Environment, folder: Path) -> Environment:
    """The same environment with pathtrace installed beside SGLang, as ``pip install`` does it, in a new folder.

    A virtual environment of its own, with a look into the first: other tests keep that without pathtrace.
    """
    venv, source = folder / "venv", folder / "source"
    python = venv / "bin" / "python"
    _run(str(environment.python), "-m", "venv", "--without-pip", str(venv))
    (own,) = (venv / "lib").glob("python*/site-packages")
    (first,) = (environment.python.parent.parent / "lib").glob("python*/site-packages")
    (own / "live.pth").write_text(f"{first}\n", "utf-8")
    left_out = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "tests", "shared")
    shutil.copytree(ROOT, source, ignore=left_out)
    _pip(environment.python, "--python", str(python), "install", str(source))
    return replace(environment, python=python)


def _pip(python: Path, *words: str) -> None:
    _run(str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *words)


def _run(*command: str, may_fail: bool = False) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            command,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{' '.join(command)} took more than {INSTALL_S} s", pytrace=False)
    if done.returncode != 0 and not may_fail:
        pytest.fail(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}", pytrace=False)


if __name__ == "__main__":
    for each in RELEASES:
        began = time.monotonic()
        made = environment(each)
        print(f"{each}: {made.tree}, {time.monotonic() - began:.0f} s")
