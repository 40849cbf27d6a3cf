"""The examples run as their pages say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pathtrace.tests.packaging.shipped import ROOT
from pathtrace.tests.trees import wheel
from pathtrace.tracer.project.find import find_project

STORY = ROOT / "examples" / "dead-patch"


def test_the_patch_that_never_runs(tmp_path: Path) -> None:
    program = shutil.which("pathtrace", path=str(Path(sys.executable).parent))
    assert program is not None
    command = ["sh", str(STORY / "run.sh"), program, str(tmp_path / "story"), str(wheel("0.5.9"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^```\n(production  EAGLEWorker .*?)^```$", (STORY / "README.md").read_text(), re.M | re.S)
    assert shown is not None
    assert shown[1] in done.stdout
    assert done.stdout.endswith("clean: 1 of 1 deployment\n")


def test_the_configuration_of_the_page_is_read(tmp_path: Path) -> None:
    text = re.search(r"^```toml\n(.*?)^```$", (ROOT / "docs" / "project.md").read_text("utf-8"), re.M | re.S)
    assert text is not None
    (tmp_path / "pyproject.toml").write_text(text[1])
    (only,) = find_project(tmp_path).deployments
    assert (only.name, only.expect, dict(only.env)) == ("production", "EAGLEWorkerV2", {"SGLANG_ENABLE_SPEC_V2": "1"})
    assert "\n  --speculative" not in only.launch[0]
