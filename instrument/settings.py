"""What the environment asks of the hook."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

THRESHOLD = "PATHTRACE_THRESHOLD"
HYSTERESIS = "PATHTRACE_HYSTERESIS"
DRAFT_STATE = "PATHTRACE_DRAFT_STATE"
OFF_GRAPHS = "PATHTRACE_OFF_GRAPHS"
PREDICTED = "PATHTRACE_PREDICTED"
RUN = "PATHTRACE_RUN"
METRICS_FILE = "PATHTRACE_METRICS_FILE"
METRICS_PORT = "PATHTRACE_METRICS_PORT"
METRICS_HOST = "PATHTRACE_METRICS_HOST"


@dataclass(frozen=True)
class Prediction:
    """The static answer that the process was given.

    Attributes:
        worker: name of the class; None where no speculative worker is expected.
        module: its module, None where that was not said.
        loop: ``overlap`` or ``synchronous``, None where that was not said.
    """

    worker: str | None
    module: str | None = None
    loop: str | None = None

    def agrees(self, worker: str | None, module: str | None, loop: str | None) -> bool:
        """Whether everything that was said beforehand is what happened."""
        said = ((self.module, module), (self.loop, loop if worker else self.loop))
        return self.worker == worker and all(expected in (None, actual) for expected, actual in said)


@dataclass(frozen=True)
class Settings:
    """What the environment asks of the hook.

    Attributes:
        threshold: batch size above which speculation is to be off, None where none is asked for.
        hysteresis: when speculation comes back: below which part of the threshold, and after how many steps.
        is_warm: whether the draft is shown afterwards what was decoded without it.
        has_off_graphs: whether steps without speculation get decode graphs of their own.
        predicted: the static answer, None where none was given.
        run: what tells the lines of one supervised server from those of another, None without a supervisor.
        metrics_file: where to write metrics, None for nowhere.
        metrics_port: where to serve metrics, None for nowhere.
        metrics_host: address to serve them at: this machine's own unless another is given.
        problems: variables that could not be read, one sentence each.
    """

    threshold: int | None = None
    hysteresis: tuple[float, int] = (0.8, 8)
    is_warm: bool = True
    has_off_graphs: bool = True
    predicted: Prediction | None = None
    run: str | None = None
    metrics_file: str | None = None
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    problems: tuple[str, ...] = ()


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in ``environ``; a variable that cannot be read is a problem, never an exception."""
    problems: list[str] = []
    return Settings(
        threshold=_whole_number(environ, THRESHOLD, 0, None, problems),
        hysteresis=_hysteresis(environ, problems),
        is_warm=_one_of(environ, DRAFT_STATE, ("warm", "cold"), problems) == "warm",
        has_off_graphs=_one_of(environ, OFF_GRAPHS, ("1", "0"), problems) == "1",
        predicted=_prediction(environ, problems),
        run=environ.get(RUN) or None,
        metrics_file=_file(environ, METRICS_FILE, problems),
        metrics_port=_whole_number(environ, METRICS_PORT, 1, 65535, problems),
        metrics_host=environ.get(METRICS_HOST) or "127.0.0.1",
        problems=tuple(problems),
    )


def _whole_number(
    environ: Mapping[str, str], name: str, least: int, most: int | None, problems: list[str]
) -> int | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    # Long digit strings are refused by int() itself, which is why the length is looked at.
    if text.isascii() and text.isdigit() and len(text) < 19:
        number = int(text)
        if least <= number and (most is None or number <= most):
            return number
    limits = f"from {least}" + ("" if most is None else f" to {most}")
    problems.append(f"{name}={text[:40]!r} is not a whole number {limits}")
    return None


def _hysteresis(environ: Mapping[str, str], problems: list[str]) -> tuple[float, int]:
    """``SHARE:STEPS``, as in 0.8:8."""
    text = environ.get(HYSTERESIS, "").strip()
    found = re.fullmatch(r"(0?\.\d{1,6}|1(?:\.0{1,6})?):(\d{1,9})", text)
    if found is not None and float(found[1]) > 0 and int(found[2]) > 0:
        return float(found[1]), int(found[2])
    if text:
        problems.append(f"{HYSTERESIS}={text[:40]!r} is not SHARE:STEPS with a share from 0 to 1 and a number of steps")
    return Settings.hysteresis


def _one_of(environ: Mapping[str, str], name: str, choices: tuple[str, str], problems: list[str]) -> str:
    """One of two words, the first where neither is given."""
    text = environ.get(name, "").strip()
    if text and text not in choices:
        problems.append(f"{name}={text[:40]!r} is neither {choices[0]} nor {choices[1]}")
    return choices[1] if text == choices[1] else choices[0]


def _file(environ: Mapping[str, str], name: str, problems: list[str]) -> str | None:
    text = environ.get(name, "")
    if text and os.path.basename(text) in ("", ".", ".."):
        problems.append(f"{name}={text[:40]!r} is a folder, not a file")
        return None
    return text or None


def _prediction(environ: Mapping[str, str], problems: list[str]) -> Prediction | None:
    text = environ.get(PREDICTED, "").strip()
    if not text:
        return None
    if text.isidentifier():
        return Prediction(text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and "worker" in data:
        fields = [data.get(name) for name in ("worker", "module", "loop")]
        if all(field is None or isinstance(field, str) for field in fields):
            return Prediction(*fields)
    problems.append(f"{PREDICTED}={text[:40]!r} is neither a class name nor a JSON object with the key worker")
    return None
