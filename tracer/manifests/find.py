"""One file -> the launches in it, by the reader for its kind.

Only the standard library is imported until a file mentions SGLang: a hook asks about many that do not.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.model import Found, FoundLaunch

Kind = Literal["dockerfile", "shell", "yaml", "systemd", "python"]

EXTENSIONS: Mapping[str, Kind] = {
    ".bash": "shell",
    ".containerfile": "dockerfile",
    ".dockerfile": "dockerfile",
    ".ksh": "shell",
    ".py": "python",
    ".service": "systemd",
    ".sh": "shell",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".zsh": "shell",
}
"""The kind of a file by the end of its name; ``Dockerfile``, ``Containerfile`` and shebangs count too."""

_LIMIT = 4 << 20
_SCANNED = 64 << 20
_CHUNK = 1 << 20
_MENTION = re.compile(rb"sglang|s\0g\0l\0a\0n\0g")
_MENTION_LENGTH = 11
_DOCKERFILE = re.compile(r"(?:dockerfile|containerfile)(?:\..+)?", re.DOTALL)
_SHEBANG = re.compile(
    r"#![ \t]*\S*?(?:/env[ \t]+(?:-S[ \t]*|\w+=\S*[ \t]+)*\S*?)?\b(?:sh|bash|dash|zsh|ksh|ash)(?:\s|\Z)"
)
# `$NAME`, `${NAME...}` of shells, Compose and systemd, `$(NAME)` of Kubernetes, `${NAME}` of Dockerfiles.
_REFERENCE = re.compile(r"\$[{(]?([A-Za-z_][A-Za-z0-9_]*)")
_HELP = frozenset(["-h", "--help"])
_NO_LAUNCHES = (".dockerignore", ".env", ".envrc")


def kind_of(path: Path, head: str) -> Kind | None:
    """Which reader a file is for, or None where no launch is looked for in it.

    Args:
        path: the file; only its name, and the name of its folder for a drop-in of a unit, count.
        head: its first line.
    """
    name = path.name.lower()
    if name.endswith(_NO_LAUNCHES):
        return None
    if _DOCKERFILE.fullmatch(name):
        return "dockerfile"
    if name.endswith(".conf") and path.parent.name.endswith(".service.d"):
        return "systemd"
    known = EXTENSIONS.get(os.path.splitext(name)[1])
    if known is not None:
        return known
    return "shell" if _SHEBANG.match(head) else None


def find_launches(path: Path, given: Mapping[str, str]) -> list[Found]:
    """The launches in a file; none where it is of no kind that holds launches, or does not mention SGLang.

    A command with ``--help`` is no launch.

    Args:
        path: the file.
        given: variables that the user states with ``--env`` and ``--env-file``.

    Raises:
        BadInput: a file that cannot be read, is binary, over 4 MB or not UTF-8, or one that its reader
            refuses.
    """
    file = str(path)
    data = _mentioning(path, file)
    if data is None:
        return []
    kind = kind_of(path, data[:200].split(b"\n", 1)[0].removeprefix(b"\xef\xbb\xbf").decode("latin-1"))
    if kind is None:
        return []
    if len(data) > _LIMIT:
        raise BadInput("is over 4 MB; give a file that holds only launches", file)
    if b"\0" in data:
        raise BadInput("is binary or UTF-16; save it as UTF-8 text", file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("is not UTF-8; save the file as UTF-8", file, line) from None
    launches = [found for found in _read(kind, text, file, given, path.parent) if not _only_helps(found)]
    names = frozenset(_REFERENCE.findall(text)) if launches else frozenset()
    return [replace(each, refers_to=names) if isinstance(each, FoundLaunch) else each for each in launches]


def _only_helps(found: Found) -> bool:
    """Whether a command prints its help and starts no server, as images do that wait for a command."""
    return isinstance(found, FoundLaunch) and not _HELP.isdisjoint(found.launch.argv)


def _mentioning(path: Path, file: str) -> bytes | None:
    """The bytes of a file that mentions SGLang, cut off behind the limit; None for any other file."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise BadInput("is a folder; give a file in it", file)
        if not stat.S_ISREG(mode):
            raise BadInput("is no plain file; give a file", file)
        with open(path, "rb") as stream:
            data = stream.read(_LIMIT + 1)
            mentions = _MENTION.search(data) is not None or (len(data) > _LIMIT and _mentions_later(stream, data))
    except FileNotFoundError:
        raise BadInput("no such file; give the path of a file", file) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot be read ({reason}); give a readable file", file) from None
    return data if mentions else None


def _mentions_later(stream: BinaryIO, before: bytes) -> bool:
    """Whether a file goes on with a mention, or for so long that it is not looked through."""
    seen, tail = len(before), before[-_MENTION_LENGTH:]
    while chunk := stream.read(_CHUNK):
        if seen > _SCANNED or _MENTION.search(tail + chunk):
            return True
        seen, tail = seen + len(chunk), chunk[-_MENTION_LENGTH:]
    return False


def _read(kind: Kind, text: str, file: str, given: Mapping[str, str], folder: Path) -> list[Found]:
    if kind == "dockerfile":
        from pathtrace.tracer.manifests.dockerfile import launches_in_dockerfile

        return launches_in_dockerfile(text, file, given)
    if kind == "systemd":
        from pathtrace.tracer.manifests.systemd import launches_in_unit

        return launches_in_unit(text, file, given)
    if kind == "python":
        from pathtrace.tracer.manifests.python_calls import launches_in_python

        return launches_in_python(text, file, given)
    if kind == "shell":
        from pathtrace.tracer.manifests.shell import launches_in_shell

        return launches_in_shell(text, file, given)
    from pathtrace.tracer.manifests.yaml_launches import launches_in_yaml

    return launches_in_yaml(text, file, given, folder)
