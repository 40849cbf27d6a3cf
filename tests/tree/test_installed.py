"""The installed tree: found as the interpreter would, without importing it."""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from pathtrace.tests.tree import made
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.open import open_tree


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment without pip and without sglang."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    return folder


@pytest.fixture
def python(environment: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return str(environment / "bin" / "python")


@pytest.fixture
def packages(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))


def test_not_installed(python: str) -> None:
    with pytest.raises(BadInput, match=r"has no sglang installed; .*--sglang TREE.*--python"):
        open_tree("installed", python=python)


def test_on_pythonpath(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(made.directory(tmp_path)))
    tree = open_tree("installed", python=python)
    assert tree.read("sglang/srt/server_args.py") == made.SOURCES["sglang/srt/server_args.py"]
    assert (tree.info.kind, tree.info.path, tree.info.version) == ("installed", str(tmp_path), "0.9.1")


def test_this_interpreter_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(made.directory(tmp_path)))
    assert open_tree("installed").info.path == str(tmp_path)


def test_a_wheel_on_pythonpath(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(made.wheel(tmp_path / "sglang.whl")))
    tree = open_tree("installed", python=python)
    assert (tree.info.kind, tree.read("sglang/version.py")) == ("installed", made.SOURCES["sglang/version.py"])


def test_editable_by_path_file(python: str, packages: Path, tmp_path: Path) -> None:
    made.directory(tmp_path)
    note = packages / "editable.pth"
    note.write_text(f"{tmp_path}\n")
    try:
        assert open_tree("installed", python=python).info.path == str(tmp_path)
    finally:
        note.unlink()


def test_editable_by_finder(python: str, packages: Path, tmp_path: Path) -> None:
    made.directory(tmp_path)
    finder = packages / "sglang_finder.py"
    finder.write_text(
        "import sys\nfrom importlib.util import spec_from_file_location\n"
        "class Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n"
        f"        return spec_from_file_location(name, {str(tmp_path / 'sglang' / '__init__.py')!r})"
        " if name == 'sglang' else None\n"
        "sys.meta_path.append(Finder)\n"
    )
    note = packages / "editable.pth"
    note.write_text("import sglang_finder\n")
    try:
        assert open_tree("installed", python=python).info.path == str(tmp_path)
    finally:
        note.unlink()
        finder.unlink()


def test_files_linked_from_a_store(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.directory(tmp_path / "store")
    for name in made.SOURCES:
        link = tmp_path / "site" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(tmp_path / "store" / name)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    tree = open_tree("installed", python=python)
    assert {name: tree.read(name) for name in made.SOURCES} == made.SOURCES


def test_the_current_folder_does_not_count(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.directory(tmp_path)
    (tmp_path / "json.py").write_bytes(made.BOOBY_TRAP)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="has no sglang installed"):
        open_tree("installed", python=python)


def test_half_a_package(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.directory(tmp_path, {"sglang/readme.md": b""})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"finds sglang in .*, which lacks srt/ or __init__\.py"):
        open_tree("installed", python=python)


def test_noise_on_the_way(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.directory(tmp_path, {**made.SOURCES, "sitecustomize.py": b"print('hello')\n"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert open_tree("installed", python=python).info.path == str(tmp_path)


def test_no_such_interpreter() -> None:
    with pytest.raises(BadInput, match="no such interpreter"):
        open_tree("installed", python="python-of-nobody")


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(BadInput, match="did not say where sglang is: no such luck"):
        open_tree("installed", python=str(script))


def test_python_by_name(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(python).parent))
    with pytest.raises(BadInput, match=f"^installed: {python} has no sglang"):
        open_tree("installed", python="python")
    assert sys.executable != python
