"""What the tracer asks of a source tree: bytes of files, by path. Nothing else."""

from __future__ import annotations

from typing import Protocol

from pathtrace.tracer.answer import TreeInfo


class Tree(Protocol):
    """A read-only SGLang source tree.

    Paths are relative to the folder that holds the ``sglang`` package and use ``/``:
    ``sglang/srt/server_args.py``.
    """

    @property
    def info(self) -> TreeInfo:
        """What was given and what was found."""
        ...

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where there is no such file."""
        ...

    def is_dir(self, path: str) -> bool:
        """Whether the path is a folder of the tree."""
        ...

    def listdir(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty where there is no such folder."""
        ...
