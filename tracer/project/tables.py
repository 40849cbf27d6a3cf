"""The tables of pathtrace in a pyproject.toml or setup.cfg, as they stand."""

from __future__ import annotations

import configparser
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.reading import read_limited

LIMIT = 1 << 20
TABLES = ("env", "assume")
LISTS = ("select", "ignore", "hooks")


def _text(path: Path) -> str:
    data = read_limited(str(path), LIMIT, "a configuration that lists deployments")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", str(path)) from None


def read_pyproject(path: Path) -> Mapping[str, Any] | None:
    """``[tool.pathtrace]`` of a pyproject.toml; None where it has none.

    Raises:
        BadInput: the file cannot be read.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        document = tomllib.loads(_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"is not TOML that can be read ({error})", str(path)) from error
    tool = document.get("tool")
    table = tool.get("pathtrace") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise BadInput("tool.pathtrace is no table", str(path))
    return table


def read_setup(path: Path) -> Mapping[str, Any] | None:
    """``[pathtrace]`` of a setup.cfg, and ``[pathtrace:NAME]`` for each deployment; None where it has neither.

    ``env`` and ``assume`` are lines of K=V, ``select``, ``ignore`` and ``hooks`` words.

    Raises:
        BadInput: the file cannot be read.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(_text(path), str(path))
    except configparser.Error as error:
        line = getattr(error, "lineno", None)
        raise BadInput(f"is no configuration file ({str(error).splitlines()[0]})", str(path), line) from error
    own = [name for name in parser.sections() if name.startswith("pathtrace:")]
    if not own and not parser.has_section("pathtrace"):
        return None
    table = _values(dict(parser["pathtrace"])) if parser.has_section("pathtrace") else {}
    table["deployments"] = [{"name": name.partition(":")[2], **_values(dict(parser[name]))} for name in own]
    return table


def _values(section: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, text in section.items():
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if key in TABLES:
            found[key] = dict(line.partition("=")[::2] for line in lines)
        elif key in LISTS:
            found[key] = [word for line in lines for word in line.replace(",", " ").split()]
        else:
            found[key] = text.strip()
    return found
