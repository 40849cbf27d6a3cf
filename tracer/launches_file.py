"""The launches file of a sweep: one JSON object a line.

``{"id": "a", "args": [...], "env": {...}, "model_config": "llama", "draft_config": "llama-eagle3"}``.
Config paths are relative to the file. ``{model}`` and ``{draft}`` in ``args`` stand for the folder of
the given config, and that folder is the model path where ``args`` name none.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pathtrace.tracer.errors import BadInput

LaunchId = str | int | None

KEYS = ("id", "args", "env", "model_config", "draft_config")
_PLACEHOLDER = re.compile(r"\{(model|draft)\}")


@dataclass(frozen=True)
class LaunchLine:
    """One launch of the file. ``words`` have their placeholders filled and name a model path."""

    id: LaunchId
    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    model_config: str | None = None
    draft_config: str | None = None


@dataclass(frozen=True)
class BadLine:
    """A line that is no launch, and why (with the file and the line's number)."""

    id: LaunchId
    error: str


def read_launches(path: Path) -> list[LaunchLine | BadLine]:
    """Read a launches file. Empty lines are skipped; a bad line does not stop the others.

    Raises:
        BadInput: the file cannot be read.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    lines: list[LaunchLine | BadLine] = []
    for number, each in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if each.strip():
            lines.append(_read_line(each, path, number))
    return lines


def _read_line(raw: bytes, path: Path, number: int) -> LaunchLine | BadLine:
    name: LaunchId = None
    try:
        entry = _object(raw)
        name = _id(entry)
        return _launch(name, entry, path.parent)
    except BadInput as error:
        return BadLine(name, str(BadInput(error.message, file=str(path), line=number)))


def _object(raw: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON ({error})") from error
    if not isinstance(entry, dict):
        raise BadInput("not a JSON object")
    return entry


def _id(entry: dict[str, Any]) -> str | int:
    name = entry.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise BadInput('"id" has to be a string or a whole number')
    return name


def _launch(name: LaunchId, entry: dict[str, Any], folder: Path) -> LaunchLine:
    for key in entry:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1, 0.5)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise BadInput(f'"{key}" is not a key of a launch{hint}')
    args = entry.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        raise BadInput('"args" has to be a list of strings')
    model = _config(entry, "model_config", folder)
    draft = _config(entry, "draft_config", folder)
    words = tuple(_filled(each, {"model": model, "draft": draft}) for each in args)
    return LaunchLine(
        id=name,
        words=_with_model_path(words, model),
        env=_env(entry),
        model_config=None if model is None else str(model),
        draft_config=None if draft is None else str(draft),
    )


def _env(entry: dict[str, Any]) -> dict[str, str]:
    env = entry.get("env", {})
    if not isinstance(env, dict):
        raise BadInput('"env" has to be an object')
    for key, value in env.items():
        if not isinstance(value, str) or not key or "=" in key or "\0" in key + value:
            raise BadInput(f'"env": {key!r} has to be a variable\'s name, and its value a string')
    return dict(env)


def _config(entry: dict[str, Any], key: str, folder: Path) -> Path | None:
    given = entry.get(key)
    if given is None:
        return None
    if not isinstance(given, str) or not given or "\0" in given:
        raise BadInput(f'"{key}" has to be a path')
    path = folder / given
    if not path.exists():
        raise BadInput(f'"{key}": there is no {path}')
    return path


def _filled(word: str, configs: Mapping[str, Path | None]) -> str:
    def folder(match: re.Match[str]) -> str:
        config = configs[match[1]]
        if config is None:
            raise BadInput(f'{match[0]} stands in "args", but "{match[1]}_config" is not given')
        return str(_folder(config))

    return _PLACEHOLDER.sub(folder, word)


def _folder(config: Path) -> Path:
    return config if config.is_dir() else config.parent


def _with_model_path(words: tuple[str, ...], model: Path | None) -> tuple[str, ...]:
    """The words with the folder of the model's config as the model path, where they name none."""
    if model is None or any(_names_model(word) for word in words):
        return words
    option = ("--model-path", str(_folder(model)))
    if not words or words[0].startswith("-"):
        return (*option, *words)
    return (*words, *option)


def _names_model(word: str) -> bool:
    flag = word.partition("=")[0]
    return flag == "--model" or (flag.startswith("--model-p") and "--model-path".startswith(flag))
