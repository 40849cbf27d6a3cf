"""What a given name means, and the sentence for one that means nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tests.tree import made
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.open import open_tree
from pathtrace.tracer.tree.paths import within


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "no tree named"),
        ("  ", "no tree named"),
        ("a\0b", "no tree named"),
        ("nothing-here", "nothing-here: no such directory, wheel or release"),
        ("nothing-here.whl", "no such directory, wheel or release"),
        ("nothing/here@main", "no directory before the @"),
        (os.devnull, "neither a directory nor a file"),
        ("x" * 5000, "no such directory"),
    ],
)
def test_means_nothing(name: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        open_tree(name)


def test_what_exists_wins_over_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.directory(tmp_path / "0.5.9")
    assert open_tree("0.5.9").info.kind == "directory"


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    made.repository(tmp_path / "clone")
    assert open_tree("~/clone").info.path == str(tmp_path / "clone" / "python")
    assert open_tree("~/clone@main").info.kind == "git"


def test_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.directory(tmp_path))
    tree = open_tree(".")
    monkeypatch.chdir("/")
    assert tree.info.path == str(tmp_path)
    assert tree.read("sglang/srt/server_args.py") == made.SOURCES["sglang/srt/server_args.py"]


@given(st.text("sglanx/.\\\0é", max_size=20) | st.text(max_size=10).map("sglang/".__add__))
def test_paths_never_lead_out(path: str) -> None:
    clean = within(path)
    if clean:
        assert clean.split("/")[0] == "sglang"
        assert not {"", ".", ".."} & set(clean.split("/"))
        assert within(clean) == clean
