"""A unified diff: the lines of a tree that it takes out or puts in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.reading import read_limited
from pathtrace.tracer.tree.git_objects import run_git
from pathtrace.tracer.tree.model import Tree

if TYPE_CHECKING:
    from unidiff.patch import Hunk, Line

LIMIT = 32 << 20
_PACKAGE = "sglang/"


@dataclass(frozen=True)
class PatchedFile:
    """What a patch does to one file of the tree.

    Attributes:
        path: path in the tree, ``sglang/...``.
        lines: lines of the tree's file, as it stands, that are changed or that something is put beside.
    """

    path: str
    lines: tuple[int, ...]


def read_patch(path: str, tree: Tree) -> tuple[PatchedFile, ...]:
    """A ``.patch`` or ``.diff`` file against the tree; it may have been applied already.

    Raises:
        BadInput: the file cannot be read, is no unified diff, or does not fit the tree.
    """
    data = read_limited(path, LIMIT, "the patch of the change alone")
    return parse_patch(data, path, tree)


def git_patch(
    folder: str, arguments: tuple[str, ...], tree: Tree, files: tuple[str, ...] = (".",)
) -> tuple[PatchedFile, ...]:
    """What ``git diff`` says of the tree's own working copy.

    Args:
        folder: a folder of the repository.
        arguments: of ``git diff``: a revision, or ``--cached``.
        tree: the working copy.
        files: what the diff is limited to.

    Raises:
        BadInput: the folder is in no repository, or git refuses.
    """
    limited = (each if each == "." else f":(literal){os.path.abspath(each)}" for each in files)
    command = ("diff", "--no-color", "--no-ext-diff", "--relative", *arguments, "--", *limited)
    said, error = run_git(folder, *command)
    if said is None:
        raise BadInput(f"git gives no diff: {error}", folder)
    return parse_patch(said, f"git diff {' '.join(arguments)}", tree)


def parse_patch(data: bytes, shown: str, tree: Tree) -> tuple[PatchedFile, ...]:
    """The changed lines of a diff, where it speaks of files of the tree.

    Raises:
        BadInput: it is no unified diff, or a hunk fits neither as it is nor as applied.
    """
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    if b"\0" in data:
        raise BadInput("is a binary file; give a unified diff", shown)
    try:
        patch = PatchSet(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    except (UnidiffParseError, ValueError, RecursionError) as error:
        raise BadInput(f"is no unified diff ({error})", shown) from error
    if not patch and data.strip():
        raise BadInput("holds no change of a file; give a unified diff", shown)
    found: list[PatchedFile] = []
    for file in patch:
        path = _in_tree(file.path)
        content = None if path is None else tree.read(path)
        if path is None or content is None:
            continue  # a file that is not the tree's, or that the patch makes
        lines = content.decode("utf-8", "replace").split("\n")
        changed: list[int] = []
        for hunk in file:
            changed += _changed(hunk, lines, f"{shown}: {path}")
        found.append(PatchedFile(path, tuple(sorted(set(changed)))))
    return tuple(found)


def _in_tree(path: str) -> str | None:
    """``a/python/sglang/srt/x.py`` as ``sglang/srt/x.py``; None for a file of something else."""
    if not path.endswith(".py") or ".." in path.split("/"):
        return None
    place = f"/{path}".find(f"/{_PACKAGE}")
    return path[place:] if place >= 0 else None


def _changed(hunk: Hunk, lines: list[str], shown: str) -> list[int]:
    """The lines of a hunk in the tree's file, which may be the one before the change or after it.

    Where both fit, the side counts of which more lines are found: a hunk that only adds says nothing of the file
    before it but its context, if it has any.
    """
    parts = [each for each in hunk if each.is_context or each.is_added or each.is_removed]
    before = [(each, each.source_line_no) for each in parts]
    after = [(each, each.target_line_no) for each in parts]
    fitting: list[tuple[int, list[int]]] = []
    for numbered, start in ((before, hunk.source_start), (after, hunk.target_start)):
        held = [(each, number) for each, number in numbered if number is not None]
        if all(_line(lines, number) == each.value.rstrip("\r\n") for each, number in held):
            fitting.append((len(held), _beside(numbered, start)))
    if fitting:
        return max(fitting, key=lambda side: side[0])[1]
    number = next((number for _each, number in (*before, *after) if number is not None), None)
    raise BadInput("this hunk does not fit the tree, neither as it is nor as applied", shown, number)


def _beside(numbered: list[tuple[Line, int | None]], start: int) -> list[int]:
    """Changed lines that the file has; where it has none of a run of them, the line that they follow."""
    found: list[int] = []
    before = max(1, start)
    for is_context, run in groupby(numbered, key=lambda item: item[0].is_context):
        numbers = [number for _each, number in run if number is not None]
        if not is_context:
            found += numbers or [before]
        before = numbers[-1] if numbers else before
    return found


def _line(lines: list[str], number: int) -> str | None:
    return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else None
