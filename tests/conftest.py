"""Fixtures for every test: real SGLang trees."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

from pathtrace.tests import trees

if TYPE_CHECKING:
    from pathtrace.tracer.tree.model import Tree

# `make test` runs the first, the same examples every time; `make fuzz` runs the second, new ones.
# No deadline: the first example reads a tree. No explaining: it traces every line of an evaluation, which
# takes minutes and more stack than there is.
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)
settings.register_profile("test", max_examples=300, deadline=None, derandomize=True, phases=PHASES)
settings.register_profile("fuzz", max_examples=10_000, deadline=None, phases=PHASES)
settings.load_profile("test")


@pytest.fixture(autouse=True)
def patient_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for changes stops after seconds, for whoever waits; what it finds here must not hang on them."""
    monkeypatch.setattr("pathtrace.tracer.changes.MOST_SECONDS", 600.0)
    monkeypatch.setattr("pathtrace.tracer.changes.MOST_SECONDS_TO_EXPECTED", 600.0)


@pytest.fixture(scope="session")
def tree() -> Callable[[str], Tree]:
    """``tree("0.5.9")``: a pinned release, opened once for the whole run."""

    @functools.cache
    def opened(release: str) -> Tree:
        from pathtrace.tracer.tree.open import open_tree

        return open_tree(str(trees.wheel(release)))

    return opened


@pytest.fixture
def mutable_tree(tmp_path: Path) -> Callable[[str], Path]:
    """``mutable_tree("0.5.9")``: a folder of the test's own with the release's Python files."""

    def extracted(release: str) -> Path:
        return trees.mutable_tree(release, tmp_path / f"sglang-{release}")

    return extracted
