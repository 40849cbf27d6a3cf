"""Git revisions: what is read, what is refused, and that git runs nothing."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from pathtrace.tests.tree import made
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.git import split_revision
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import open_tree

VERSION = "sglang/version.py"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return made.repository(tmp_path / "clone")


def test_a_revision_not_the_folder(clone: Path) -> None:
    first = made.git(clone, "rev-parse", "HEAD")
    made.git(clone, "tag", "old")
    (clone / "python" / VERSION).write_text("__version__ = '2'\n")
    made.commit(clone, "second")
    (clone / "python" / VERSION).write_text("__version__ = 'not committed'\n")
    for revision, version in {"old": "0.9.1", first[:10]: "0.9.1", "HEAD~1": "0.9.1", "main": "2", "@": "2"}.items():
        assert open_tree(f"{clone}@{revision}").info.version == version
    assert open_tree(f"{clone}@old").info.path == f"{clone}@{first}"
    assert open_tree(str(clone)).info.version == "not committed"


def test_bare_repository(clone: Path, tmp_path: Path) -> None:
    made.git(tmp_path, "clone", "--quiet", "--bare", str(clone), "bare.git")
    assert open_tree(f"{tmp_path / 'bare.git'}@main").read(VERSION) == made.SOURCES[VERSION]


def test_worktree(clone: Path, tmp_path: Path) -> None:
    made.git(clone, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    assert open_tree(f"{tmp_path / 'side'}@side").read(VERSION) == made.SOURCES[VERSION]


def test_an_at_sign_in_a_folder_name(tmp_path: Path) -> None:
    made.directory(tmp_path / "tree@main")
    assert open_tree(str(tmp_path / "tree@main")).info.kind == "directory"
    made.repository(tmp_path / "repo@2")
    (tmp_path / "repo").mkdir()
    assert open_tree(f"{tmp_path / 'repo@2'}@main").info.kind == "git"


def test_split(tmp_path: Path) -> None:
    (tmp_path / "a@b").mkdir()
    (tmp_path / "a").mkdir()
    assert split_revision(f"{tmp_path}/a@b@c") == (f"{tmp_path}/a@b", "c")
    assert split_revision(f"{tmp_path}/a@stash@{{0}}") == (f"{tmp_path}/a", "stash@{0}")
    assert split_revision(f"{tmp_path}/none@c") is None
    assert split_revision("@c") is None


@pytest.mark.parametrize(
    ("revision", "sentence"),
    [
        ("", "no git revision after the @"),
        ("--output=x", "no git revision after the @"),
        ("nothing", "no revision 'nothing'"),
        ("HEAD:python", "no revision"),
        ("a b", "no revision"),
    ],
)
def test_no_such_revision(revision: str, sentence: str, clone: Path) -> None:
    with pytest.raises(BadInput, match=sentence):
        open_tree(f"{clone}@{revision}")


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="git cannot read this repository: not a git repository"):
        open_tree(f"{tmp_path}@main")


def test_no_tree_in_it(tmp_path: Path) -> None:
    made.repository(tmp_path, sources={"other/x.py": b""})
    with pytest.raises(BadInput, match="not an SGLang tree"):
        open_tree(f"{tmp_path}@main")


def test_no_git(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadInput, match="git is not installed"):
        open_tree(f"{clone}@main")


def test_inside_a_hook_of_another_repository(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.repository(tmp_path / "mine", sources={"x": b""})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "mine" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "mine" / ".git" / "index"))
    assert open_tree(f"{clone}@main").read(VERSION) == made.SOURCES[VERSION]


def test_nothing_in_the_repository_runs(clone: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    (clone / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    made.commit(clone, "attributes")
    for key in ("filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "core.fsmonitor", "core.pager"):
        made.git(clone, "config", key, str(script))
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (clone / ".git" / "hooks").mkdir(exist_ok=True)
        (clone / ".git" / "hooks" / hook).symlink_to(script)
    before = {file: file.stat().st_mtime_ns for file in clone.rglob("*")}
    tree = open_tree(f"{clone}@main")
    assert tree.read(VERSION) == made.SOURCES[VERSION]
    assert not ran.exists()
    assert {file: file.stat().st_mtime_ns for file in clone.rglob("*")} == before


def test_a_partial_clone_is_not_fetched(clone: Path, tmp_path: Path) -> None:
    made.git(clone, "config", "uploadpack.allowFilter", "true")
    made.git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", f"file://{clone}", "partial")
    with pytest.raises(BadInput, match=r"sglang/version\.py: git in .* does not hold this file's contents"):
        open_tree(f"{tmp_path / 'partial'}@main")


def test_links(clone: Path) -> None:
    package = clone / "python" / "sglang"
    (clone / "shared.py").write_text("shared")
    (package / "shared.py").symlink_to("../../shared.py")
    (package / "again.py").symlink_to("shared.py")
    (package / "spec").symlink_to("srt/speculative")
    (package / "out.py").symlink_to("../../../outside.py")
    (package / "absolute.py").symlink_to("/etc/hostname")
    (package / "self").symlink_to(".")
    (package / "loop.py").symlink_to("loop.py")
    made.commit(clone, "links")
    tree = open_tree(f"{clone}@main")
    assert tree.read("sglang/shared.py") == tree.read("sglang/again.py") == b"shared"
    assert tree.listdir("sglang/spec") == ("__init__.py", "eagle_worker.py")
    assert tree.read("sglang/spec/eagle_worker.py") == made.SOURCES["sglang/srt/speculative/eagle_worker.py"]
    assert tree.listdir("sglang") == ("__init__.py", "again.py", "shared.py", "spec", "srt", "version.py")


def test_too_large(clone: Path) -> None:
    with open(clone / "python" / "sglang" / "large.py", "wb") as stream:
        stream.truncate(32 * 1024 * 1024 + 1)
    made.commit(clone, "large")
    tree = open_tree(f"{clone}@main")
    with pytest.raises(BadInput, match=r"sglang/large\.py: file over 32 MB"):
        tree.read("sglang/large.py")
    assert tree.read(VERSION) == made.SOURCES[VERSION]


def _all_right(tree: Tree) -> None:
    for _ in range(50):
        assert {name: tree.read(name) for name in made.SOURCES} == made.SOURCES


def test_forks(clone: Path) -> None:
    tree = open_tree(f"{clone}@main")
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=_all_right, args=(tree,)) for _ in range(3)]
    for child in children:
        child.start()
    _all_right(tree)
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    _all_right(tree)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts children in /proc")
def test_git_ends_with_the_tree(clone: Path) -> None:
    def children() -> set[str]:
        return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}

    before = children()
    tree = open_tree(f"{clone}@main")
    tree.read(VERSION)
    assert children() - before
    del tree
    assert not children() - before
