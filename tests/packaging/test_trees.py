"""The pinned releases: fetched whole, checked on every use."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pathtrace.tests import trees

if TYPE_CHECKING:
    from pathtrace.tracer.tree.model import Tree


@pytest.mark.parametrize("release", trees.PINNED)
def test_pinned_release_can_be_read(release: str, tree: Callable[[str], Tree]) -> None:
    assert tree(release).info.version == release
    assert tree(release).read("sglang/srt/server_args.py")


def test_another_wheel_under_the_pinned_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(trees.PINNED, "0.4.0", "0" * 64)
    with pytest.raises(pytest.fail.Exception, match="not the wheel that the tests were written for"):
        trees.wheel("0.4.0")


def test_mutable_tree_is_the_test_s_own(mutable_tree: Callable[[str], Path]) -> None:
    root = mutable_tree("0.5.9")
    files = [path for path in root.rglob("*") if path.is_file()]
    assert root / "sglang" / "srt" / "server_args.py" in files
    assert [path for path in files if path.suffix != ".py"] == []
    assert re.search(r"0\.5\.9", (root / "sglang" / "_version.py").read_text("utf-8"))
