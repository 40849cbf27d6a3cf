"""The Python files of a tree."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.tracer.tree.model import Tree

CLIENTS = frozenset({"test", "multimodal_gen"})
"""Folders of the package that are not part of a language model's server."""


def python_files(tree: Tree, folder: str, skip: frozenset[str] = frozenset()) -> Iterator[tuple[str, bytes]]:
    """Every Python file under a folder of a tree, with its bytes; ``skip`` names folders to leave out."""
    for path in python_paths(tree, folder, skip):
        data = tree.read(path)
        if data is not None:
            yield path, data


def python_paths(tree: Tree, folder: str, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every Python file under a folder of a tree; ``skip`` names folders to leave out."""
    for entry in tree.listdir(folder):
        path = f"{folder}/{entry}"
        if entry.endswith(".py"):
            yield path
        elif "." not in entry and entry != "__pycache__" and entry not in skip and tree.is_dir(path):
            yield from python_paths(tree, path, skip)
