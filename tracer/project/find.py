"""A project's configuration: found in the nearest folder that has one, and every option checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.project.files import deployments_in
from pathtrace.tracer.project.model import Deployment, Project
from pathtrace.tracer.project.tables import LISTS, TABLES, read_pyproject, read_setup

PYPROJECT, SETUP = "pyproject.toml", "setup.cfg"
_SHARED = {"sglang", "env", "env-file", "model-config", "draft-config", "assume", "expect", "threshold"}
_OWN = _SHARED | {"name", "launch", "file", "launch-name"}
_TOP = _SHARED | {"deployments", "python", *LISTS}
_PATHS = ("env-file", "model-config", "draft-config")


def find_project(start: Path) -> Project:
    """The configuration of the nearest folder, from ``start`` upwards, that has one, with its deployments.

    Raises:
        BadInput: there is none, it lists none, or it is wrong; every wrong option is in the sentence.
    """
    project = nearest_project(start)
    if project is None:
        raise BadInput(
            f"no deployments are listed in a {PYPROJECT} or {SETUP} here or above; give a launch after `--`, or list "
            "them under [tool.pathtrace] (docs/project.md)",
            str(start),
        )
    if not project.deployments:
        raise BadInput("lists no deployments under [tool.pathtrace] (docs/project.md)", project.file)
    return project


def nearest_project(start: Path) -> Project | None:
    """The configuration of the nearest folder, from ``start`` upwards, that has one; it may list no deployments.

    Raises:
        BadInput: it is wrong; every wrong option is in the sentence.
    """
    for folder in (start, *start.parents):
        for name, read in ((PYPROJECT, read_pyproject), (SETUP, read_setup)):
            path = folder / name
            if path.is_file():
                table = read(path)
                if table is not None:
                    return _project(path, table)
    return None


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
        wrong += [f"{where}: name is missing"] if not name else []
        wrong += _wrong_source(each, where)
        if name in names:
            wrong.append(f"{where}: there are two of that name")
        names.add(str(name))
    words = {key: table.get(key, ["ALL"] if key == "select" else []) for key in LISTS}
    wrong += [f"tool.pathtrace.{key} is no list of texts" for key, value in words.items() if not _texts(value)]
    if wrong:
        raise BadInput("; ".join(wrong), str(path))
    return Project(
        file=str(path),
        deployments=tuple(
            one for each in listed for one in _deployments(path, {**shared, **each, **_merged(shared, each)})
        ),
        python=table.get("python"),
        shared=_deployment(path, {**shared, "name": "", "launch": (), **_merged(shared, {})}),
        **{key: tuple(value) for key, value in words.items()},
    )


def _wrong_source(options: Mapping[str, Any], where: str) -> list[str]:
    """A deployment has its launch in the configuration, or names the file that has it."""
    if options.get("launch") and options.get("file"):
        return [f"{where}: has both launch and file"]
    if not options.get("launch") and not options.get("file"):
        return [f"{where}: launch (or file) is missing"]
    if options.get("launch-name") and not options.get("file"):
        return [f"{where}: launch-name goes with file"]
    return []


def _deployments(path: Path, options: Mapping[str, Any]) -> Iterator[Deployment]:
    """The deployment, or one for each launch in the file that it names."""
    named = options.get("file")
    if named is None:
        yield _deployment(path, options)
        return
    made = _deployment(path, {**options, "launch": ()})
    wanted, file = options.get("launch-name"), path.parent / named
    found = deployments_in(file, made, made.env)
    chosen = [each for each in found if wanted is None or (each.found and each.found.name == wanted)]
    if not chosen:
        names = ", ".join(each.found.name for each in found if each.found and each.found.name)
        what = f"no launch named {wanted}; it has {names or 'none with a name'}" if found else "no SGLang launch"
        raise BadInput(f"deployment {made.name}: there is {what}", str(file))
    for each in chosen:
        inner = each.found.name if each.found else ""
        yield replace(each, name=made.name if len(chosen) == 1 or not inner else f"{made.name} {inner}")


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
        elif key == "threshold":
            if not str(value).isdigit() or isinstance(value, bool):
                found.append(f"{where}: threshold is no whole number")
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
        threshold=int(options["threshold"]) if "threshold" in options else None,
        file=str(path),
        line=_line_of(path, options["name"]) if options["name"] else None,
    )


def _plain(value: str | int) -> str:
    """A value as a variable or fact takes it; TOML's true is 1 of a variable."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _line_of(path: Path, name: str) -> int | None:
    """The line of the file that names a deployment, as far as a look at the text tells."""
    named = re.compile(rf"""\s*(?:name\s*=\s*(['"]){re.escape(name)}\1|\[pathtrace:{re.escape(name)}\])""")
    lines = path.read_text(encoding="utf-8").split("\n")
    return next((number for number, line in enumerate(lines, 1) if named.match(line)), None)
