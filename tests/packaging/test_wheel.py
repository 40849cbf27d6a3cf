"""The built wheel, installed in a fresh environment and run from another working directory (`make wheel-test`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import pathtrace
from pathtrace.tests import trees
from pathtrace.tests.packaging.shipped import ROOT, sources

LLAMA = ROOT / "tests" / "conformance" / "models" / "llama" / "config.json"
DRAFT = ROOT / "tests" / "conformance" / "models" / "llama-eagle3" / "config.json"

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the source distribution, so that both are whole."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of a fresh environment that holds the wheel, somewhere else than in the repository."""
    folder = tmp_path_factory.mktemp("installed")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

    def program(name: str, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [programs / name, *args], cwd=elsewhere, env=env, capture_output=True, text=True, check=False
        )

    return program


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "pathtrace/py.typed" in names
    top = {name.split("/")[0] for name in names}
    assert top == {"pathtrace", f"pathtrace-{pathtrace.__version__}.dist-info"}
    assert [n for n in names if n.startswith(("pathtrace/tests", "pathtrace/benchmarks", "pathtrace/docs"))] == []


def test_wheel_holds_every_source_file(wheel: Path) -> None:
    wanted = {f"pathtrace/{path.relative_to(ROOT).as_posix()}" for path in sources()}
    # Its folder is no package: it is what a server gets first on PYTHONPATH.
    wanted.add("pathtrace/instrument/site/sitecustomize.py")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.endswith(".py")}
    assert shipped == wanted


def test_version(run: Run) -> None:
    done = run("pathtrace", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert pathtrace.__version__ in done.stdout


def test_module_help(run: Run) -> None:
    done = run("python", "-m", "pathtrace", "check", "--help")
    assert done.returncode == 0, done.stderr
    assert "--sglang" in done.stdout


def test_check_of_a_real_release(run: Run) -> None:
    machine = ("--assume", "sm=90", "--assume", "gpus=8", "--assume", "gpu_memory_mib=81559")
    spec = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", str(DRAFT.parent))
    sizes = (
        *("--speculative-num-steps", "3", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", "4"),
    )
    launch = ("python", "-m", "sglang.launch_server", "--model-path", str(LLAMA.parent), *spec, *sizes)
    tree = ("--sglang", str(trees.wheel("0.5.9")))
    done = run("pathtrace", "check", *tree, *machine, "--output-format", "json", "--", *launch)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["outcome"] == "worker"
    assert answer["worker"]["class"] == "EAGLEWorker"
    assert answer["event_loop"] == "synchronous"
