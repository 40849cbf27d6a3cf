"""The lines by which processes confirm: what they say, and reading them again from logs of all kinds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pathtrace.instrument import output
from pathtrace.instrument.confirmation import Built, Failed, Line, Live, Origin, line_text, write_line
from pathtrace.instrument.read_line import read_line
from pathtrace.instrument.settings import Prediction
from pathtrace.tests.instrument.standin import environment, python

ORIGIN = Origin(41, "r1", 1, 0, None)
BUILT = Built(
    ORIGIN,
    worker="StandaloneWorkerV2",
    module="sglang.srt.speculative.standalone_worker_v2",
    file="/x/sglang/srt/speculative/standalone_worker_v2.py",
    line=120,
    entry="forward_batch_generation",
    inherited_from="EAGLEWorkerV2",
    loop="overlap",
    algorithm="STANDALONE",
    mechanism="observe",
    threshold=8,
    carrier="plugin",
    predicted=Prediction("StandaloneWorkerV2", None, "overlap"),
    agrees=True,
    pathtrace="0.1.0",
)
LIVE = Live(ORIGIN, "StandaloneWorkerV2", "decode", 3)
FAILED = Failed(Origin(7), 'wrapt cannot be imported: "no\nsuch" {module}')


def words(line: Line) -> str:
    return line_text(line).partition(' {"v":')[0]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            BUILT,
            "pathtrace: built StandaloneWorkerV2 (/x/sglang/srt/speculative/standalone_worker_v2.py:120), overlap "
            "loop, rank pp 0, tp 1; mechanism observe: steps are counted and timed, nothing is changed; THE "
            "THRESHOLD 8 IS NOT ACTED UPON; the static answer agrees",
        ),
        (
            Built(Origin(1, None, 0, 0), worker="W", mechanism="v2", threshold=8, acts_at=8),
            "pathtrace: built W, event loop unknown, rank pp 0, tp 0; Dynamic speculation disable enabled at "
            "threshold=8, mechanism v2",
        ),
        (
            Built(Origin(1), worker="W", loop="synchronous", problem="it is frozen"),
            "pathtrace: built W, synchronous loop, rank unknown; NOT HOOKED: it is frozen",
        ),
        (Built(Origin(1, None, 0)), "pathtrace: built no speculative worker in this server, rank tp 0"),
        (
            Built(Origin(1, None, 0, 0), algorithm="EAGLE"),
            "pathtrace: built no speculative worker in this process, though EAGLE is configured, rank pp 0, tp 0",
        ),
        (
            Built(Origin(1, None, 0), predicted=Prediction("V2"), agrees=False),
            "pathtrace: built no speculative worker in this server, rank tp 0; the static answer DISAGREES, it said V2",
        ),
        (
            LIVE,
            "pathtrace: live first decode step went through the hook of StandaloneWorkerV2, rank pp 0, tp 1, 3 in the "
            "batch",
        ),
        (FAILED, 'pathtrace: failed wrapt cannot be imported: "no such" {module}'),
    ],
)
def test_a_line_begins_with_words_for_a_person(line: Line, text: str) -> None:
    assert words(line) == text


def test_a_line_ends_with_all_of_it_as_json() -> None:
    data = json.loads(line_text(LIVE).partition("batch ")[2])
    assert data == {
        "v": 1,
        "pid": 41,
        "run": "r1",
        "tensor": 1,
        "pipeline": 0,
        "data": None,
        "worker": "StandaloneWorkerV2",
        "mode": "decode",
        "size": 3,
    }


def docker(text: str) -> str:
    return json.dumps({"log": text + "\n", "stream": "stderr", "time": "2026-01-02T03:04:05.678901234Z"})


WRAPPINGS = {
    "as written": lambda text: text,
    "end of line": lambda text: text + "\r\n",
    "kubectl logs --timestamps": lambda text: "2026-01-02T03:04:05.678901234Z " + text,
    "container runtime": lambda text: "2026-01-02T03:04:05.678901234Z stderr F " + text,
    "docker compose": lambda text: "\x1b[36msglang-1  | \x1b[0m" + text,
    "half a line of another process before it": lambda text: "[2026-01-02 03:04:05 TP0] Load weight " + text,
    "another process's words after it": lambda text: text + "[2026-01-02 03:04:05] Ready",
    "colours": lambda text: "\x1b[1;32m" + text.replace("pathtrace:", "pathtrace:\x1b[0m") + "\x1b[0m",
    "docker's json-file": docker,
    "json with a message": lambda text: json.dumps({"level": "info", "message": text, "pid": 3}),
    "json within json": lambda text: docker(json.dumps({"message": text})),
    "json of a nested record": lambda text: json.dumps({"record": {"message": text}}),
    "json after a timestamp": lambda text: "2026-01-02T03:04:05Z " + docker(text),
    "colours within json": lambda text: docker("\x1b[31m" + text + "\x1b[0m"),
}


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS.keys())
@pytest.mark.parametrize("line", [BUILT, LIVE, FAILED], ids=["built", "live", "failed"])
def test_a_line_is_read_again_from(line: Line, wrap: object) -> None:
    assert callable(wrap)
    assert read_line(wrap(line_text(line))) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[2026-01-02 03:04:05] The server is fired up and ready to roll!",
        "pathtrace: built",
        "pathtrace: built EAGLEWorker",
        'pathtrace: built EAGLEWorker {"v":1}',
        'pathtrace: built EAGLEWorker {"v":1,"pid":"41","mechanism":"observe"}',
        'pathtrace: built EAGLEWorker {"v":1,"pid":true,"mechanism":"observe"}',
        'pathtrace: built EAGLEWorker {"v":1,"pid":41}',
        'pathtrace: built EAGLEWorker {"v":1,"pid":41,"mechanism":"observe","worker":["EAGLEWorker"]}',
        'pathtrace: built EAGLEWorker {"v":1,"pid":41,"mechanism":"observe","agrees":"yes"}',
        'pathtrace: built EAGLEWorker {"v":1,"pid":41,"mechanism":"obs',
        'pathtrace: live first {"v":1,"pid":41,"worker":"EAGLEWorker"}',
        'pathtrace: failed it {"v":1,"pid":41}',
        'pathtrace: started {"v":1,"pid":41,"mechanism":"observe"}',
        'pathtrace: built W {"v":1,"pid":41,"mechanism":' + "[" * 5000,
        'pathtrace: built W {"v":1,"pid":' + "9" * 5000 + "}",
        '{"message": "pathtrace: built "' + "{" * 3000,
    ],
    ids=lambda text: text[:60],
)
def test_anything_else_is_no_line(text: str) -> None:
    assert read_line(text) is None


def test_fields_of_later_versions_are_passed_over() -> None:
    text = 'pathtrace: live words {"v":2,"pid":1,"worker":"W","mode":"decode","size":1,"new":[{}]}'
    assert read_line(text) == Live(Origin(1), "W", "decode", 1)


def test_a_line_is_found_in_a_log_line_of_any_length() -> None:
    assert read_line("x" * 5_000_000 + line_text(LIVE) + "y" * 5_000_000) == LIVE


def test_a_line_fits_into_what_a_pipe_takes_in_one_piece() -> None:
    long = "/x/" + "é{" * 150
    line = Built(Origin(1), worker="W", file=long, problem=long)
    assert len(line_text(line).encode()) < 4096
    assert read_line(line_text(line)) == line


def test_a_failure_said_with_next_to_no_imports_is_read_as_one() -> None:
    say = "import os; os.environ['PATHTRACE_RUN'] = 'r9'; from pathtrace.instrument.output import report_failure; "
    done = python("-c", say + "report_failure('wrapt is\\nmissing')", environ=environment(enable=False))
    (text,) = done.stderr.splitlines()
    failed = read_line(text)
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.origin.run) == ("wrapt is\nmissing", "r9")


class TestStandardError:
    def test_gets_the_line_in_one_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written: list[bytes] = []
        monkeypatch.setattr(os, "write", lambda fd, data: written.append(data) or len(data))
        write_line(LIVE)
        assert written == [line_text(LIVE).encode() + b"\n"]

    def test_that_cannot_take_it_is_let_be(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(fd: int, data: bytes) -> int:
            raise OSError("no space left on device")

        monkeypatch.setattr(os, "write", broken)
        write_line(LIVE)

    def test_that_does_not_wait_and_is_full_gets_it_once_it_is_read(self, tmp_path: Path) -> None:
        script = (
            "import os, subprocess, sys, time\n"
            "r, w = os.pipe()\n"
            "os.set_blocking(w, False)\n"
            "try:\n"
            "    while True: os.write(w, b'x' * 4096)\n"
            "except BlockingIOError: pass\n"
            "code = 'from pathtrace.instrument.output import say; say(\"pathtrace: done\")'\n"
            "child = subprocess.Popen([sys.executable, '-c', code], stderr=w)\n"
            "os.close(w)\n"
            "time.sleep(0.5)\n"
            "data = b''\n"
            "while part := os.read(r, 65536): data += part\n"
            "print(child.wait(), data.strip(b'x'))\n"
        )
        done = python("-c", script, environ=environment(enable=False))
        assert done.stdout == "0 b'pathtrace: done\\n'\n"

    def test_that_nobody_reads_does_not_hold_the_server_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read, write = os.pipe()
        os.set_blocking(write, False)
        monkeypatch.setattr(output, "STANDARD_ERROR", write)
        monkeypatch.setattr(output, "PATIENCE_S", 0.05)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(write, b"x" * 65536)
        output.say("lost")
        os.close(read)
        os.close(write)
