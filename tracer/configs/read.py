"""A model's ``config.json``, read from disk."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathtrace.tracer.errors import BadInput

LIMIT = 32 << 20


@dataclass(frozen=True)
class ConfigFile:
    """A ``config.json`` as it stands on disk; nothing is filled in.

    Attributes:
        path: the file that was read.
        data: its top-level object.
    """

    path: Path
    data: dict[str, Any]


def read_config(path: Path | str) -> ConfigFile:
    """Read a config file, or the ``config.json`` of a folder.

    Raises:
        BadInput: nothing there, not a regular file, over 32 MB, not text, not JSON (with the
            line), or JSON that is no object.
    """
    shown = str(path)
    path = Path(path)
    try:
        if path.is_dir():
            path /= "config.json"
            shown = str(path)
        if not path.exists():
            raise BadInput("no such file; give the model's config.json or its folder", shown)
        if not path.is_file():
            raise BadInput("is not a regular file; give the model's config.json", shown)
        with path.open("rb") as stream:
            raw = stream.read(LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot be read ({reason}); give the model's config.json", shown) from None
    if len(raw) > LIMIT:
        raise BadInput("is over 32 MB; give the model's config.json, not its weights", shown)
    return ConfigFile(path, _object(raw, shown))


def _object(raw: bytes, shown: str) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text; give the model's config.json", shown) from None
    if "\0" in text:
        raise BadInput("is a binary file; give the model's config.json", shown)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"is not JSON ({error.msg}); correct the file", shown, error.lineno) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number too long"
        raise BadInput(f"is not JSON that can be read ({reason}); correct it", shown) from None
    if not isinstance(data, dict):
        raise BadInput("is JSON but no object; give the model's config.json", shown, 1)
    return data
