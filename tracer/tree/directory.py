"""A tree in a directory, read where it lies."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pathtrace.tracer.answer import TreeInfo
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.package import find_package, no_tree
from pathtrace.tracer.tree.paths import MAX_FILE_BYTES, PACKAGE, is_text, too_large, within
from pathtrace.tracer.tree.version import stated_version

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True)
class _Folder:
    """A folder as first seen. Links are resolved; those that leave the tree are left out.

    ``chain`` holds the real folders on the way here, so that a link back to one is not followed.
    """

    chain: tuple[str, ...]
    files: dict[str, str]
    folders: dict[str, str]


class DirectoryTree:
    """The package in a directory.

    A folder is listed once and then remembered, so later answers do not change with it. Links are
    followed as long as they stay inside ``roots``; others, devices, pipes and ``__pycache__`` are absent.
    """

    def __init__(
        self,
        package: str,
        roots: tuple[str, ...],
        *,
        given: str,
        kind: Literal["directory", "installed"],
    ) -> None:
        self._given = given
        self._package = os.path.realpath(package)
        self._roots = tuple(os.path.realpath(root) for root in (package, *roots))
        self._seen: dict[str, _Folder | None] = {}
        holder = os.path.dirname(os.path.abspath(package))
        version = stated_version(self.read, lambda: _metadata(holder))
        self._info = TreeInfo(given=given, kind=kind, path=holder, version=version)

    @property
    def info(self) -> TreeInfo:
        """What was given and found; ``path`` is the folder that file names are relative to."""
        return self._info

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where there is no such file.

        Raises:
            BadInput: the file may not be read, or is too large.
        """
        clean = within(path)
        if clean is None:
            return None
        parent, _, name = clean.rpartition("/")
        folder = self._folder(parent)
        real = None if folder is None else folder.files.get(name)
        return None if real is None else self._bytes(real, clean)

    def is_dir(self, path: str) -> bool:
        """Whether the path is a folder of the tree.

        Raises:
            BadInput: a folder on the way may not be listed.
        """
        clean = within(path)
        return clean is not None and (clean == "" or self._folder(clean) is not None)

    def listdir(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty where there is no such folder.

        Raises:
            BadInput: the folder may not be listed.
        """
        clean = within(path)
        if clean == "":
            return (PACKAGE,)
        folder = None if clean is None else self._folder(clean)
        return () if folder is None else tuple(sorted((*folder.files, *folder.folders)))

    def _folder(self, path: str) -> _Folder | None:
        if path in self._seen:
            return self._seen[path]
        found: _Folder | None = None
        if path == PACKAGE:
            found = self._scan(self._package, (), path)
        elif path:
            parent, _, name = path.rpartition("/")
            above = self._folder(parent)
            real = None if above is None else above.folders.get(name)
            if above is not None and real is not None:
                found = self._scan(real, above.chain, path)
        self._seen[path] = found
        return found

    def _scan(self, real: str, above: tuple[str, ...], path: str) -> _Folder | None:
        chain = (*above, real)
        folder = _Folder(chain, {}, {})
        try:
            with os.scandir(real) as entries:
                for entry in entries:
                    self._place(entry, folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"cannot list this folder of the tree {self._given}: {error.strerror}", path) from error
        return folder

    def _place(self, entry: os.DirEntry[str], folder: _Folder) -> None:
        if entry.name == "__pycache__" or not is_text(entry.name):
            return
        real = entry.path
        if entry.is_symlink():
            real = os.path.realpath(real)
            if not any(_inside(real, root) for root in self._roots):
                return
            is_file, is_folder = os.path.isfile(real), os.path.isdir(real)
        else:
            is_file, is_folder = entry.is_file(), entry.is_dir()
        if is_file:
            folder.files[entry.name] = real
        elif is_folder and real not in folder.chain:
            folder.folders[entry.name] = real

    def _bytes(self, real: str, path: str) -> bytes | None:
        try:
            with open(os.open(real, _OPEN_FLAGS), "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return None
                if status.st_size > MAX_FILE_BYTES:
                    raise too_large(path, self._given)
                return file.readall()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"cannot read this file of the tree {self._given}: {error.strerror}", path) from error


def open_directory(path: str, given: str) -> DirectoryTree:
    """The tree in a directory: a repository, a folder that holds ``sglang/``, or the package itself.

    Args:
        path: an existing directory.
        given: the same as the user wrote it.

    Raises:
        BadInput: the directory holds no SGLang, or may not be read.
    """
    place = find_package(lambda place: is_package(os.path.join(path, place), given))
    if place is None:
        clone = os.path.join(path, "sglang")
        seen = is_package(os.path.join(clone, "python", "sglang"), given)
        raise no_tree(given, f"a repository lies in {os.path.join(given, 'sglang')}" if seen else "")
    package = os.path.join(path, place) if place else os.path.abspath(path)
    roots = (path,) if place == "python/sglang" else ()
    return DirectoryTree(package, roots, given=given, kind="directory")


def is_package(folder: str, given: str) -> bool:
    """Whether a folder is the SGLang package: it holds ``srt/`` and ``__init__.py``.

    Raises:
        BadInput: the folder may not be looked into.
    """
    return _is(folder, "srt", stat.S_ISDIR, given) and _is(folder, "__init__.py", stat.S_ISREG, given)


def _is(folder: str, name: str, kind: Callable[[int], bool], given: str) -> bool:
    try:
        mode = os.stat(os.path.join(folder, name)).st_mode
    except PermissionError as error:
        raise BadInput("no permission to read this directory", given) from error
    except (OSError, ValueError):
        return False
    return kind(mode)


def _inside(real: str, root: str) -> bool:
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def _metadata(holder: str) -> bytes | None:
    """METADATA of the distribution installed in a folder, or PKG-INFO of one being developed there."""
    try:
        names = sorted(os.listdir(holder))
    except OSError:
        return None
    for name in names:
        if name.startswith("sglang-") and name.endswith(".dist-info"):
            file = os.path.join(holder, name, "METADATA")
        elif name == "sglang.egg-info":
            file = os.path.join(holder, name, "PKG-INFO")
        else:
            continue
        try:
            with open(os.open(file, _OPEN_FLAGS), "rb") as stream:
                return stream.read(64 * 1024)
        except OSError:
            continue
    return None
