"""The ``sglang`` that an interpreter would import, found without importing it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.directory import DirectoryTree, is_package
from pathtrace.tracer.tree.wheel import WheelTree

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
    spec = importlib.util.find_spec("sglang")
except Exception:
    spec = None
found = None
if spec is not None:
    archive = getattr(spec.loader, "archive", None)
    found = [list(spec.submodule_search_locations or []), archive if isinstance(archive, str) else None]
print({_MARK!r} + json.dumps(found))
"""

_NEXT = "name a tree with --sglang TREE, or the interpreter that has it with --python"


def open_installed(python: str | None, given: str = "installed") -> DirectoryTree | WheelTree:
    """The tree that an interpreter would import: installed, editable, or on its ``PYTHONPATH``.

    The current folder does not count, unless ``PYTHONPATH`` names it.

    Args:
        python: interpreter, a path or a name on ``PATH``; this one by default.
        given: the tree as the user wrote it.

    Raises:
        BadInput: the interpreter cannot be run, or would not find a whole ``sglang``.
    """
    interpreter = sys.executable if python is None else _interpreter(python)
    found = _probe(interpreter)
    if found is None:
        raise BadInput(f"{interpreter} has no sglang installed; {_NEXT}", given)
    folders, archive = found
    if archive is not None:
        return WheelTree(archive, given=given, kind="installed")
    for folder in folders:
        if is_package(folder, folder):
            # An installer may link every file to its own store; then the store is part of the tree.
            store = os.path.dirname(os.path.realpath(os.path.join(folder, "__init__.py")))
            return DirectoryTree(folder, (store,), given=given, kind="installed")
    where = folders[0] if folders else "nowhere"
    raise BadInput(f"{interpreter} finds sglang in {where}, which lacks srt/ or __init__.py; {_NEXT}", given)


def _interpreter(python: str) -> str:
    path = shutil.which(os.path.expanduser(python))
    if path is None:
        raise BadInput("no such interpreter, or not executable; --python takes a path or a name on PATH", python)
    return path


def _probe(interpreter: str) -> tuple[list[str], str | None] | None:
    try:
        done = subprocess.run(
            [interpreter, "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"the interpreter could not be run: {error}", interpreter) from error
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith(_MARK):
            found = json.loads(line[len(_MARK) :])
            return None if found is None else (found[0], found[1])
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    raise BadInput(f"the interpreter did not say where sglang is: {said[-1] if said else 'no output'}", interpreter)
