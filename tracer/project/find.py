"""A project's configuration: found in the nearest folder that has one, and every option checked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.project.model import Deployment, Project
from pathtrace.tracer.project.tables import TABLES, read_pyproject, read_setup

PYPROJECT, SETUP = "pyproject.toml", "setup.cfg"
_SHARED = {"sglang", "env", "env-file", "model-config", "draft-config", "assume", "expect"}
_OWN = _SHARED | {"name", "launch"}
_TOP = _SHARED | {"deployments", "select", "ignore", "python"}
_PATHS = ("env-file", "model-config", "draft-config")


def find_project(start: Path) -> Project:
    """The configuration of the nearest folder, from ``start`` upwards, that has one.

    Raises:
        BadInput: there is none, or it is wrong; every wrong option is in the sentence.
    """
    for folder in (start, *start.parents):
        for name, read in ((PYPROJECT, read_pyproject), (SETUP, read_setup)):
            path = folder / name
            if path.is_file():
                table = read(path)
                if table is not None:
                    return _project(path, table)
    raise BadInput(
        f"no deployments are listed in a {PYPROJECT} or {SETUP} here or above; give a launch after `--`, or list them "
        "under [tool.pathtrace] (docs/project.md)",
        str(start),
    )


def _project(path: Path, table: Mapping[str, Any]) -> Project:
    wrong = [f"tool.pathtrace.{key} is no option" for key in table if key not in _TOP]
    shared = {key: table[key] for key in table if key in _SHARED}
    wrong += _wrong(shared, "tool.pathtrace")
    listed = table.get("deployments", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        wrong.append("tool.pathtrace.deployments is no list of tables")
        listed = []
    names: set[str] = set()
    for number, each in enumerate(listed, 1):
        name = each.get("name")
        where = f"deployment {name or number}"
        wrong += [f"{where}: {key} is no option" for key in each if key not in _OWN]
        wrong += _wrong({key: value for key, value in each.items() if key in _OWN}, where)
        wrong += [f"{where}: {key} is missing" for key in ("name", "launch") if not each.get(key)]
        if name in names:
            wrong.append(f"{where}: there are two of that name")
        names.add(str(name))
    words = {key: table.get(key, default) for key, default in (("select", ["ALL"]), ("ignore", []))}
    wrong += [f"tool.pathtrace.{key} is no list of texts" for key, value in words.items() if not _texts(value)]
    if wrong:
        raise BadInput("; ".join(wrong), str(path))
    if not listed:
        raise BadInput("lists no deployments under [tool.pathtrace] (docs/project.md)", str(path))
    deployments = tuple(_deployment(path, {**shared, **each, **_merged(shared, each)}) for each in listed)
    return Project(str(path), deployments, tuple(words["select"]), tuple(words["ignore"]), table.get("python"))


def _merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Variables and facts of a deployment beside those of all."""
    return {key: {**shared.get(key, {}), **own.get(key, {})} for key in TABLES}


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _wrong(options: Mapping[str, Any], where: str) -> list[str]:
    """What is wrong with the kinds of these options."""
    found = []
    for key, value in options.items():
        if key in TABLES:
            if not isinstance(value, dict) or not all(isinstance(each, str | int) for each in value.values()):
                found.append(f"{where}: {key} is no table of texts")
        elif key == "launch":
            if not isinstance(value, str) and not _texts(value):
                found.append(f"{where}: launch is neither a text nor a list of words")
        elif not isinstance(value, str):
            found.append(f"{where}: {key} is no text")
    return found


def _deployment(path: Path, options: Mapping[str, Any]) -> Deployment:
    folder = path.parent
    launch = options["launch"]
    places = {key: str(folder / options[key]) if options.get(key) else None for key in _PATHS}
    tree = options.get("sglang", "installed")
    near = folder / tree
    return Deployment(
        name=options["name"],
        launch=(launch,) if isinstance(launch, str) else tuple(launch),
        sglang=str(near) if tree != "installed" and near.exists() else tree,
        env={key: _plain(value) for key, value in options["env"].items()},
        env_file=places["env-file"],
        model_config=places["model-config"],
        draft_config=places["draft-config"],
        assume={key: _plain(value) for key, value in options["assume"].items()},
        expect=options.get("expect"),
        file=str(path),
        line=_line_of(path, options["name"]),
    )


def _plain(value: str | int) -> str:
    """A value as a variable or fact takes it; TOML's true is 1 of a variable."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _line_of(path: Path, name: str) -> int | None:
    """The line of the file that names a deployment, as far as a look at the text tells."""
    quoted = {shlex.quote(name), f'"{name}"', f"'{name}'", f":{name}]"}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if any(each in line for each in quoted) and ("name" in line or line.startswith("[")):
            return number
    return None
