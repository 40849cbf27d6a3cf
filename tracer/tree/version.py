"""What a tree says its version is. For display only: no answer depends on it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

Read = Callable[[str], "bytes | None"]

_MAX_BYTES = 64 * 1024
_MAX_LENGTH = 100


def stated_version(read: Read, metadata: Callable[[], bytes | None]) -> str | None:
    """The tree's own word for its version, or None.

    ``sglang/version.py`` counts if it is a plain ``__version__ = "..."`` (newer trees compute it),
    then the generated ``sglang/_version.py``, then the packaging metadata.

    Args:
        read: reads a file of the tree.
        metadata: reads METADATA or PKG-INFO; called only if the sources do not say.
    """
    for path in ("sglang/version.py", "sglang/_version.py"):
        source = read(path)
        version = None if source is None else literal_version(source)
        if version is not None:
            return version
    text = metadata()
    return None if text is None else metadata_version(text)


def literal_version(source: bytes) -> str | None:
    """The string that a module assigns to ``__version__`` at its top level, or None."""
    if len(source) > _MAX_BYTES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = None
    for node in body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == "__version__" for target in targets):
            found = value.value if isinstance(value, ast.Constant) else None
    return _printable(found) if isinstance(found, str) else None


def metadata_version(text: bytes) -> str | None:
    """The ``Version:`` header of a METADATA or PKG-INFO file, or None."""
    for line in text[:_MAX_BYTES].splitlines():
        if not line.strip():
            return None
        name, colon, value = line.partition(b":")
        if colon and name.strip().lower() == b"version":
            return _printable(value.decode("utf-8", "replace"))
    return None


def _printable(text: str) -> str | None:
    text = text.strip()
    return text if text and len(text) <= _MAX_LENGTH and text.isprintable() else None
