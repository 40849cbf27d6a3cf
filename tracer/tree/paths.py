"""Which paths a tree answers to, and how large a file may be: the rules all kinds of tree share.

A path that breaks the rules names nothing, so it is absent rather than an error: the tracer asks for
paths it computed from source, and odd source must not stop it.
"""

from __future__ import annotations

from pathtrace.tracer.errors import BadInput

PACKAGE = "sglang"
MAX_FILE_BYTES = 32 * 1024 * 1024


def within(path: str) -> str | None:
    """The path in its one spelling, or None where it names nothing in the package.

    ``""`` is the folder that holds the package; everything else lies in ``sglang``. Absolute paths,
    ``.``, ``..``, empty parts, backslashes and NUL are refused. A trailing slash is dropped.
    """
    if not path:
        return ""
    path = path.rstrip("/")
    if path != PACKAGE and not path.startswith(PACKAGE + "/"):
        return None
    if "\\" in path or "\0" in path:
        return None
    if any(part in ("", ".", "..") for part in path.split("/")):
        return None
    return path


def is_text(name: str) -> bool:
    """Whether a file name can be written as UTF-8 (others can be neither imported nor reported)."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def too_large(path: str, given: str) -> BadInput:
    """The error for a file over the limit; ``path`` is the file in the tree, ``given`` the tree."""
    limit = MAX_FILE_BYTES // 1024 // 1024
    return BadInput(f"file over {limit} MB in the tree {given}; no source file is that large", path)
