"""Where a model's ``config.json`` lies on this machine. Never the network."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pathtrace.tracer.configs.read import ConfigFile, read_config

# What the hub allows for a repository: `name` or `owner/name`.
_REPO_ID = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)?", re.ASCII)
_REVISION_PART = re.compile(r"[^\\:\0]+")
_COMMIT = re.compile(r"[0-9A-Za-z]{1,64}")


def find_config(
    model_path: str,
    revision: str | None,
    override: str | None,
    hf_home_env: Mapping[str, str],
) -> ConfigFile | None:
    """The config that the server would read for ``model_path``, if it is on this machine.

    Args:
        model_path: a folder, a Hugging Face repository, a GGUF file or an object-store address.
        revision: branch, tag or commit; ``main`` when None.
        override: a config file, or a folder with one, to read in any case.
        hf_home_env: variables that place the cache (``HF_HUB_CACHE``, ``HF_HOME``, ...).

    Returns:
        None where no ``config.json`` is found: not in the local folder, not in the cache, or a
        model path of a kind that has none here.

    Raises:
        BadInput: a config that is there and cannot be read; an override that is not there.
    """
    if override is not None:
        return read_config(Path(override).expanduser() if override.startswith("~") else override)
    if not model_path or "\0" in model_path or "://" in model_path:
        return None
    place = _local(model_path)
    if place is None:
        snapshot = _snapshot(model_path, revision, hf_home_env)
        place = None if snapshot is None else snapshot / "config.json"
    return read_config(place) if place is not None and _is_file(place) else None


def cache_folder(env: Mapping[str, str]) -> Path:
    """The Hugging Face hub cache, as huggingface_hub places it for these variables."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            return Path(_user(env[name], env))
    if env.get("HF_HOME"):
        return Path(_user(env["HF_HOME"], env)) / "hub"
    cache = env.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(_user(cache, env)) / "huggingface" / "hub"


def _user(path: str, env: Mapping[str, str]) -> str:
    if env.get("HOME") and (path == "~" or path.startswith("~/")):
        return env["HOME"] + path[1:]
    return os.path.expanduser(path)


def _local(model_path: str) -> Path | None:
    """``config.json`` of a local model; its own path when it is a file (which has none)."""
    path = Path(os.path.expanduser(model_path))
    try:
        if path.is_dir():
            return path / "config.json"
        # A weights file such as GGUF holds its own configuration.
        return path / "config.json" if path.exists() else None
    except (OSError, ValueError):
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _snapshot(repo: str, revision: str | None, env: Mapping[str, str]) -> Path | None:
    """The folder of one revision of a repository in the cache."""
    if _REPO_ID.fullmatch(repo) is None or ".." in repo or "--" in repo:
        return None
    folder = cache_folder(env) / f"models--{repo.replace('/', '--')}"
    snapshots = folder / "snapshots"
    wanted = revision or "main"
    if not _is_safe(wanted):
        return None
    commit = _commit_of(folder / "refs" / wanted)
    if commit is None and _COMMIT.fullmatch(wanted):
        commit = wanted
    try:
        if commit is not None and (snapshots / commit).is_dir():
            return snapshots / commit
        if wanted != "main" or (folder / "refs" / "main").exists():
            return None
        # A cache that was copied without its refs: one snapshot leaves no doubt.
        found = [entry for entry in snapshots.iterdir() if entry.is_dir()]
    except (OSError, ValueError):
        return None
    return found[0] if len(found) == 1 else None


def _is_safe(revision: str) -> bool:
    parts = PurePosixPath(revision).parts
    return bool(parts) and all(part not in ("..", "/") and _REVISION_PART.fullmatch(part) for part in parts)


def _commit_of(ref: Path) -> str | None:
    try:
        if not ref.is_file():
            return None
        with ref.open("rb") as stream:
            commit = stream.read(256).decode("ascii", "replace").strip()
    except (OSError, ValueError):
        return None
    return commit if _COMMIT.fullmatch(commit) else None
