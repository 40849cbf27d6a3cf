"""The variables that bring the hook into every process of a server."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from pathtrace.instrument import ENABLE, SITE_FOLDER
from pathtrace.instrument.settings import (
    DRAFT_STATE,
    HYSTERESIS,
    METRICS_FILE,
    METRICS_PORT,
    OFF_GRAPHS,
    RUN,
    THRESHOLD,
)

PYTHONPATH = "PYTHONPATH"


@dataclass(frozen=True)
class Asked:
    """What the hook is asked for; None for what is left as the environment has it, or as it is by default.

    Attributes:
        threshold: batch size above which speculation is to be off.
        hysteresis: ``SHARE:STEPS``, when speculation comes back.
        draft_state: ``warm`` or ``cold``.
        no_off_graphs: whether no decode graphs are captured for steps without speculation.
        metrics_file: where to write metrics.
        metrics_port: where to serve metrics.
        run: what tells this server's lines from another's, None without a supervisor.
    """

    threshold: int | None = None
    hysteresis: str | None = None
    draft_state: str | None = None
    no_off_graphs: bool = False
    metrics_file: str | None = None
    metrics_port: int | None = None
    run: str | None = None


def variables(asked: Asked, environ: Mapping[str, str], *, keeps: bool) -> dict[str, str | None]:
    """What to set over ``environ``; None for what is to be taken out of it.

    Args:
        keeps: whether what is not asked for stays as ``environ`` has it.
    """
    values: dict[str, object] = {
        THRESHOLD: asked.threshold,
        HYSTERESIS: asked.hysteresis,
        DRAFT_STATE: asked.draft_state,
        OFF_GRAPHS: "0" if asked.no_off_graphs else None,
        METRICS_FILE: asked.metrics_file,
        METRICS_PORT: asked.metrics_port,
        RUN: asked.run,
    }
    found: dict[str, str | None] = {PYTHONPATH: search_path(environ.get(PYTHONPATH)), ENABLE: "1"}
    for name, value in values.items():
        if value is not None:
            found[name] = str(value)
        # The mark of another run would put these lines into that one.
        elif name in environ and (name == RUN or not keeps):
            found[name] = None
    return found


def injected(asked: Asked, environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` with the hook in it."""
    changed = dict(environ)
    for name, value in variables(asked, environ, keeps=True).items():
        if value is None:
            changed.pop(name, None)
        else:
            changed[name] = value
    return changed


def search_path(pythonpath: str | None) -> str:
    """PYTHONPATH with the hook's folder first, and there once."""
    # An empty entry would stand for the current folder: none is added, none is taken away.
    others = pythonpath.split(os.pathsep) if pythonpath else []
    return os.pathsep.join([SITE_FOLDER, *(entry for entry in others if entry != SITE_FOLDER)])


def shell_text(asked: Asked, environ: Mapping[str, str], shell: str) -> str:
    """Lines for ``eval``, in the words of ``sh`` or ``fish``; they undo what an earlier call asked for."""
    lines = []
    for name, value in variables(asked, environ, keeps=False).items():
        if shell == "fish":
            lines.append(f"set -e {name};" if value is None else f"set -gx {name} {_fish(value)};")
        else:
            lines.append(f"unset {name}" if value is None else f"export {name}={_sh(value)}")
    return "".join(line + "\n" for line in lines)


def _sh(value: str) -> str:
    quoted = shlex.quote(value)
    return quoted if quoted.startswith(("'", '"')) else f"'{value}'"


def _fish(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
