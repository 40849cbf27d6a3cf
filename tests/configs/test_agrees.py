"""The reader of configuration classes against the real transformers, every model type that it has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("version", ["4.57.1", "5.3.0", "5.19.0"])
def test_what_is_said_of_a_class_is_what_an_object_of_it_has(tmp_path: Path, version: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "v")], check=True)
    python = str(tmp_path / "v" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"transformers=={version}"], check=True)
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "pathtrace").symlink_to(ROOT)
    done = subprocess.run(
        [python, str(Path(__file__).with_name("agrees.py"))],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "path")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
