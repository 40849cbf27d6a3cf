"""``pathtrace run``: exit status, output, confirmation. The server is a stand-in, see ``fake_server``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pathtrace.instrument import SITE_FOLDER
from pathtrace.tests.supervisor.running import (
    CONFIRMS,
    PATHTRACE,
    SERVER,
    environment,
    own_lines,
    read_until,
    run,
    run_command,
    running,
)

CONFIRMED = "pathtrace: confirmed: EAGLEWorker eagle_worker.py:78 on 1 rank; prefill and decode seen"
FOREVER = ["sleep", 300]


@pytest.mark.parametrize(
    ("last", "status"),
    [(["exit", 0], 0), (["exit", 3], 3), (["exit", 255], 255), (["die", "SIGKILL"], 137), (["die", "SIGTERM"], 143)],
)
def test_a_confirmed_server_gives_its_own_exit_status(last: list[Any], status: int) -> None:
    done = run([*CONFIRMS, ["sleep", 0.2], last])
    assert done.returncode == status
    assert own_lines(done.stderr) == [CONFIRMED]


@pytest.mark.parametrize(
    ("words", "status"),
    [(["no-such-command-anywhere"], 127), (["/no/such/file"], 127), (["/etc/passwd"], 126), (["/etc"], 126)],
)
def test_a_command_that_cannot_be_run_ends_as_in_a_shell(words: list[str], status: int) -> None:
    done = subprocess.run([*PATHTRACE, "run", "--", *words], capture_output=True, timeout=20, check=False)
    assert done.returncode == status
    (line,) = own_lines(done.stderr)
    assert f"{words[0]} could not be started" in line


def test_flags_alone_are_no_command() -> None:
    done = subprocess.run([*PATHTRACE, "run", "--", "--model-path", "m"], capture_output=True, timeout=20, check=False)
    assert done.returncode == 2
    assert b"give the whole command" in done.stderr


def test_a_log_file_that_cannot_be_written_is_pathtraces_own_failure(tmp_path: Path) -> None:
    done = run([["print", "started"]], options=["--log-file", str(tmp_path / "none" / "log")])
    assert (done.returncode, done.stdout) == (98, b"")
    assert b"No such file or directory" in done.stderr


def test_output_arrives_byte_for_byte_and_in_time(tmp_path: Path) -> None:
    size = 10_000_000
    began = time.monotonic()
    log = tmp_path / "log"
    options = ["--log-file", str(log)]
    done = run([["flood", size, 1], ["flood", 1000, 2], *CONFIRMS, ["exit", 0]], options=options)
    assert time.monotonic() - began < 15
    block = bytes(range(256)) * 251
    assert done.stdout == (block * (size // len(block) + 1))[:size]
    assert block[:1000] in done.stderr
    assert done.returncode == 0
    # The confirmation stands behind half a line.
    assert own_lines(done.stderr) == [CONFIRMED]
    assert log.stat().st_size > size


def test_half_a_line_arrives_before_its_end_is_written() -> None:
    with running([*CONFIRMS, ["print", "half"], FOREVER]) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"half"


def test_lines_of_pathtrace_begin_a_line_of_their_own() -> None:
    done = run([["built", {}], ["live", "prefill"], ["say", "half"], ["sleep", 0.3], ["live", "decode"], ["say", "x"]])
    assert CONFIRMED in own_lines(done.stderr)


def test_a_server_whose_output_nobody_reads_is_not_held_up() -> None:
    read, write = os.pipe()
    with running([["flood", 5_000_000, 1], *CONFIRMS, FOREVER], stdout=write) as process:
        assert process.stderr is not None
        read_until(process.stderr, "confirmed: EAGLEWorker")
    os.close(read)
    os.close(write)


def test_a_server_whose_output_is_closed_runs_on() -> None:
    words = " ".join(run_command([])[:6])
    steps = json.dumps([["flood", 500_000, 1], ["sleep", 0.3], *CONFIRMS, ["exit", 5]])
    script = f"{words} {sys.executable} {SERVER} '{steps}' | head -c 10 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=30, check=False)
    assert done.returncode == 5
    said = own_lines(done.stderr)
    assert CONFIRMED in said
    assert "pathtrace: standard output takes no more output: Broken pipe; the server runs on" in said


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_from_the_start_are_no_obstacle(closed: str) -> None:
    steps = json.dumps([*CONFIRMS, ["print", "x"], ["exit", 5]])
    words = " ".join(run_command([])[:6])
    script = f"{words} {sys.executable} {SERVER} '{steps}' {closed}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=30, check=False)
    assert done.returncode == 5


def test_the_server_finds_its_arguments_folder_input_and_the_hook(tmp_path: Path) -> None:
    steps = [["environ"], ["stdin"], *CONFIRMS]
    words = run_command(steps, "--port", "x y", options=["--speculative-disable-batch-threshold", "8"])
    words[words.index("--") + 1 : words.index("--") + 1] = ["FIRST=1", "env", "PYTHONPATH=/user", "SECOND=a b"]
    done = subprocess.run(
        words, capture_output=True, timeout=20, check=False, input=b"typed", cwd=tmp_path, env=environment(KEPT="1")
    )
    text, rest = json.JSONDecoder().raw_decode(done.stdout.decode())
    assert done.stdout.decode()[rest:] == f" {tmp_path}\ntyped"
    assert text["PYTHONPATH"] == f"{SITE_FOLDER}:/user"
    assert (text["FIRST"], text["SECOND"], text["KEPT"]) == ("1", "a b", "1")
    assert (text["PATHTRACE_ENABLE"], text["PATHTRACE_THRESHOLD"]) == ("1", "8")
    assert len(text["PATHTRACE_RUN"]) == 12
    assert "PATHTRACE_PREDICTED" not in text
    assert "the threshold 8 is NOT acted upon" in done.stderr.decode()


def test_the_wrong_class_stops_the_server_with_reason_and_last_lines() -> None:
    numbered = "".join(f"line {number}\n" for number in range(100))
    began = time.monotonic()
    done = run([["print", numbered], ["sleep", 0.3], ["built", {}], FOREVER], options=["--expect", "EAGLEWorkerV2"])
    assert done.returncode == 97
    assert time.monotonic() - began < 10
    said = own_lines(done.stderr)
    reason = "rank dp 0, pp 0, tp 0: EAGLEWorker was built, EAGLEWorkerV2 is expected"
    assert said[0] == f"pathtrace: NOT confirmed: {reason}; the server is stopped"
    assert said[1] == "pathtrace: the last 30 lines of the server until then:"
    assert said[2:31] == [f"pathtrace: | line {number}" for number in range(71, 100)]
    assert said[31].startswith("pathtrace: | pathtrace: built EAGLEWorker ")
    assert said[32:] == [f"pathtrace: exit 97: not confirmed: {reason}"]


def test_a_warning_lets_the_server_run_on() -> None:
    options = ["--expect", "EAGLEWorkerV2", "--on-unconfirmed", "warn"]
    done = run([["built", {}], ["sleep", 0.5], ["print", "served"], ["exit", 4]], options=options)
    assert (done.returncode, done.stdout) == (4, b"served")
    assert "EAGLEWorkerV2 is expected; the server runs on, unconfirmed" in own_lines(done.stderr)[0]


def test_a_rank_that_stays_silent_is_named_when_the_time_is_over() -> None:
    done = run([*CONFIRMS, FOREVER], "--tp", "2", options=["--confirm-timeout", "3"])
    assert done.returncode == 97
    said = own_lines(done.stderr)
    assert said[0] == "pathtrace: NOT confirmed: it was not confirmed within 3 s; the server is stopped"
    assert said[1] == "pathtrace:   rank dp 0, pp 0, tp 1 has not said that it has built its worker"


def test_all_ranks_of_the_launch_are_counted() -> None:
    ranks = [{"tensor": tensor, "data": data, "pid": 10 + 2 * tensor + data} for tensor in (0, 1) for data in (0, 1)]
    steps = [step for rank in ranks for step in (["built", rank], ["both", rank])]
    done = run([*steps, ["sleep", 0.2]], "--tp-size", "2", "--dp-size=2")
    assert done.returncode == 0
    assert own_lines(done.stderr) == [CONFIRMED.replace("1 rank;", "4 ranks;")]


def test_a_process_that_could_not_be_hooked_stops_the_server_at_once() -> None:
    done = run([["failed", "wrapt cannot be imported"], FOREVER])
    assert done.returncode == 97
    assert "NOT confirmed: wrapt cannot be imported" in own_lines(done.stderr)[0]


def test_lines_of_another_run_do_not_count() -> None:
    other = {"run": "another"}
    done = run([["built", other], ["both", other], FOREVER], options=["--confirm-timeout", "0.7"])
    assert done.returncode == 97


@pytest.mark.parametrize(("on_unconfirmed", "status"), [("stop", 97), ("warn", 0)])
def test_a_server_that_ends_well_without_a_confirmation(on_unconfirmed: str, status: int) -> None:
    done = run([["print", "usage"]], options=["--on-unconfirmed", on_unconfirmed])
    assert (done.returncode, done.stdout) == (status, b"usage")
    assert own_lines(done.stderr)[0] == "pathtrace: the server ended with status 0 before it was confirmed"


def test_a_server_that_crashes_before_its_confirmation_gives_its_own_status() -> None:
    done = run([["say", "port taken\n"], ["exit", 1]])
    assert done.returncode == 1
    assert own_lines(done.stderr) == ["pathtrace: the server ended with status 1 before it was confirmed"]


@pytest.mark.parametrize("mode", ["prefill", "decode"])
def test_a_server_of_one_mode_confirms_that_mode(mode: str) -> None:
    done = run([["built", {}], ["live", mode]], "--disaggregation-mode", mode)
    assert done.returncode == 0
    assert own_lines(done.stderr) == [CONFIRMED.replace("prefill and decode", mode)]


@pytest.mark.parametrize(
    "shape", ['{"log":"%s\\n","stream":"stderr"}', "2026-01-01T00:00:00Z stderr F %s", "\x1b[31m%s"]
)
def test_a_line_is_found_in_whatever_a_logger_made_of_it(shape: str) -> None:
    from pathtrace.instrument.confirmation import Built, Live, Origin, line_text

    origin = Origin(5, None, 0, 0)
    lines = [
        line_text(Built(origin, worker="W", module="m", mechanism="observe")),
        *(line_text(Live(origin, "W", mode)) for mode in ("prefill", "decode")),
    ]
    is_json = shape.startswith("{")
    text = "".join(shape.replace("%s", json.dumps(line)[1:-1] if is_json else line) + "\n" for line in lines)
    code = f"import os; t = {text!r}.replace('\"run\":null', '\"run\":\"' + os.environ['PATHTRACE_RUN'] + '\"')\n"
    code += "t = t.replace('\\\\\"run\\\\\":null', '\\\\\"run\\\\\":\\\\\"' + os.environ['PATHTRACE_RUN'] + '\\\\\"')\n"
    code += "os.write(1, t.encode())"
    words = [*PATHTRACE, "run", "--no-static-answer", "--", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, timeout=20, check=False)
    assert own_lines(done.stderr) == ["pathtrace: confirmed: W on 1 rank; prefill and decode seen"]


def test_two_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with running([*CONFIRMS, ["sleep", 0.5], ["exit", 3]]) as first:
        second = run([*CONFIRMS, ["sleep", 0.2], ["exit", 4]])
        _, said = first.communicate(timeout=20)
    assert (first.returncode, second.returncode) == (3, 4)
    assert own_lines(said) == own_lines(second.stderr) == [CONFIRMED]


def test_a_command_that_python_shields_from_the_hook_is_named() -> None:
    words = [*PATHTRACE, "run", "--no-static-answer", "--", sys.executable, "-I", "-c", "pass"]
    done = subprocess.run(words, capture_output=True, timeout=20, check=False)
    assert "-I has Python ignore PYTHONPATH" in own_lines(done.stderr)[0]
    assert done.returncode == 97


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.write_text("")
    variables = environment(HOME=str(home), XDG_CACHE_HOME=str(home), PATHTRACE_CACHE_DIR=str(home))
    done = run([*CONFIRMS, ["exit", 0]], env=variables)
    assert done.returncode == 0
    assert own_lines(done.stderr) == [CONFIRMED]
