"""Reading the lines of ``confirmation`` again, from whatever a log has made of them.

Docker and Kubernetes put a timestamp before a line or wrap it into a JSON object, loggers add a prefix or
colours, another process may have left half a line before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from pathtrace.instrument.confirmation import PREFIX, Built, Failed, Line, Live, Origin
from pathtrace.instrument.settings import Prediction

# What pathtrace writes is a twentieth of this, escaped twice.
LONGEST_READ = 65536
DEEPEST = 4
# Without the space: colours may stand before it.
SIGN = PREFIX.strip()
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_START = re.compile(re.escape(PREFIX) + r"(built|live|failed) ")
_DATA = re.compile(r'\{"v":\d')


def read_line(text: str) -> Line | None:
    """What one line of a log says, None where it is not one of ours.

    Args:
        text: the line, with whatever stands before or around what was written.
    """
    if SIGN not in text:
        return None
    return _read(_near(text), DEEPEST)


def _near(text: str) -> str:
    """The part that can matter: a log may hold lines of any length."""
    if len(text) <= LONGEST_READ:
        return text
    start = max(0, text.index(SIGN) - LONGEST_READ // 2)
    return text[start : start + LONGEST_READ]


def _read(text: str, depth: int) -> Line | None:
    text = _COLOUR.sub("", text)
    for start in _START.finditer(text):
        data = _DATA.search(text, start.end())
        if data is not None:
            line = _line(start.group(1), _object(text, data.start()))
            if line is not None:
                return line
    if depth > 0:
        for value in _wrapped(text):
            line = _read(value, depth - 1)
            if line is not None:
                return line
    return None


def _object(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _wrapped(text: str) -> Iterator[str]:
    """Strings of a JSON object in ``text`` that could hold one of our lines."""
    start = text.find("{")
    data = _object(text, start) if start >= 0 else None
    if isinstance(data, dict):
        for value in data.values():
            if isinstance(value, str) and SIGN in value:
                yield value
            elif isinstance(value, dict):
                yield from (inner for inner in value.values() if isinstance(inner, str) and SIGN in inner)


def _line(kind: str, data: Any) -> Line | None:
    """The line that ``data`` stands for, None where a field that is needed is missing or of another kind."""
    if not isinstance(data, dict) or not _is_whole(data.get("pid")):
        return None
    ranks = [data.get(name) for name in ("tensor", "pipeline", "data")]
    texts = [data.get(name) for name in ("run", "worker")]
    if not (all(map(_is_whole_or_none, ranks)) and all(map(_is_text_or_none, texts))):
        return None
    origin = Origin(data["pid"], data.get("run"), *ranks)
    if kind == "built":
        return _built(origin, data)
    if kind == "live":
        worker, mode, size = data.get("worker"), data.get("mode"), data.get("size")
        if isinstance(worker, str) and isinstance(mode, str) and _is_whole_or_none(size):
            return Live(origin, worker, mode, size)
        return None
    reason = data.get("reason")
    return Failed(origin, reason) if isinstance(reason, str) else None


def _built(origin: Origin, data: dict[str, Any]) -> Built | None:
    texts = {name: data.get(name) for name in ("worker", "module", "file", "entry", "inherited_from")}
    texts |= {name: data.get(name) for name in ("loop", "algorithm", "carrier", "problem", "refused")}
    numbers = {name: data.get(name) for name in ("line", "threshold", "acts_at")}
    mechanism, agrees, version = data.get("mechanism"), data.get("agrees"), data.get("pathtrace", "")
    predicted = data.get("predicted")
    if not (all(map(_is_text_or_none, texts.values())) and all(map(_is_whole_or_none, numbers.values()))):
        return None
    if not (isinstance(mechanism, str) and isinstance(version, str) and (agrees is None or isinstance(agrees, bool))):
        return None
    prediction = None
    if isinstance(predicted, dict):
        said = [predicted.get(name) for name in ("worker", "module", "loop")]
        if not all(map(_is_text_or_none, said)):
            return None
        prediction = Prediction(*said)
    return Built(
        origin, **texts, **numbers, mechanism=mechanism, agrees=agrees, predicted=prediction, pathtrace=version
    )


def _is_whole(value: Any) -> TypeGuard[int]:
    return type(value) is int


def _is_whole_or_none(value: Any) -> bool:
    return value is None or type(value) is int


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)
