"""The outlines of a tree's files, kept on disk for as long as the files do not change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pathtrace import __version__
from pathtrace.tracer.change.outline import Outline, from_plain, outline
from pathtrace.tracer.entries import entries_folder, read_entry, write_entry
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.python_files import python_paths

FORMAT = 1


class Outlines:
    """Outlines by path.

    A file of a folder counts as unchanged while its size, its inode and the time when that changed stay (no
    program can set that time), one of a wheel while the wheel's do. Those of a git revision are made anew.

    Args:
        tree: the tree.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._kept: dict[str, list[Any]] = {}
        self._made: dict[str, Outline | None] = {}
        self._changed = False
        self._place = self._file()
        if self._place is not None:
            self._kept = _read(self._place)

    def of(self, path: str) -> Outline | None:
        """The outline of a file; None where the tree has no such file."""
        if path not in self._made:
            self._made[path] = self._outline(path)
        return self._made[path]

    def _outline(self, path: str) -> Outline | None:
        stamp = self._stamp(path)
        kept = self._kept.get(path)
        current = kept is not None and stamp is not None and kept[0] == stamp
        if kept is not None and current and kept[2] is not None:
            return from_plain(kept[2])
        data = self.tree.read(path)
        if data is None:
            return None
        made = outline(data, module_of(path), path.endswith("/__init__.py"))
        self._keep(path, [stamp, kept[1] if kept is not None and current else None, made])
        return made

    def mentioning(self, text: bytes, under: str, skip: frozenset[str]) -> Iterator[str]:
        """The Python files under a folder whose bytes hold a text; always the same text for one tree."""
        for path in python_paths(self.tree, under, skip):
            stamp = self._stamp(path)
            kept = self._kept.get(path)
            current = kept is not None and stamp is not None and kept[0] == stamp
            if kept is None or not current or kept[1] is None:
                kept = [stamp, text in (self.tree.read(path) or b""), kept[2] if kept is not None and current else None]
                self._keep(path, kept)
            if kept[1]:
                yield path

    def save(self) -> None:
        """Keep what was made; a cache that cannot be written is no error."""
        if self._place is not None and self._changed:
            document = {"format": FORMAT, "version": __version__, "files": self._kept}
            write_entry(self._place, json.dumps(document).encode())

    def _keep(self, path: str, entry: list[Any]) -> None:
        if entry[0] is not None:
            self._kept[path] = entry
            self._changed = True

    def _stamp(self, path: str) -> list[int] | None:
        info = self.tree.info
        if info.kind == "git":
            return None
        real = info.path if os.path.isfile(info.path) else os.path.join(info.path, path)
        try:
            status = os.stat(real)
        except (OSError, ValueError):
            return None
        return [status.st_size, status.st_ctime_ns, status.st_ino]

    def _file(self) -> Path | None:
        if self.tree.info.kind == "git":
            return None
        name = hashlib.blake2b(os.path.abspath(self.tree.info.path).encode(), digest_size=16).hexdigest()
        return entries_folder("outlines") / f"{name}.json"


def module_of(path: str) -> str:
    """``sglang/srt/x.py`` as ``sglang.srt.x``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _read(place: Path) -> dict[str, list[Any]]:
    """What was kept; nothing where it is damaged or of another version."""
    body = read_entry(place)
    document = None if body is None else json.loads(body)
    if document is None or (document["format"], document["version"]) != (FORMAT, __version__):
        return {}
    files: dict[str, list[Any]] = document["files"]
    return files
