"""One tree, five forms: every form gives the same files, folders and version."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pathtrace.tests.tree import made
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import has_speculative, open_tree

Make = Callable[[Path], str]


def as_holder(folder: Path) -> str:
    return str(made.directory(folder / "site"))


def as_package(folder: Path) -> str:
    return str(made.directory(folder / "site") / "sglang")


def as_renamed_package(folder: Path) -> str:
    return str((made.directory(folder / "site") / "sglang").rename(folder / "my-fork"))


def as_repository_folder(folder: Path) -> str:
    made.directory(folder / "clone" / "python")
    return str(folder / "clone")


def as_wheel(folder: Path) -> str:
    return str(made.wheel(folder / "sglang-0.9.1-py3-none-any.whl"))


def as_git(folder: Path) -> str:
    return f"{made.repository(folder / 'repository')}@HEAD"


def as_git_holder(folder: Path) -> str:
    return f"{made.repository(folder / 'repository') / 'python'}@main"


def as_git_package(folder: Path) -> str:
    return f"{made.repository(folder / 'repository') / 'python' / 'sglang'}@main"


def as_git_flat(folder: Path) -> str:
    return f"{made.repository(folder / 'repository', below='.')}@main"


FORMS = [
    pytest.param(as_holder, "directory", id="holder"),
    pytest.param(as_package, "directory", id="package"),
    pytest.param(as_renamed_package, "directory", id="renamed-package"),
    pytest.param(as_repository_folder, "directory", id="repository"),
    pytest.param(as_wheel, "wheel", id="wheel"),
    pytest.param(as_git, "git", id="git"),
    pytest.param(as_git_holder, "git", id="git-holder"),
    pytest.param(as_git_package, "git", id="git-package"),
    pytest.param(as_git_flat, "git", id="git-flat"),
]


def walk(tree: Tree, folder: str = "") -> dict[str, bytes]:
    files = {}
    for name in tree.listdir(folder):
        path = f"{folder}/{name}" if folder else name
        content = tree.read(path)
        if content is None:
            assert tree.is_dir(path), path
            files |= walk(tree, path)
        else:
            assert not tree.is_dir(path), path
            files[path] = content
    return files


@pytest.mark.parametrize(("make", "kind"), FORMS)
def test_every_form_gives_the_same(make: Make, kind: str, tmp_path: Path) -> None:
    given = make(tmp_path)
    tree = open_tree(given)
    assert walk(tree) == made.SOURCES
    assert (tree.info.given, tree.info.kind, tree.info.version) == (given, kind, "0.9.1")
    assert tree.listdir("sglang/srt") == ("__init__.py", "server_args.py", "speculative")
    assert has_speculative(tree)


@pytest.mark.parametrize(("make", "kind"), FORMS)
@pytest.mark.parametrize(
    "path",
    [
        "sglang/nothing.py",
        "sglang/srt/server_args.py/more",
        "sglang/../sglang/version.py",
        "sglang/./version.py",
        "sglang//version.py",
        "../sglang/version.py",
        "/sglang/version.py",
        "/",
        "//",
        "..",
        ".",
        "sglang\\version.py",
        "sglang/version.py\0",
        "sglang/\udce9.py",
        "sglangx/version.py",
        "pyproject.toml",
    ],
)
def test_other_paths_name_nothing(make: Make, kind: str, path: str, tmp_path: Path) -> None:
    tree = open_tree(make(tmp_path))
    assert tree.read(path) is None
    assert not tree.is_dir(path)
    assert tree.listdir(path) == ()


@pytest.mark.parametrize(("make", "kind"), FORMS)
def test_a_folder_is_no_file(make: Make, kind: str, tmp_path: Path) -> None:
    tree = open_tree(make(tmp_path))
    assert tree.is_dir("") and tree.is_dir("sglang") and tree.is_dir("sglang/srt/")
    assert tree.read("") is None and tree.read("sglang/srt") is None
    assert tree.listdir("") == ("sglang",)


@pytest.mark.parametrize(("make", "kind"), FORMS)
def test_no_speculative_decoding(make: Make, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in made.SOURCES if "speculative" in name]:
        monkeypatch.delitem(made.SOURCES, name)
    assert not has_speculative(open_tree(make(tmp_path)))


@pytest.mark.parametrize(("make", "kind"), FORMS)
def test_nothing_of_the_tree_is_imported(make: Make, kind: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathtrace.tracer.tree.open import open_tree\n"
        "def heard(event, details):\n"
        "    if event == 'exec' and 'sglang' in details[0].co_filename:\n"
        "        raise RuntimeError(details[0].co_filename)\n"
        "    if event == 'import' and details[0].partition('.')[0] == 'sglang':\n"
        "        raise RuntimeError(details[0])\n"
        "sys.addaudithook(heard)\n"
        "tree = open_tree(sys.argv[1])\n"
        "tree.read('sglang/srt/server_args.py')\n"
        "assert not any(name.partition('.')[0] == 'sglang' for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, make(tmp_path)], check=True)
