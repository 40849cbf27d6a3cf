"""Releases: pip's stand-in serves made-up wheels; one test downloads a real one."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pathtrace.tests.tree import made
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.open import open_tree
from pathtrace.tracer.tree.release import release_version

# `python -m pip` finds this one first. It logs its arguments, then does what `mode` says.
STAND_IN = """
import pathlib, shutil, sys
here = pathlib.Path(__file__).parent.parent
with open(here / "log", "a") as log:
    print(*sys.argv[1:], file=log)
mode = (here / "mode").read_text()
folder = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
version = sys.argv[-1].removeprefix("sglang==")
if mode == "serve" or mode == "foreign" and "3.12" in sys.argv:
    shutil.copy(here / "served.whl", folder / f"sglang-{version}-py3-none-any.whl")
elif mode == "offline":
    print("WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError'", file=sys.stderr)
    sys.exit("ERROR: No matching distribution found for sglang==" + version)
elif mode == "missing":
    sys.exit("/some/python: No module named pip")
else:
    print("ERROR: Could not find a version that satisfies it (from versions: 0.1, 0.2.post1)", file=sys.stderr)
    sys.exit("ERROR: No matching distribution found for sglang==" + version)
"""


class Pip:
    """The stand-in: what it serves, what it is to do, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        made.directory(folder, {"pip/__init__.py": b"", "pip/__main__.py": STAND_IN.encode()})
        made.wheel(folder / "served.whl")
        self.mode("serve")

    def mode(self, mode: str) -> None:
        (self.folder / "mode").write_text(mode)

    def asked(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATHTRACE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "wheels"


@pytest.fixture
def pip(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "pip"))
    return Pip(tmp_path / "pip")


def test_fetched_once(pip: Pip, cache: Path) -> None:
    said: list[str] = []
    for _ in range(3):
        tree = open_tree("0.9.1", say=said.append)
        assert tree.read("sglang/version.py") == made.SOURCES["sglang/version.py"]
    wheel = cache / "sglang-0.9.1-py3-none-any.whl"
    assert (tree.info.kind, tree.info.given, tree.info.path) == ("release", "0.9.1", str(wheel))
    assert len(pip.asked()) == 1
    assert "--no-deps --only-binary=:all:" in pip.asked()[0]
    assert len(said) == 1 and "fetching sglang 0.9.1" in said[0]
    record = json.loads((cache / "sglang-0.9.1.json").read_text())
    assert record["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert sorted(file.name for file in cache.iterdir()) == ["sglang-0.9.1-py3-none-any.whl", "sglang-0.9.1.json"]


def test_by_default_the_user_hears_on_stderr(pip: Pip, capsys: pytest.CaptureFixture[str]) -> None:
    open_tree("0.9.1")
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("pathtrace: fetching sglang 0.9.1")


def test_a_changed_file_is_fetched_again(pip: Pip, cache: Path) -> None:
    open_tree("0.9.1", say=str)
    wheel = made.wheel(cache / "sglang-0.9.1-py3-none-any.whl", {**made.SOURCES, "sglang/evil.py": b""})
    said: list[str] = []
    tree = open_tree("0.9.1", say=said.append)
    assert tree.read("sglang/evil.py") is None
    assert wheel.read_bytes() == (pip.folder / "served.whl").read_bytes()
    assert "is not the file that was fetched" in said[0]


def test_an_index_that_changes_its_mind(pip: Pip, cache: Path) -> None:
    open_tree("0.9.1", say=str)
    (cache / "sglang-0.9.1-py3-none-any.whl").unlink()
    made.wheel(pip.folder / "served.whl", {**made.SOURCES, "sglang/new.py": b""})
    said: list[str] = []
    assert open_tree("0.9.1", say=said.append).read("sglang/new.py") == b""
    assert any("now serves another" in sentence for sentence in said)


@pytest.mark.parametrize(
    "record",
    ["", "[]", '{"version": "0.9.1"', '{"version": "0.9.1", "file": "../../x.whl", "sha256": ""}', "\udcff"],
)
def test_a_broken_record_is_replaced(record: str, pip: Pip, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "sglang-0.9.1.json").write_text(record, errors="surrogateescape")
    assert open_tree("0.9.1", say=str).info.kind == "release"
    assert len(pip.asked()) == 1


def test_a_wheel_for_another_interpreter(pip: Pip) -> None:
    pip.mode("foreign")
    assert open_tree("0.9.1", say=str).info.kind == "release"
    plain, first, second = pip.asked()
    assert "--platform" not in plain
    assert "--python-version 3.11 --implementation cp --abi cp311" in first
    assert "--platform manylinux_2_34_x86_64" in first and "--platform any" in first
    assert "--python-version 3.12" in second


def test_unknown_release(pip: Pip, cache: Path) -> None:
    pip.mode("refuse")
    with pytest.raises(
        BadInput,
        match=r"cannot fetch sglang 9\.9: No matching distribution found for sglang==9\.9 "
        r"\(the newest it lists is 0\.2\.post1\); give",
    ):
        open_tree("9.9", say=str)
    assert list(cache.iterdir()) == []


def test_no_network(pip: Pip) -> None:
    pip.mode("offline")
    with pytest.raises(BadInput, match="pip reached no package index"):
        open_tree("0.9.1", say=str)
    assert len(pip.asked()) == 1


def test_no_pip(pip: Pip) -> None:
    pip.mode("missing")
    with pytest.raises(BadInput, match="this environment has no pip .*uv pip install pip"):
        open_tree("0.9.1", say=str)


def test_a_cache_that_cannot_be_written(pip: Pip, cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    with pytest.raises(BadInput, match="cannot write the cache .*; set PATHTRACE_CACHE_DIR"):
        open_tree("0.9.1", say=str)


def test_several_processes_at_once(pip: Pip, cache: Path) -> None:
    code = (
        "from pathtrace.tracer.tree.open import open_tree\n"
        "assert open_tree('0.9.1').read('sglang/version.py') == b'__version__ = \"0.9.1\"\\n'\n"
    )
    root = str(Path(open_tree.__code__.co_filename).parents[3])
    start = f"import sys; sys.path.insert(0, {root!r})\n" if (Path(root) / "pathtrace").exists() else ""
    processes = [subprocess.Popen([sys.executable, "-c", start + code]) for _ in range(6)]
    assert [process.wait(120) for process in processes] == [0] * 6
    assert sorted(file.suffix for file in cache.iterdir()) == [".json", ".whl"]


@pytest.mark.parametrize(
    ("given", "version"),
    [
        ("0.5.9", "0.5.9"),
        ("0.5.12.post1", "0.5.12.post1"),
        ("v0.5.9", "0.5.9"),
        ("0.5.2-rc1", "0.5.2rc1"),
        ("main", None),
        ("version", None),
        ("0.5.9/x", None),
        ("", None),
    ],
)
def test_what_is_a_release(given: str, version: str | None) -> None:
    assert release_version(given) == version


@pytest.mark.network
def test_a_real_release(cache: Path) -> None:
    tree = open_tree("0.4.0", say=str)
    assert (tree.info.kind, tree.info.version) == ("release", "0.4.0")
    assert tree.read("sglang/srt/server_args.py")
    assert not tree.is_dir("sglang/srt/speculative")
