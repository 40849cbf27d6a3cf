"""Wheels: damage, bombs, hostile names, threads and forks."""

from __future__ import annotations

import multiprocessing
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tests.tree import made
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import open_tree


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sglang-0.9.1-py3-none-any.whl"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"<html>not found</html>"])
def test_no_zip(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(BadInput, match="not a wheel, or a broken one"):
        open_tree(str(path))


def test_cut_short(path: Path) -> None:
    whole = made.wheel(path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="broken"):
        open_tree(str(path))


def test_another_package(path: Path) -> None:
    made.wheel(path, {"other/__init__.py": b""})
    with pytest.raises(BadInput, match="not an SGLang wheel"):
        open_tree(str(path))


def test_damaged_entry(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {**made.SOURCES, "sglang/odd.py": b"x = 'to be damaged'"}.items():
            archive.writestr(name, content)
    path.write_bytes(path.read_bytes().replace(b"to be damaged", b"to be DAMAGED"))
    tree = open_tree(str(path))
    assert tree.read("sglang/version.py") is not None
    with pytest.raises(BadInput, match=r"sglang/odd\.py: damaged file"):
        tree.read("sglang/odd.py")


def test_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in made.SOURCES.items():
            archive.writestr(name, content)
        with archive.open("sglang/bomb.py", "w") as stream:
            for _ in range(33):
                stream.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(BadInput, match=r"sglang/bomb\.py: file over 32 MB"):
        open_tree(str(path)).read("sglang/bomb.py")


def test_bomb_that_lies_about_its_size(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in made.SOURCES.items():
            archive.writestr(name, content)
        archive.writestr("sglang/bomb.py", bytes(1_234_567))
    lied = path.read_bytes().replace((1_234_567).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    path.write_bytes(lied)
    with pytest.raises(BadInput, match=r"sglang/bomb\.py: damaged file"):
        open_tree(str(path)).read("sglang/bomb.py")


def test_encrypted_entry(path: Path) -> None:
    made.wheel(path, {**made.SOURCES, "sglang/zz.py": b"x"})
    content = bytearray(path.read_bytes())
    directory = content.rfind(b"PK\x01\x02")  # the last entry's record in the central directory
    content[directory + 8] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(BadInput, match=r"sglang/zz\.py: encrypted"):
        open_tree(str(path)).read("sglang/zz.py")


def test_names_that_lead_out_are_absent(path: Path) -> None:
    bad = {"sglang/../../etc/x.py": b"", "/sglang/y.py": b"", "sglang//z.py": b"", "other/w.py": b""}
    tree = open_tree(str(made.wheel(path, {**made.SOURCES, **bad})))
    assert all(tree.read(name) is None for name in bad)
    assert tree.listdir("") == ("sglang",)
    assert tree.listdir("sglang") == ("__init__.py", "srt", "version.py")


def test_version_from_metadata(path: Path) -> None:
    sources = {name: content for name, content in made.SOURCES.items() if name != "sglang/version.py"}
    sources["sglang-0.9.2.dist-info/METADATA"] = b"Metadata-Version: 2.1\r\nVersion: 0.9.2\r\n\r\n"
    assert open_tree(str(made.wheel(path, sources))).info.version == "0.9.2"


def test_threads(path: Path) -> None:
    sources = {**made.SOURCES, **{f"sglang/m{n}.py": b"%d\n" % n * 5000 for n in range(50)}}
    tree = open_tree(str(made.wheel(path, sources)))
    with ThreadPoolExecutor(8) as pool:
        assert dict(zip(sources, pool.map(tree.read, sources), strict=True)) == sources


def _all_right(tree: Tree, sources: dict[str, bytes]) -> None:
    for _ in range(20):
        assert {name: tree.read(name) for name in sources} == sources


def test_forks(path: Path) -> None:
    sources = {**made.SOURCES, **{f"sglang/m{n}.py": b"%d\n" % n * 5000 for n in range(20)}}
    tree = open_tree(str(made.wheel(path, sources)))
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=_all_right, args=(tree, sources)) for _ in range(4)]
    for child in children:
        child.start()
    _all_right(tree, sources)
    for child in children:
        child.join(60)
        assert child.exitcode == 0


@given(st.data())
def test_mutated_wheels_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.whl"
    content = bytearray(made.wheel(path).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) - 30, len(content) // 2]))])
    try:
        tree = open_tree(str(path))
        for name in made.SOURCES:
            tree.read(name)
        tree.listdir("sglang")
    except BadInput as error:
        assert "\n" not in str(error)
