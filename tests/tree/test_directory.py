"""Directories: links, permissions, sizes, and what is no tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pathtrace.tests.tree import made
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree import directory
from pathtrace.tracer.tree.open import open_tree


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return made.directory(tmp_path / "site")


def test_a_link_out_of_the_tree_is_absent(site: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.py").write_text("key")
    (site / "sglang" / "key.py").symlink_to(tmp_path / "secret" / "key.py")
    (site / "sglang" / "secret").symlink_to(tmp_path / "secret")
    (site / "sglang" / "dangling.py").symlink_to("nowhere.py")
    tree = open_tree(str(site))
    assert tree.read("sglang/key.py") is None
    assert tree.read("sglang/secret/key.py") is None
    assert not tree.is_dir("sglang/secret")
    assert tree.listdir("sglang") == ("__init__.py", "srt", "version.py")


def test_a_link_inside_the_tree_is_followed(site: Path) -> None:
    (site / "sglang" / "args.py").symlink_to("srt/server_args.py")
    (site / "sglang" / "spec").symlink_to("srt/speculative")
    tree = open_tree(str(site))
    assert tree.read("sglang/args.py") == made.SOURCES["sglang/srt/server_args.py"]
    assert tree.read("sglang/spec/eagle_worker.py") == made.SOURCES["sglang/srt/speculative/eagle_worker.py"]


def test_a_link_inside_the_repository_is_followed(tmp_path: Path) -> None:
    made.directory(tmp_path / "clone" / "python")
    (tmp_path / "clone" / "shared.py").write_text("shared")
    (tmp_path / "clone" / "python" / "sglang" / "shared.py").symlink_to("../../shared.py")
    assert open_tree(str(tmp_path / "clone")).read("sglang/shared.py") == b"shared"


def test_links_in_a_circle_end(site: Path) -> None:
    (site / "sglang" / "self").symlink_to(".")
    (site / "sglang" / "loop").symlink_to("loop")
    (site / "sglang" / "srt" / "up").symlink_to("../deeper")
    (site / "sglang" / "deeper").mkdir()
    (site / "sglang" / "deeper" / "down").symlink_to("../srt")
    tree = open_tree(str(site))
    assert not tree.is_dir("sglang/self")
    assert not tree.is_dir("sglang/loop")
    assert tree.is_dir("sglang/srt/up")
    assert not tree.is_dir("sglang/srt/up/down")


def test_the_package_may_be_a_link(site: Path, tmp_path: Path) -> None:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "sglang").symlink_to(site / "sglang")
    tree = open_tree(str(tmp_path / "farm"))
    assert tree.read("sglang/version.py") == made.SOURCES["sglang/version.py"]
    assert tree.info.path == str(tmp_path / "farm")


def test_a_pipe_is_absent(site: Path) -> None:
    os.mkfifo(site / "sglang" / "pipe.py")
    tree = open_tree(str(site))
    assert tree.read("sglang/pipe.py") is None
    assert "pipe.py" not in tree.listdir("sglang")


def test_compiled_files_are_hidden(site: Path) -> None:
    made.directory(site, {"sglang/__pycache__/version.cpython-311.pyc": b""})
    assert "__pycache__" not in open_tree(str(site)).listdir("sglang")


def test_a_tree_does_not_change_once_seen(site: Path) -> None:
    tree = open_tree(str(site))
    before = tree.listdir("sglang")
    (site / "sglang" / "new.py").write_text("")
    assert tree.listdir("sglang") == before
    assert tree.read("sglang/new.py") is None
    (site / "sglang" / "version.py").unlink()
    assert tree.read("sglang/version.py") is None


def test_too_large(site: Path) -> None:
    with open(site / "sglang" / "large.py", "wb") as stream:
        stream.truncate(32 * 1024 * 1024 + 1)
    with pytest.raises(BadInput, match=r"sglang/large\.py: file over 32 MB"):
        open_tree(str(site)).read("sglang/large.py")


def test_no_permission_to_list(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = open_tree(str(site))

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(directory.os, "scandir", refuse)
    with pytest.raises(BadInput, match="sglang/srt: cannot list this folder .*Permission denied"):
        tree.read("sglang/srt/server_args.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("closed", ["site", "site/sglang", "site/sglang/version.py"])
def test_no_permission(closed: str, site: Path, tmp_path: Path) -> None:
    (tmp_path / closed).chmod(0)
    try:
        with pytest.raises(BadInput, match=r"permission|Permission"):
            open_tree(str(site))
    finally:
        (tmp_path / closed).chmod(0o755)


def test_no_tree(tmp_path: Path) -> None:
    made.directory(tmp_path, {"sglang/readme.md": b"", "srt/x.py": b""})
    with pytest.raises(BadInput, match="not an SGLang tree: .*; give a repository") as caught:
        open_tree(str(tmp_path))
    assert str(caught.value).startswith(f"{tmp_path}: ")


def test_the_folder_around_a_repository(tmp_path: Path) -> None:
    made.directory(tmp_path / "sglang" / "python")
    with pytest.raises(BadInput, match=r"a repository lies in .*sglang\)"):
        open_tree(str(tmp_path))


@pytest.mark.parametrize(
    ("beside", "version"),
    [
        ({}, None),
        ({"sglang-0.7.dist-info/METADATA": b"Metadata-Version: 2.1\nVersion: 0.7\n\nVersion: 9\n"}, "0.7"),
        ({"sglang.egg-info/PKG-INFO": b"Version: 0.6.dev1\n"}, "0.6.dev1"),
        ({"sglang-0.7.dist-info/METADATA": b"Name: sglang\n\nVersion: 9\n"}, None),
        ({"sglang/_version.py": b"__version__ = version = '0.8'\n"}, "0.8"),
        ({"sglang/_version.py": b"__version__: str\n__version__: str = '0.8'\n"}, "0.8"),
        ({"sglang/_version.py": b"__version__ = (\n"}, None),
        ({"sglang/_version.py": b"__version__ = '0.8' + x\n"}, None),
        ({"sglang/version.py": b"__version__ = '0.5'\n", "sglang/_version.py": b"__version__ = '0.8'"}, "0.5"),
        ({"sglang/version.py": b"\xff\x00"}, None),
    ],
)
def test_the_version_a_tree_states(beside: dict[str, bytes], version: str | None, tmp_path: Path) -> None:
    computed = (
        b"try:\n    from sglang._version import __version__\nexcept ImportError:\n    __version__ = '0.0.0.dev0'\n"
    )
    made.directory(tmp_path, {**made.SOURCES, "sglang/version.py": computed, **beside})
    assert open_tree(str(tmp_path)).info.version == version
