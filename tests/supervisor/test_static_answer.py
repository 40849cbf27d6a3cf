"""``pathtrace run`` and the static answer: made beside the server's start, compared, and never waited for by it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pathtrace.instrument.confirmation import Built, Failed, Live, Origin
from pathtrace.instrument.settings import Prediction
from pathtrace.supervisor import watch as watching
from pathtrace.supervisor.shape import Shape
from pathtrace.supervisor.static_answer import StaticAnswer, read_static_answer
from pathtrace.supervisor.verdict import Assertion
from pathtrace.supervisor.watch import Watch
from pathtrace.tests.supervisor.running import CONFIRMS, PATHTRACE, command, environment, own_lines

SPECULATES = ("--model-path", "m", "--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", "d")


def run_with_answer(
    steps: list[list[Any]], *launch: str, options: tuple[str, ...] = (), **given: Any
) -> subprocess.CompletedProcess[bytes]:
    words = [*PATHTRACE, "run", *options, "--", *command(steps, *launch)]
    given = {"stdin": subprocess.DEVNULL, **given}
    return subprocess.run(words, capture_output=True, timeout=60, check=False, **given)


def test_a_tree_that_cannot_be_found_leaves_what_the_processes_say(tmp_path: Path) -> None:
    done = run_with_answer([*CONFIRMS, ["sleep", 1]], options=("--sglang", str(tmp_path / "none")))
    assert done.returncode == 0
    first, second = own_lines(done.stderr)
    assert first.startswith("pathtrace: static answer: ")
    assert first.endswith("; asserting only what the processes say")
    assert second == "pathtrace: confirmed: EAGLEWorker eagle_worker.py:78 on 1 rank; prefill and decode seen"


def test_a_cache_and_a_home_that_cannot_be_written_are_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    variables = environment(HOME=str(file), XDG_CACHE_HOME=str(file), PATHTRACE_CACHE_DIR=str(file))
    done = run_with_answer([*CONFIRMS, ["sleep", 1]], options=("--sglang", str(tmp_path)), env=variables)
    assert done.returncode == 0
    assert "confirmed: EAGLEWorker" in own_lines(done.stderr)[-1]


def test_the_server_starts_before_the_answer_is_made(tmp_path: Path) -> None:
    # The interpreter that is asked for its tree takes for ever.
    slow = tmp_path / "python3"
    slow.write_text("#!/bin/sh\nsleep 300\n")
    slow.chmod(0o755)
    options = ("--python", str(slow), "--confirm-timeout", "4")
    began = time.monotonic()
    done = run_with_answer([*CONFIRMS, ["print", "serves"], ["sleep", 8]], options=options)
    assert (done.returncode, done.stdout) == (0, b"serves")
    assert time.monotonic() - began < 40
    # Everything that the processes say is there when the time is over: the answer alone is missing.
    assert any("confirmed: EAGLEWorker" in line for line in own_lines(done.stderr))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Traceback\nKeyError: 'x'\n",
        b"[]",
        b'{"outcome": 3}',
        b"\xff\xfe",
        b'{"outcome": "worker"}',
        b"[" * 100_000,
    ],
)
def test_anything_but_an_answer_is_unknown(data: bytes) -> None:
    answer = read_static_answer(data)
    assert (answer.outcome, answer.prediction) == ("unknown", None)
    assert answer.sentence


def test_an_answer_says_what_to_compare_with() -> None:
    said = {"outcome": "worker", "sentence": "s", "worker": "W", "module": "m", "loop": "overlap", "resolved": {"a": 1}}
    answer = read_static_answer(json.dumps(said).encode())
    assert answer == StaticAnswer("worker", "s", Prediction("W", "m", "overlap"), {"a": 1})
    assert read_static_answer(b'{"outcome": "none"}').prediction == Prediction(None)


BUILT = Built(Origin(1, "r", 0, 0), worker="W", module="m", loop="overlap", mechanism="observe")
LIVE = [Live(Origin(1, "r", 0, 0), "W", mode, 1) for mode in ("prefill", "decode")]


def watched(*lines: Any, worker: str | None = None, pending: bool = False, **shape: Any) -> Watch:
    watch = Watch(Assertion(Shape(**shape), worker=worker, run="r"), timeout_s=100.0, began=0.0, answer_pending=pending)
    for line in lines:
        watch.hear(line)
    return watch


def test_a_confirmation_waits_for_the_answer_and_not_longer_than_it_may_take() -> None:
    watch = watched(BUILT, *LIVE, pending=True)
    assert watch.decide(1.0) is None
    assert not watch.answer_is_late(99.0)
    assert watch.answer_is_late(100.0)
    watch.timeout_s = 10_000.0
    assert watch.answer_is_late(watching.ANSWER_S)


@pytest.mark.parametrize(
    ("line", "worker"),
    [
        (Failed(Origin(1, "r"), "no wrapt"), None),
        (Built(Origin(1, "r", 0, 0), worker="W", module="m", problem="it has no steps"), None),
        (Built(Origin(1, "r", 0, 0), worker="W", module="m", threshold=8, refused="it has no decode step"), None),
        (BUILT, "V2"),
    ],
)
def test_what_no_answer_mends_is_not_waited_for(line: Any, worker: str | None) -> None:
    decision = watched(line, worker=worker, pending=True).decide(1.0)
    assert decision is not None and not decision.confirmed


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            StaticAnswer("worker", "s", Prediction("V2", "m2", "overlap")),
            "the static answer is V2 of m2 (overlap loop)",
        ),
        (StaticAnswer("worker", "s", Prediction("W", "m", "synchronous")), "the static answer is W of m (synchronous"),
        (StaticAnswer("none", "s", Prediction(None)), "the static answer is no worker"),
        (StaticAnswer("refused", "it asserts"), "the static answer is that it does not: it asserts"),
    ],
)
def test_a_mismatch_with_the_answer_is_named(answer: StaticAnswer, reason: str) -> None:
    watch = watched(BUILT, *LIVE)
    watch.learn(answer)
    decision = watch.decide(1.0)
    assert decision is not None and not decision.confirmed
    assert reason in decision.sentence


def test_an_answer_that_agrees_confirms() -> None:
    watch = watched(BUILT, *LIVE, pending=True)
    watch.learn(StaticAnswer("worker", "s", Prediction("W", "m", "overlap")))
    decision = watch.decide(1.0)
    assert decision is not None and decision.confirmed


def test_the_tree_s_own_sizes_count_where_the_answer_has_them() -> None:
    watch = watched(BUILT, *LIVE)
    watch.learn(StaticAnswer("worker", "s", Prediction("W", "m", "overlap"), {"tp_size": 2}))
    assert watch.decide(1.0) is None


def test_a_problem_of_the_hook_is_the_reason() -> None:
    line = Built(Origin(1, "r", 0, 0), worker="W", module="m", problem="no way to turn speculation off")
    decision = watched(line).decide(1.0)
    assert decision is not None
    assert decision.sentence == "rank dp 0, pp 0, tp 0: W is not hooked: no way to turn speculation off"


def test_a_server_without_speculation_is_confirmed_where_the_answer_says_so() -> None:
    watch = watched(Built(Origin(1, "r", 0, 0)))
    watch.learn(StaticAnswer("none", "s", Prediction(None)))
    decision = watch.decide(1.0)
    assert decision is not None
    assert decision.sentence == ("confirmed: no speculative worker in this server, on 1 rank; there is nothing to hook")


def test_silence_of_a_server_that_listens_is_a_failure() -> None:
    watch = watched(port=4000)
    watch.listens_at = 5.0
    assert watch.decide(5.0 + watching.GRACE_S - 0.1) is None
    decision = watch.decide(5.0 + watching.GRACE_S)
    assert decision is not None
    assert decision.sentence == (
        "the server listens on 127.0.0.1:4000, and no scheduler process has said a word: see doctor"
    )


def test_only_the_last_stage_confirms_and_a_node_without_it_waits_for_its_schedulers() -> None:
    watch = watched(pp_size=2, nnodes=2, node_rank=0)
    assert watch.decide(1.0) is None
    watch.hear(Built(Origin(1, "r", 0, 0), algorithm="EAGLE"))
    decision = watch.decide(1.0)
    assert decision is not None and decision.confirmed
    assert decision.sentence.startswith("confirmed: no rank of this node builds a worker; node 0 of 2")


def test_lines_without_end_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MOST_LINES", 10)
    watch = watched(*(Built(Origin(pid, "r", 0, 0), worker="W") for pid in range(50)))
    assert len(watch.lines) == 10


def test_the_prediction_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    given = {"tree": str(tmp_path), "python": None, "assume": {}, "model_config": None, "draft_config": None}
    code = "import sys; from pathtrace.cli_prediction import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", code, json.dumps(given), "python", "-m", "sglang.launch_server", *SPECULATES]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    said = json.loads(done.stdout)
    assert said["outcome"] == "unknown"
    assert done.returncode == 0
