"""What files that a user names are to pathtrace: launches, patches, files of the tree, hooks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.project.files import deployments_in
from pathtrace.tracer.project.model import Deployment, Project

PATCHES = (".patch", ".diff")


@dataclass(frozen=True)
class Selected:
    """What is to be checked.

    Attributes:
        deployments: launches in the files, and those of the project that a file of them concerns.
        patches: patches of the tree.
        tree_files: files of the tree.
        hooks: Python files outside of the tree.
        problems: files that cannot be read, where others can.
    """

    deployments: tuple[Deployment, ...]
    patches: tuple[str, ...] = ()
    tree_files: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    problems: tuple[BadInput, ...] = ()


def select(files: Sequence[str], project: Project | None, shared: Deployment, given: Mapping[str, str]) -> Selected:
    """Sort files by what they are.

    A file that the project's configuration names stands for the deployments there; a patch, a file of
    the tree or a hook concerns all of them.

    Args:
        files: the files, as the user gave them.
        project: the project's configuration, if there is one.
        shared: what holds for a launch that the configuration does not name.
        given: variables that are stated for scripts and manifests.

    Raises:
        BadInput: a file cannot be read, and no other holds a launch.
    """
    listed = project.deployments if project is not None else ()
    trees = [Path(each.sglang).resolve() for each in (shared, *listed) if os.path.isdir(each.sglang)]
    patches, tree_files, hooks = [], [], []
    problems: list[BadInput] = []
    found: list[Deployment] = []
    for file in files:
        path = _resolved(file)
        if file.endswith(PATCHES):
            patches.append(file)
        elif file.endswith(".py") and any(path.is_relative_to(each) for each in trees):
            tree_files.append(file)
        else:
            own = [each for each in listed if each.file and _resolved(each.file) == path]
            if file.endswith(".py"):
                hooks.append(file)
            try:
                found += own or deployments_in(Path(file), shared, given)
            except BadInput as problem:
                problems.append(problem)
    if problems and not found:
        raise problems[0]
    if patches or tree_files or hooks:
        found += [each for each in listed if each not in found]
    return Selected(tuple(found), tuple(patches), tuple(tree_files), tuple(hooks), tuple(problems))


def _resolved(file: str) -> Path:
    """Where a file really lies; of a link that leads back to itself, where it is named."""
    try:
        return Path(file).resolve()
    except (OSError, RuntimeError):
        return Path(os.path.abspath(file))
