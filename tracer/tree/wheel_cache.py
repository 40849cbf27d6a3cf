"""Fetched wheels, kept in the user's cache with their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from pathtrace.tracer.errors import BadInput

CACHE_VARIABLE = "PATHTRACE_CACHE_DIR"
_UNFINISHED = ".fetch-"
_DAY_S = 86400

Fetch = Callable[[str, str], str]
"""Fetches a version's wheel into a folder and returns its path."""


@dataclass(frozen=True)
class Record:
    """What is kept beside a fetched wheel, as JSON."""

    version: str
    file: str
    sha256: str


def cache_folder() -> str:
    """Where fetched wheels are kept: ``wheels`` in the user's cache, or in ``PATHTRACE_CACHE_DIR``."""
    base = os.environ.get(CACHE_VARIABLE)
    if not base:
        import platformdirs

        base = str(platformdirs.user_cache_path("pathtrace"))
    return os.path.join(os.path.abspath(os.path.expanduser(base)), "wheels")


def cached_wheel(version: str, fetch: Fetch, say: Callable[[str], None], folder: str | None = None) -> str:
    """The path of a release's wheel: the kept one if its hash holds, else one fetched now.

    Several processes may do this at once: each fetches into a folder of its own and moves the whole
    file into place.

    Args:
        version: the release, in its normal spelling.
        fetch: fetches its wheel.
        say: told, in a sentence, about a download and about a kept file that was not what was fetched.
        folder: the cache; ``cache_folder()`` by default.

    Raises:
        BadInput: the cache cannot be written, or what ``fetch`` raises.
    """
    folder = cache_folder() if folder is None else folder
    note = os.path.join(folder, f"sglang-{version}.json")
    kept = _record(note, version)
    if kept is not None:
        held = _sha256(os.path.join(folder, kept.file))
        if held == kept.sha256:
            return os.path.join(folder, kept.file)
        if held is not None:
            say(f"the kept {kept.file} is not the file that was fetched (its SHA-256 differs); fetching it again")
    say(f"fetching sglang {version} with pip into {folder}")
    return _fetch_into(folder, note, kept, version, fetch, say)


def _fetch_into(
    folder: str, note: str, kept: Record | None, version: str, fetch: Fetch, say: Callable[[str], None]
) -> str:
    import tempfile

    try:
        os.makedirs(folder, exist_ok=True)
        _drop_unfinished(folder)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=folder, ignore_cleanup_errors=True) as place:
            wheel = fetch(version, place)
            digest = _sha256(wheel) or ""
            record = Record(version, os.path.basename(wheel), digest)
            if kept is not None and kept.file == record.file and kept.sha256 != record.sha256:
                say(f"the index now serves another {record.file} than the one first fetched; using the new one")
            draft = os.path.join(place, "record")
            with open(draft, "w", encoding="utf-8") as stream:
                json.dump(asdict(record), stream, indent=1)
            final = os.path.join(folder, record.file)
            os.replace(wheel, final)
            os.replace(draft, note)
    except OSError as error:
        raise BadInput(f"cannot write the cache ({error.strerror}); set {CACHE_VARIABLE}", folder) from error
    return final


def _record(note: str, version: str) -> Record | None:
    """The record, or None where there is none or it is not one of ours."""
    try:
        with open(note, encoding="utf-8") as stream:
            data = json.load(stream)
        record = Record(str(data["version"]), str(data["file"]), str(data["sha256"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    plain = os.path.basename(record.file) == record.file and record.file.endswith(".whl")
    return record if plain and record.version == version else None


def _sha256(path: str) -> str | None:
    """The file's hash, or None where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def _drop_unfinished(folder: str) -> None:
    """Remove what killed processes left behind, once it is a day old."""
    import shutil

    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_UNFINISHED) and entry.stat(follow_symlinks=False).st_mtime < time.time() - _DAY_S:
                shutil.rmtree(entry.path, ignore_errors=True)
