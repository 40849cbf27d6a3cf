"""``pathtrace run`` around a launcher that spawns schedulers: the real hook, in a tree that stands in for SGLang's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pathtrace.tests.instrument.standin import LAUNCH, environment, write_tree
from pathtrace.tests.supervisor.running import PATHTRACE, own_lines


def run_tree(
    *path: Path, options: tuple[str, ...] = (), flags: tuple[str, ...] = (), **launch: object
) -> subprocess.CompletedProcess[bytes]:
    asked = {**LAUNCH, **launch}
    server = [sys.executable, *flags, "-m", "sglang.launch_server", json.dumps(asked), "--tp", str(asked["tp"])]
    words = [*PATHTRACE, "run", "--no-static-answer", *options, "--", *server]
    # The supervisor's own interpreter must not see the stand-in tree, nor what is broken beside it.
    server_path = ":".join(map(str, path))
    words[words.index("--") + 1 : words.index("--") + 1] = [f"PYTHONPATH={server_path}"]
    return subprocess.run(words, env=environment(enable=False), capture_output=True, timeout=60, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree")


def test_every_spawned_scheduler_confirms(tree: Path) -> None:
    done = run_tree(tree, tp=2)
    assert done.returncode == 0
    (line,) = own_lines(done.stderr)
    assert line == "pathtrace: confirmed: EAGLEWorker workers.py:8 on 2 ranks; prefill and decode seen"
    assert done.stdout.count(b"step") == 6


def test_the_worker_that_nobody_expected_is_caught(tree: Path) -> None:
    done = run_tree(tree, options=("--expect", "EAGLEWorkerV2"))
    assert done.returncode == 97
    assert "EAGLEWorker was built, EAGLEWorkerV2 is expected" in own_lines(done.stderr)[0]
    assert run_tree(tree, options=("--expect", "EAGLEWorkerV2"), worker="EAGLEWorkerV2").returncode == 0


def test_a_server_without_speculation_has_nothing_to_hook(tree: Path) -> None:
    done = run_tree(tree, algorithm="NONE")
    assert done.returncode == 97
    assert "no speculative worker in this server" in own_lines(done.stderr)[0]


def test_an_interpreter_without_wrapt_serves_nothing(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "wrapt.py").write_text("raise ImportError('no wrapt here')\n")
    done = run_tree(tmp_path, tree)
    assert done.returncode == 97
    assert "wrapt cannot be imported by" in own_lines(done.stderr)[0]
    assert "no wrapt here" in own_lines(done.stderr)[0]


@pytest.mark.parametrize("flag", ["-S", "-E"])
def test_an_interpreter_that_is_shielded_is_named_and_not_confirmed(tree: Path, flag: str) -> None:
    # Without PYTHONPATH there is no tree either; the reason stands before the server's own words.
    done = run_tree(tree, flags=(flag,))
    assert f"{flag} " in own_lines(done.stderr)[0]
    assert done.returncode != 0


def test_a_class_without_a_step_is_the_reason(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "inline", "inline")
    workers = tree / "sglang" / "srt" / "speculative" / "workers.py"
    text = workers.read_text("utf-8")
    workers.write_text(
        text.replace("class EAGLEWorker(TpModelWorker):", "class EAGLEWorker:\n    pass\n\nclass Other:")
    )
    done = run_tree(tree)
    # The launcher may have ended with its own error before it is stopped; the reason is said in both cases.
    assert done.returncode == 97
    assert "EAGLEWorker is not hooked: EAGLEWorker has none of the methods" in own_lines(done.stderr)[0]
