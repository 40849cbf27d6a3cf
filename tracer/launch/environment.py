"""The environment that the server gets, and where each variable of it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Launch

_LIMIT = 1 << 20
_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][\w.-]*)(?:=(.*))?", re.ASCII | re.DOTALL)
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"(.*)', re.DOTALL)
_SINGLE = re.compile(r"'([^']*)'(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\([nrt\"\\$])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_REFERENCE = re.compile(r"(?<!\\)\$[A-Za-z_{(]")


@dataclass(frozen=True)
class Environment:
    """Variables of the server.

    Attributes:
        values: name to value.
        sources: name to ``launch``, ``--env``, ``--env-file FILE:LINE`` or ``inherited``.
        passed_on: names that the launch takes over from a caller whose environment is not known.
    """

    values: Mapping[str, str]
    sources: Mapping[str, str]
    passed_on: frozenset[str] = frozenset()


def merge_environment(
    launch: Launch,
    env: Sequence[str],
    env_file: Path | None,
    inherited: Mapping[str, str] | None,
) -> Environment:
    """Put the environment together; what stands first wins.

    ``K=V`` in the launch, then ``--env``, then ``--env-file``, then what is inherited. The launch
    also removes: ``unset K`` takes away the variable wherever it came from.

    Args:
        launch: the launch.
        env: ``K=V`` strings as given with ``--env``.
        env_file: a file of ``K=V`` lines.
        inherited: the caller's environment, or None when it must not count.

    Raises:
        BadInput: an ``--env`` without ``=``, or a file or a line in it that cannot be read.
    """
    caller = inherited or {}
    values: dict[str, str] = {}
    sources: dict[str, str] = {}

    def put(name: str, value: str, source: str) -> None:
        values[name] = value
        sources[name] = source

    for name, value in caller.items():
        if launch.outside == "kept" or (launch.outside == "given" and name in launch.forwarded):
            put(name, value, "inherited")
    given = [] if env_file is None else read_env_file(env_file)
    settings = [setting(text) for text in env]
    if launch.outside != "none":
        for name, written, line in given:
            known = caller.get(name) if written is None else written
            if known is not None:
                put(name, known, f"--env-file {env_file}:{line}")
        for name, value in settings:
            put(name, value, "--env")
    for name, value in launch.unexported.items():
        # A shell passes a variable on without `export` when it was in the environment before.
        if name in values:
            put(name, value, "launch")
    for name in launch.unset:
        values.pop(name, None)
        sources.pop(name, None)
    for name, value in launch.env.items():
        put(name, value, "launch")
    unknown = launch.forwarded - values.keys() if inherited is None and launch.outside == "given" else frozenset()
    return Environment(values, sources, unknown)


def read_env_file(path: Path) -> list[tuple[str, str | None, int]]:
    """Name, value and line of each setting; the value is None for a name alone (as in docker).

    Raises:
        BadInput: a file that cannot be read, or a line that is no setting or that tools for such
            files read differently.
    """
    shown = str(path)
    try:
        if not path.is_file():
            raise BadInput("no such file; give --env-file the path of a file of K=V lines", shown)
        with path.open("rb") as stream:
            data = stream.read(_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot be read ({reason}); give a readable file", shown) from None
    if len(data) > _LIMIT:
        raise BadInput("is over 1 MB; give a file of K=V lines", shown)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("is not UTF-8; save the file as UTF-8", shown, line) from None
    settings = []
    for number, line_text in enumerate(text.split("\n"), start=1):
        stripped = line_text.strip()
        if stripped and not stripped.startswith("#"):
            name, value = _env_line(stripped, shown, number)
            settings.append((name, value, number))
    return settings


def setting(text: str) -> tuple[str, str]:
    """``NAME=value`` as ``--env`` takes it.

    Raises:
        BadInput: it is none.
    """
    name, equals, value = text.partition("=")
    if not equals or not name or any(char.isspace() for char in name) or "\0" in text:
        # The value may be a secret; only what stands for the name is shown.
        raise BadInput(f"--env {name[:80]!r} is not NAME=value; write --env NAME=value")
    return name, value


def _env_line(line: str, shown: str, number: int) -> tuple[str, str | None]:
    match = _LINE.fullmatch(line)
    if match is None or "\0" in line:
        raise BadInput("not a setting; write NAME=value without blanks around =", shown, number)
    name, raw = match.group(1), match.group(2)
    if raw is None:
        return name, None
    if raw[:1].isspace():
        if raw.strip().startswith("#") or not raw.strip():
            return name, ""
        raise BadInput("not a setting; write NAME=value without blanks around =", shown, number)
    quote = raw[:1]
    if quote in ("'", '"'):
        quoted = (_SINGLE if quote == "'" else _DOUBLE).fullmatch(raw)
        if quoted is None:
            raise BadInput(f"the quote of {name} is not closed; close it", shown, number)
        value, rest = quoted.group(1), quoted.group(2).strip()
        if rest and not rest.startswith("#"):
            raise BadInput(f"text after the quote of {name}; quote the whole value", shown, number)
        if quote == "'":
            return name, value
    else:
        value = re.split(r"\s#", raw, maxsplit=1)[0].rstrip()
    if _REFERENCE.search(value):
        raise BadInput(
            f"{name} refers to another variable, which tools fill in differently; write the value "
            "out, or put it in single quotes",
            shown,
            number,
        )
    if quote == '"':
        value = _ESCAPE.sub(lambda m: _ESCAPED.get(m.group(1), m.group(1)), value)
    return name, value
