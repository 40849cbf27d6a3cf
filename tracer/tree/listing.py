"""Folders of a tree that is stored as a flat list of files (a wheel, a git revision)."""

from __future__ import annotations

from collections.abc import Collection

from pathtrace.tracer.tree.paths import PACKAGE, within


class Listing:
    """Answers ``is_dir`` and ``listdir`` from file paths (``sglang/srt/server_args.py``).

    Names that lie outside the package, or are not in their one spelling, are left out. The folders are
    worked out at the first question, since many launches never ask one.
    """

    def __init__(self, files: Collection[str]) -> None:
        self._files = files
        self._folders: dict[str, tuple[str, ...]] | None = None

    def is_dir(self, path: str) -> bool:
        """Whether any file lies below the path."""
        clean = within(path)
        return clean is not None and clean in self._all()

    def listdir(self, path: str) -> tuple[str, ...]:
        """Names in the folder, sorted; empty where there is no such folder."""
        clean = within(path)
        return () if clean is None else self._all().get(clean, ())

    def _all(self) -> dict[str, tuple[str, ...]]:
        if self._folders is None:
            names: dict[str, set[str]] = {"": {PACKAGE}}
            for file in self._files:
                if within(file) != file:
                    continue
                folder, _, name = file.rpartition("/")
                while folder not in names:
                    names[folder] = {name}
                    folder, _, name = folder.rpartition("/")
                names[folder].add(name)
            self._folders = {folder: tuple(sorted(held)) for folder, held in names.items()}
        return self._folders
