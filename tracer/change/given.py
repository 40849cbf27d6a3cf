"""The change that a user names: patch files, or what git says of the tree's working copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.change.judge import JudgedChange, judge
from pathtrace.tracer.change.patch import PatchedFile, git_patch, read_patch
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.model import Tree


@dataclass(frozen=True)
class Change:
    """How a user names a change of a tree.

    Attributes:
        patches: ``.patch`` and ``.diff`` files.
        revision: the working copy against this revision, as ``git diff REV``; None for not at all.
        staged: what is staged for the next commit, as ``git diff --cached``.
        files: files of the tree, as they differ from the last commit.
    """

    patches: tuple[str, ...] = ()
    revision: str | None = None
    staged: bool = False
    files: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patches or self.files or self.staged or self.revision is not None)


def given_change(tree: Tree, change: Change) -> tuple[PatchedFile, ...]:
    """What is changed of the tree.

    Raises:
        BadInput: a patch that cannot be read or does not fit; git's diff of something that is no working copy.
    """
    found = [file for path in change.patches for file in read_patch(path, tree)]
    revision = change.revision
    if revision is not None or change.staged:
        if tree.info.kind not in ("directory", "installed"):
            raise BadInput("--diff and --staged need a tree that is a folder of a git working copy", tree.info.given)
        if revision is not None and (not revision.strip() or revision.startswith("-")):
            raise BadInput(f"--diff {revision!r} is no revision; give a commit, a branch or a tag")
        arguments = (("--cached",) if change.staged else ()) + ((revision,) if revision is not None else ())
        found += git_patch(tree.info.path, arguments, tree)
    inside = tuple(file for file in change.files if _is_inside(file, tree))
    if inside:
        found += git_patch(tree.info.path, ("HEAD",), tree, inside)
    return tuple(found)


def _is_inside(file: str, tree: Tree) -> bool:
    return tree.info.kind in ("directory", "installed") and Path(file).resolve().is_relative_to(
        Path(tree.info.path).resolve()
    )


def judged(tree: Tree, files: Sequence[PatchedFile], answer: Answer) -> tuple[JudgedChange, ...]:
    """The changed functions, judged for the workers that an answer has; none for a launch that is refused."""
    if answer.outcome == "refused":
        return ()
    possible = [answer.worker, *(each.worker for each in answer.alternatives)]
    return judge(tree, files, {(each.module, each.cls) for each in possible if each is not None})
