"""One real server on the CPU: started, asked, stopped with everything that it started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathtrace.instrument.confirmation import Built, Failed, Line, Live
from pathtrace.instrument.read_line import read_line

READY_S = 400.0
ANSWER_S = 240.0
STOP_S = 20.0
END_S = 90.0
QUIET_S = 60.0
LONGEST_SHOWN = 500
# Below those that a system hands out itself.
PORTS = range(20000, 30000)
FATAL = ("Scheduler hit an exception", "Received sigquit from a child process")
# Not inherited: what a developer's shell has set for SGLang, for the interpreter or for pathtrace.
OURS_TO_SET = ("SGLANG_", "SGL_", "PYTHON", "PATHTRACE_", "LIVE_")
# In the environment of everything that a server starts, whichever session that is in.
MARK = "LIVE_SERVER"


class CannotServe(Exception):
    """The server did not come up or did not answer; the sentence ends with the last lines of its log."""


@dataclass(frozen=True)
class Ask:
    """One request.

    Attributes:
        prompt: its tokens.
        tokens: how many are to follow, the likeliest each time.
        after_s: when it is sent, from the first of those that are sent together.
        logprobs: whether the log-probabilities of the tokens are wanted.
    """

    prompt: Sequence[int]
    tokens: int = 14
    after_s: float = 0.0
    logprobs: bool = False


@dataclass(frozen=True)
class Answer:
    """What came of it.

    Attributes:
        tokens: the tokens that follow.
        meta: the server's ``meta_info``.
    """

    tokens: list[int]
    meta: dict[str, Any]

    @property
    def logprobs(self) -> list[float]:
        """The log-probability of each token; only where the request wants them."""
        return [float(entry[0]) for entry in self.meta["output_token_logprobs"]]


def free_port() -> int:
    """A port that nobody listens at now, low enough for those that a server adds numbers to it for."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


class Server:
    """A running server.

    Attributes:
        url: where it answers.
        log: file that holds all it has written.
        process: what was started.
    """

    def __init__(self, words: Sequence[str], environ: Mapping[str, str], port: int, log: Path) -> None:
        """Starts ``words``; ``environ`` is added to what may be inherited."""
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self._mark = f"{MARK}={secrets.token_hex(8)}"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS_TO_SET)}
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                words,
                env={**inherited, **environ, MARK: self._mark.partition("=")[2]},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                start_new_session=True,
            )

    # Waiting.

    def wait_until(self, holds: Callable[[], bool], what: str, limit_s: float = READY_S) -> None:
        """Returns once ``holds``.

        Args:
            what: the same in words: "the server is healthy".

        Raises:
            CannotServe: it ended, said that it will not serve, or took longer than ``limit_s``.
        """
        ends = time.monotonic() + limit_s
        while not holds():
            if self.process.poll() is not None:
                raise CannotServe(f"ended with {self.process.returncode} before {what}:\n{self.tail()}")
            if any(words in self.text() for words in FATAL):
                raise CannotServe(f"the server gave up before {what}:\n{self.tail()}")
            if time.monotonic() >= ends:
                raise CannotServe(f"waited {limit_s:.0f} s until {what}:\n{self.tail()}")
            time.sleep(0.2)

    def wait_until_ready(self) -> None:
        """Returns once the server is healthy."""
        self.wait_until(self._is_healthy, "the server is healthy")

    def wait_until_said(self, words: str, limit_s: float = READY_S) -> None:
        """Returns once the log holds ``words``."""
        self.wait_until(lambda: words in self.text(), f"{words!r} is in the log", limit_s)

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def wait_for_end(self, limit_s: float = READY_S) -> int:
        """The exit status of what was started, once that has ended; what else runs is for ``members`` to say."""
        try:
            status = self.process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise CannotServe(f"still runs after {limit_s:.0f} s:\n{self.tail()}") from None
        return status if status >= 0 else 128 - status

    # Asking.

    def together(self, prompts: Sequence[Sequence[int]], tokens: int) -> list[Answer]:
        """The answers to prompts that are asked in one request, so that they come into one batch."""
        body = {"input_ids": [list(prompt) for prompt in prompts], "sampling_params": _sampling(tokens)}
        return [_answer(found) for found in self._generate(body)]

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """The answers to requests that are sent each for itself, at its time."""
        began = time.monotonic()

        def one(ask: Ask) -> Answer:
            time.sleep(max(0.0, began + ask.after_s - time.monotonic()))
            body = {"input_ids": list(ask.prompt), "sampling_params": _sampling(ask.tokens)}
            return _answer(self._generate({**body, "return_logprob": ask.logprobs}))

        with ThreadPoolExecutor(max(1, len(asks))) as pool:
            return list(pool.map(one, asks))

    def _generate(self, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/generate", json.dumps(body).encode("utf-8"), headers)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
                return json.load(answer)
        except OSError as problem:
            raise CannotServe(f"no answer to a request: {problem}\n{self.tail()}") from problem

    # What it said.

    def text(self) -> str:
        """All that was written so far."""
        return self.log.read_text("utf-8", "replace")

    def tail(self, lines: int = 60) -> str:
        """The end of it; some releases log all their settings in one line."""
        return "\n".join(line[:LONGEST_SHOWN] for line in self.text().splitlines()[-lines:])

    def lines(self) -> list[Line]:
        """What pathtrace's hook has said so far."""
        return [line for line in map(read_line, self.text().splitlines()) if line is not None]

    def built(self) -> list[Built]:
        """The workers that it says were built."""
        return [line for line in self.lines() if isinstance(line, Built)]

    def live(self) -> list[Live]:
        """The modes that it says went through the hook."""
        return [line for line in self.lines() if isinstance(line, Live)]

    def failed(self) -> list[Failed]:
        """What it says could not be prepared."""
        return [line for line in self.lines() if isinstance(line, Failed)]

    # Ending.

    def send(self, number: signal.Signals, pid: int) -> None:
        """Sends a signal to one of its processes."""
        assert pid in self.members()
        os.kill(pid, number)

    def end(self) -> None:
        """Asks what was started to end, and nothing else: whoever supervises a server leaves nothing of it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.wait_for_end(END_S)
        assert self.members() == [], f"processes are left over:\n{self.tail()}"

    def stop(self) -> None:
        """Ends everything that came of it, kindly first."""
        for number, patience_s in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, STOP_S)):
            ends = time.monotonic() + patience_s
            for pid in self.members():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            while self.members() and time.monotonic() < ends:
                self.process.poll()
                time.sleep(0.1)
        self.process.wait(timeout=STOP_S)

    def members(self) -> list[int]:
        """Every process that came of it and still runs: in its session, or with its mark."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                # After the name, which may hold anything: state, parent, group, session.
                fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                is_ours = fields[3] == str(self.process.pid)
                # Some write their title over their environment: then the session alone tells.
                is_ours = is_ours or self._mark.encode() in (folder / "environ").read_bytes()
            except OSError:
                continue
            if is_ours and fields[0] != "Z":
                found.append(int(folder.name))
        return found

    def pid_of(self, title: str) -> int | None:
        """The process whose title begins with ``title``, as ``sglang::scheduler``; None where there is none."""
        for pid in self.members():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(title.encode()):
                    return pid
        return None


def metric(text: str, name: str) -> int:
    """The sum of a counter over its labels, in Prometheus' text format."""
    return sum(int(float(value)) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE))


def _sampling(tokens: int) -> dict[str, Any]:
    return {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}


def _answer(found: Mapping[str, Any]) -> Answer:
    return Answer(list(found["output_ids"]), dict(found["meta_info"]))
