"""The static answer, made in a process beside the server: what the supervisor keeps of it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pathtrace.instrument.settings import Prediction


@dataclass(frozen=True)
class StaticAnswer:
    """What the tree says about the launch.

    Attributes:
        outcome: ``worker``, ``none``, ``refused``, ``undecided``, or ``unknown`` where no answer could be made.
        sentence: the same for a person, or why there is no answer.
        prediction: what to compare with, None where nothing is decided.
        resolved: fields of the launch as the tree resolves them.
    """

    outcome: str
    sentence: str
    prediction: Prediction | None = None
    resolved: Mapping[str, Any] = field(default_factory=dict)


def read_static_answer(data: bytes) -> StaticAnswer:
    """What the process beside wrote; anything else than its JSON object is an answer that could not be made."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    if not (isinstance(said, dict) and isinstance(said.get("outcome"), str) and _names_worker(said)):
        last = data.decode("utf-8", "replace").strip().splitlines()
        reason = last[-1][:300] if last else "it ended without a word"
        return StaticAnswer("unknown", f"the process that makes it failed: {reason}")
    outcome, sentence, resolved = said["outcome"], str(said.get("sentence", "")), said.get("resolved")
    prediction = None
    if outcome == "worker":
        prediction = Prediction(said["worker"], said.get("module"), said.get("loop"))
    elif outcome == "none":
        prediction = Prediction(None)
    return StaticAnswer(outcome, sentence, prediction, resolved if isinstance(resolved, dict) else {})


def _names_worker(said: Mapping[str, Any]) -> bool:
    texts = [said.get(name) for name in ("worker", "module", "loop")]
    is_named = said["outcome"] != "worker" or isinstance(said.get("worker"), str)
    return is_named and all(text is None or isinstance(text, str) for text in texts)


def read_in_background(source: int, then: Callable[[StaticAnswer], None]) -> None:
    """Reads what the process beside writes until its end, in a thread."""

    def read() -> None:
        pieces = []
        while piece := os.read(source, 65536):
            pieces.append(piece)
        os.close(source)
        then(read_static_answer(b"".join(pieces)))

    threading.Thread(target=read, name="static-answer", daemon=True).start()
