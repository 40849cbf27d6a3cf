"""What is kept of a tree's files: the same reach as without it, and no longer than the files stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pathtrace.tests import trees
from pathtrace.tracer.change import outlines as kept_outlines
from pathtrace.tracer.change.reach import Reach
from pathtrace.tracer.tree.open import open_tree

RELEASE = "0.4.6.post5"
V1 = ("sglang.srt.speculative.eagle_worker", "EAGLEWorker")
INFO = "sglang/srt/speculative/eagle_utils.py"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.mutable_tree(RELEASE, tmp_path_factory.mktemp("pristine"))


@pytest.fixture
def folder(pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATHTRACE_CACHE_DIR", str(tmp_path / "cache"))
    return Path(shutil.copytree(pristine, tmp_path / "tree"))


def reached(folder: Path) -> tuple[object, ...]:
    """As a new process would find it."""
    reach = Reach(open_tree(str(folder)), [V1])
    found = (sorted(reach.workers), sorted(reach.of_loaded), sorted(reach.of_others), sorted(reach.of_server))
    reach.outlines.save()
    return found


def kept_file(tmp_path: Path) -> Path:
    (only,) = (tmp_path / "cache" / "outlines").iterdir()
    return only


def test_the_second_time_nothing_is_parsed_and_the_reach_is_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reached(folder)

    def never(*_given: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(kept_outlines, "outline", never)
    assert reached(folder) == first
    assert V1 in first[0]  # type: ignore[operator]


def test_an_edit_of_same_size_and_time_is_seen(folder: Path) -> None:
    _workers, before, *_rest = reached(folder)
    path = folder / INFO
    status, text = path.stat(), path.read_text("utf-8")
    name = "def generate_token_bitmask("
    assert text.count(name) == 1
    line = text[: text.index(name)].count("\n") + 1
    assert (INFO, line) in before  # type: ignore[operator]
    path.write_text(text.replace(name, name.replace("_bitmask", "_bitm4sk")), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    _workers, after, *_rest = reached(folder)
    assert (INFO, line) not in after  # type: ignore[operator]


def signed(body: bytes) -> bytes:
    return body + hashlib.blake2b(body, digest_size=16).digest()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data.replace(b"EAGLEWorker", b"EAGLEW0rker"),
        lambda data: signed(json.dumps({**json.loads(data[:-16]), "version": "0"}).encode()),
    ],
)
def test_a_damaged_file_or_one_of_another_version_is_as_none(
    damage: Callable[[bytes], bytes], folder: Path, tmp_path: Path
) -> None:
    first = reached(folder)
    place = kept_file(tmp_path)
    place.write_bytes(damage(place.read_bytes()))
    assert reached(folder) == first
