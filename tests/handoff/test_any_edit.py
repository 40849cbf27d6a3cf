"""Any edit of a worker's source ends in a hand-off or in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from pathtrace.tests.tracer.changed import ChangedTree
from pathtrace.tests.tracer.test_any_input import EDITS, at_most, edited, share
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.handoff.find import find_handoff
from pathtrace.tracer.handoff.model import Handoff
from pathtrace.tracer.tree.model import Tree

MODULE = "sglang.srt.speculative.eagle_worker_v2"
FILE = MODULE.replace(".", "/") + ".py"
SECONDS = 60


def outcome(tree: Tree) -> Handoff | str:
    with at_most(SECONDS):
        try:
            return find_handoff(tree, MODULE, "EAGLEWorkerV2")
        except BadInput as error:
            assert str(error) and "\n" not in str(error).strip()
            return str(error)


@share(10)
@given(edits=EDITS)
def test_any_edit_of_a_worker(edits: list[tuple[Any, ...]], tree: Callable[[str], Tree]) -> None:
    opened = tree("0.5.4")
    data = opened.read(FILE)
    assert data is not None
    outcome(ChangedTree(opened, {FILE: edited(data, edits)}))


STEP = "class EAGLEWorkerV2:\n    def forward_batch_generation(self, batch):\n        "


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class EAGLEWorkerV2(\n", "no class EAGLEWorkerV2"),
        ("", "no class EAGLEWorkerV2"),
        ("class EAGLEWorkerV2(EAGLEWorkerV2):\n    pass\n", "no step that a scheduler calls"),
        ("class EAGLEWorkerV2:\n    def forward_batch_generation():\n        pass\n", ""),
        (f"{STEP}return {'(' * 60}1{')' * 60}\n", ""),
        (f"{STEP}return batch{'.x' * 900}\n", ""),
        (f"{STEP}return self.forward_batch_generation(self)\n", ""),
        (f"{STEP}while True:\n            batch.spec_info = batch\n", ""),
    ],
)
def test_a_hostile_worker_ends(text: str, says: str, tree: Callable[[str], Tree]) -> None:
    found = outcome(ChangedTree(tree("0.5.4"), {FILE: text.encode()}))
    assert isinstance(found, str) is bool(says)
    assert says in str(found)
