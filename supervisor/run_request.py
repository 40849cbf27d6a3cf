"""What is asked of one run, and how it may end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pathtrace.supervisor.watch import Watch

UNCONFIRMED = 97
OWN_FAILURE = 98
CANNOT_RUN = 126
NOT_FOUND = 127


@dataclass(frozen=True)
class StaticAnswerProcess:
    """The process that makes the static answer beside the server.

    Attributes:
        words: its command.
        environ: its environment.
    """

    words: tuple[str, ...]
    environ: Mapping[str, str]


@dataclass(frozen=True)
class RunRequest:
    """What is asked of one run.

    Attributes:
        words: the server's command.
        environ: its environment, with the hook in it.
        watch: what has to be confirmed.
        token: what the lines of this run bear.
        on_unconfirmed: what to do otherwise.
        log_file: where the server's output goes as well.
        ready_file: what is written once the server is confirmed.
        probe: whether to send a request where no traffic comes.
        kill_after_s: how long processes have to end before they are killed.
        static_answer: what makes it, None where none is wanted.
        remarks: what to say when the server starts.
    """

    words: tuple[str, ...]
    environ: Mapping[str, str]
    watch: Watch
    token: str
    on_unconfirmed: Literal["stop", "warn"] = "stop"
    log_file: Path | None = None
    ready_file: Path | None = None
    probe: bool = True
    kill_after_s: float = 15.0
    static_answer: StaticAnswerProcess | None = None
    remarks: tuple[str, ...] = ()
