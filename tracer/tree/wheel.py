"""A tree in a wheel, read in place."""

from __future__ import annotations

import os
import zipfile
import zlib
from typing import Literal

from pathtrace.tracer.answer import TreeInfo
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.listing import Listing
from pathtrace.tracer.tree.paths import MAX_FILE_BYTES, too_large, within
from pathtrace.tracer.tree.version import stated_version

_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError, OSError)


class WheelTree:
    """The package in a wheel. Nothing is unpacked to disk; a file is inflated when it is read.

    Safe to use from threads and after a fork (a child process opens the wheel anew, since parent and
    child would share one file position).

    Raises:
        BadInput: the file is no zip, is broken, or holds no SGLang.
    """

    def __init__(self, path: str, *, given: str, kind: Literal["wheel", "release", "installed"]) -> None:
        self._path = os.path.abspath(path)
        self._given = given
        self._archive = self._open()
        self._process = os.getpid()
        self._entries = self._archive.NameToInfo
        self._listing = Listing(self._entries)
        if "sglang/__init__.py" not in self._entries or not any(
            name.startswith("sglang/srt/") for name in self._entries
        ):
            raise BadInput("not an SGLang wheel: it holds no sglang/__init__.py with sglang/srt/ beside it", given)
        version = stated_version(self.read, self._metadata)
        self._info = TreeInfo(given=given, kind=kind, path=self._path, version=version)

    @property
    def info(self) -> TreeInfo:
        """What was given and found; ``path`` is the wheel."""
        return self._info

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where there is no such file.

        Raises:
            BadInput: the entry is damaged, encrypted, or too large.
        """
        clean = within(path)
        entry = self._entries.get(clean) if clean else None
        return None if entry is None else self._inflate(entry)

    def is_dir(self, path: str) -> bool:
        """Whether the path is a folder of the tree."""
        return self._listing.is_dir(path)

    def listdir(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty where there is no such folder."""
        return self._listing.listdir(path)

    def _inflate(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.file_size > MAX_FILE_BYTES:  # zipfile inflates no more than the size it declares
            raise too_large(entry.filename, self._given)
        if entry.flag_bits & _ENCRYPTED:
            raise BadInput(f"encrypted file in the wheel {self._given}", entry.filename)
        if self._process != os.getpid():
            self._archive = self._open()
            self._process = os.getpid()
        try:
            return self._archive.read(entry)
        except _BROKEN as error:
            raise BadInput(f"damaged file in the wheel {self._given}: {error}", entry.filename) from error

    def _open(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._path)
        except PermissionError as error:
            raise BadInput("no permission to read this file", self._given) from error
        except _BROKEN as error:
            raise BadInput("not a wheel, or a broken one: it cannot be opened as a zip file", self._given) from error

    def _metadata(self) -> bytes | None:
        for name, entry in sorted(self._entries.items()):
            if name.startswith("sglang-") and name.endswith(".dist-info/METADATA") and name.count("/") == 1:
                return self._inflate(entry)
        return None
