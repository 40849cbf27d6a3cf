"""A systemd unit -> the settings of its ``[Service]`` sections, continued lines joined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.pieces import Pieces, part

_BLANKS = " \t\r"


@dataclass(frozen=True)
class Setting:
    """``Name=value``, without the blanks around ``=``."""

    name: str
    value: Written


def service_settings(text: str) -> list[Setting]:
    """The settings of every ``[Service]`` section, in order."""
    settings: list[Setting] = []
    section = ""
    for line in _joined_lines(text.split("\n")):
        stripped = line.text.strip(_BLANKS)
        if stripped.startswith("["):
            section = stripped
        elif section == "[Service]" and "=" in stripped:
            settings.append(_setting(line))
    return settings


def _joined_lines(lines: list[str]) -> Iterator[Written]:
    """Lines without comments; a backslash at the end of one stands for a blank."""
    pieces: Pieces | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r")
        body = line.lstrip(_BLANKS)
        if body.startswith(("#", ";")):
            continue
        spot = Spot(number, len(line) - len(body) + 1)
        if pieces is None:
            if not body:
                continue
            pieces = Pieces(spot)
        goes_on = (len(body) - len(body.rstrip("\\"))) % 2 == 1
        pieces.add(body[:-1] + " " if goes_on else body, spot)
        if not goes_on:
            yield pieces.written()
            pieces = None
    if pieces is not None:
        yield pieces.written()


def _setting(line: Written) -> Setting:
    name, _, value = line.text.partition("=")
    start = len(name) + 1 + len(value) - len(value.lstrip(_BLANKS))
    end = len(line.text.rstrip(_BLANKS))
    return Setting(name.strip(_BLANKS), part(line, start, max(start, end)))
