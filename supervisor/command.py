"""A server's command: the words that are run, and the variables that stand in front of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class ServerCommand:
    """What is run.

    Attributes:
        words: the program and its arguments, as they were given.
        settings: variables that stood in front of it.
    """

    words: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)


def read_command(words: Sequence[str]) -> ServerCommand:
    """Takes ``K=V`` and ``env K=V`` off the front of a command; a call of ``env`` with options stays as it is.

    PYTHONPATH may be among these variables, and the hook's folder has to come before what it holds.
    """
    rest = list(words)
    settings: dict[str, str] = {}
    while rest:
        setting = _SETTING.fullmatch(rest[0])
        if setting is not None:
            settings[setting[1]] = setting[2]
            del rest[0]
        elif os.path.basename(rest[0]) == "env" and len(rest) > 1 and not rest[1].startswith("-"):
            del rest[0]
        else:
            break
    return ServerCommand(tuple(rest), settings)
