"""Files in the user's cache folder: written whole or not at all, and read only if they are whole."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST = 16


def entries_folder(kind: str) -> Path:
    """Where entries of a kind lie: under ``$PATHTRACE_CACHE_DIR`` or in the user's cache folder."""
    given = os.environ.get("PATHTRACE_CACHE_DIR")
    if given:
        return Path(given) / kind
    from platformdirs import user_cache_path

    return user_cache_path("pathtrace") / kind


def read_entry(path: Path) -> bytes | None:
    """The content of an entry; None where there is none, or a damaged one."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError):
        return None
    body, check = data[:-_DIGEST], data[-_DIGEST:]
    return body if len(check) == _DIGEST and _digest(body) == check else None


def write_entry(path: Path, body: bytes) -> None:
    """Write an entry; a folder that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(body + _digest(body))
        os.replace(name, path)
    except OSError:
        return


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
