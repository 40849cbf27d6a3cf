"""Where an interpreter would find a package, without importing it."""

from __future__ import annotations

import functools
import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput

_MARK = "pathtrace-found:"
_TIMEOUT_S = 60

# `-c` puts the current folder first on the path; it goes before anything else is imported, so that
# the answer does not hang on where the command is run. find_spec of a top-level name imports nothing.
_PROBE = f"""
import sys
if sys.path[:1] == [""]:
    del sys.path[0]
import importlib.util, json
try:
    spec = importlib.util.find_spec(sys.argv[1])
except Exception:
    spec = None
found = None
if spec is not None:
    archive = getattr(spec.loader, "archive", None)
    found = [list(spec.submodule_search_locations or []), archive if isinstance(archive, str) else None]
print({_MARK!r} + json.dumps(found))
"""


@dataclass(frozen=True)
class Found:
    """A package as an interpreter would import it.

    Attributes:
        folders: where its modules are looked for.
        archive: the zip file that holds it, if one does.
    """

    folders: tuple[str, ...]
    archive: str | None


def interpreter_path(python: str | None) -> str:
    """The interpreter that is meant; this one for None.

    Raises:
        BadInput: there is no such interpreter.
    """
    if python is None:
        return sys.executable
    path = shutil.which(os.path.expanduser(python))
    if path is None:
        raise BadInput("no such interpreter, or not executable; --python takes a path or a name on PATH", python)
    return path


def find_package(interpreter: str, name: str) -> Found | None:
    """A top-level package of an interpreter; the current folder does not count, unless ``PYTHONPATH`` names it.

    Raises:
        BadInput: the interpreter cannot be run.
    """
    return _probe(interpreter, name)


def package_folders(python: str | None, name: str) -> tuple[str, ...]:
    """The folders of a package of an interpreter, this one for None; empty where it has none.

    Raises:
        BadInput: there is no such interpreter, or it cannot be run.
    """
    if python is not None:
        return _folders(interpreter_path(python), name)
    found = _own(name)
    return () if found is None else found.folders


@functools.lru_cache(maxsize=8)
def _folders(interpreter: str, name: str) -> tuple[str, ...]:
    """Asked once: every launch of a sweep wants it, and each time an interpreter would be started."""
    found = find_package(interpreter, name)
    return () if found is None else found.folders


def _own(name: str) -> Found | None:
    """A package of this interpreter, found without starting another one; none where a foreign finder fails."""
    here = os.getcwd()
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    for finder in sys.meta_path:
        if finder is importlib.machinery.PathFinder:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        else:
            find = getattr(finder, "find_spec", None)
            try:
                spec = None if find is None else find(name, None)
            except Exception:  # a foreign finder may raise anything; the package is then not known
                return None
        if spec is not None:
            return Found(tuple(spec.submodule_search_locations or ()), None)
    return None


def _probe(interpreter: str, name: str) -> Found | None:
    try:
        done = subprocess.run(
            [interpreter, "-c", _PROBE, name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise BadInput(
            f"the interpreter did not say within {_TIMEOUT_S} s where {name} is; give the tree with --sglang",
            interpreter,
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"the interpreter could not be run: {error}", interpreter) from error
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith(_MARK):
            found = json.loads(line[len(_MARK) :])
            return None if found is None else Found(tuple(found[0]), found[1])
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    raise BadInput(f"the interpreter did not say where {name} is: {said[-1] if said else 'no output'}", interpreter)
