"""The ``sglang`` that an interpreter would import, found without importing it."""

from __future__ import annotations

import os

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.directory import DirectoryTree, is_package
from pathtrace.tracer.tree.interpreter import find_package, interpreter_path
from pathtrace.tracer.tree.wheel import WheelTree

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
    interpreter = interpreter_path(python)
    found = find_package(interpreter, "sglang")
    if found is None:
        raise BadInput(f"{interpreter} has no sglang installed; {_NEXT}", given)
    if found.archive is not None:
        return WheelTree(found.archive, given=given, kind="installed")
    for folder in found.folders:
        if is_package(folder, folder):
            # An installer may link every file to its own store; then the store is part of the tree.
            store = os.path.dirname(os.path.realpath(os.path.join(folder, "__init__.py")))
            return DirectoryTree(folder, (store,), given=given, kind="installed")
    where = found.folders[0] if found.folders else "nowhere"
    raise BadInput(f"{interpreter} finds sglang in {where}, which lacks srt/ or __init__.py; {_NEXT}", given)
