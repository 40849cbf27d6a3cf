"""The manifests in ``examples/kubernetes``: their commands and probes, run as a node would run them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from pathtrace.tests.supervisor.running import SERVER, environment

MANIFESTS = Path(__file__).resolve().parents[2] / "examples" / "kubernetes"
BOTH = [["built", {"tensor": each, "worker": "EAGLEWorkerV2"}] for each in (0, 1)] + [
    ["both", {"tensor": each}] for each in (0, 1)
]


def container(name: str) -> dict[str, Any]:
    manifest = yaml.safe_load((MANIFESTS / name).read_text("utf-8"))
    (only,) = manifest["spec"]["template"]["spec"]["containers"]
    return dict(only)


def pathtrace_folder(tmp_path: Path) -> Path:
    """A folder for PATH in which ``pathtrace`` and ``python`` are these, ``python`` being the fake server."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "pathtrace").write_text(f'#!/bin/sh\nexec {sys.executable} -m pathtrace "$@"\n')
    steps = json.dumps([*BOTH, ["sleep", 300]])
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} {shlex.quote(steps)} "$@"\n')
    for each in folder.iterdir():
        each.chmod(0o755)
    return folder


def started(spec: dict[str, Any], tmp_path: Path) -> tuple[list[str], list[str]]:
    """The container's command and its startup probe, with files in ``tmp_path`` instead of ``/tmp``."""
    words = [*spec["command"], *spec["args"]]
    probe = spec["startupProbe"]["exec"]["command"]
    here = [[word.replace("/tmp/", f"{tmp_path}/") for word in each] for each in (words, probe)]
    return here[0], here[1]


@pytest.mark.parametrize("name", ["run.yaml", "env.yaml"])
def test_the_startup_probe_succeeds_once_the_server_has_confirmed(name: str, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    spec = container(name)
    folder = pathtrace_folder(tmp_path)
    words, probe = started(spec, tmp_path)
    if name == "run.yaml":
        words.insert(words.index("--"), "--no-static-answer")
    variables = environment(PATH=f"{folder}:/usr/bin:/bin")
    server = subprocess.Popen(
        words, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 40
        while subprocess.run(probe, env=variables, capture_output=True, check=False).returncode != 0:
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        server.terminate()
        server.wait(timeout=30)
    assert server.returncode in (143, -15)


def test_the_startup_probe_leaves_the_time_that_run_has() -> None:
    spec = container("run.yaml")
    probe = spec["startupProbe"]
    (timeout,) = [int(word.partition("=")[2]) for word in spec["command"] if word.startswith("--confirm-timeout=")]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= timeout


def test_the_probe_of_the_log_is_not_cut_off_while_it_waits() -> None:
    probe = container("env.yaml")["startupProbe"]
    (wait,) = [int(word.partition("=")[2]) for word in probe["exec"]["command"] if word.startswith("--wait=")]
    assert probe["timeoutSeconds"] > wait


def test_both_count_the_ranks_of_the_launch() -> None:
    assert "--tp-size=2" in container("run.yaml")["args"]
    assert "--tp-size=2" in container("env.yaml")["args"]
    assert "--ranks=2" in container("env.yaml")["startupProbe"]["exec"]["command"]
