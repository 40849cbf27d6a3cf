"""What a call or a line from a log does not say is not taken to be the default."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pathtrace.tests.tracer.changed import LLAMA, MACHINE
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

DRAFT = "speculative_draft_model_path='d', speculative_num_steps=3, speculative_eagle_topk=1"


def ask(tree: Tree, text: str) -> Answer:
    launch = parse_launch((text,))
    environment = merge_environment(launch, (), None, None)
    return check(CheckRequest(tree, launch, environment, LLAMA, LLAMA, MACHINE, changes=False, cache=False))


@pytest.mark.parametrize("release", ["0.5.9", "0.5.14"])
def test_a_value_that_is_not_written_out_is_open(release: str, tree: Callable[[str], Tree]) -> None:
    answer = ask(tree(release), f"Engine(model_path='m', speculative_algorithm=chosen, {DRAFT})")
    assert answer.outcome == "undecided"
    assert "speculative_algorithm in the launch" in {word for each in answer.alternatives for word in each.when.supply}


def test_one_that_decides_nothing_leaves_the_answer(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), f"Engine(model_path='m', speculative_algorithm='EAGLE', {DRAFT}, port=free_port())")
    assert answer.worker is not None and answer.worker.cls == "EAGLEWorker"


@pytest.mark.parametrize(
    "text",
    [
        "Engine(model_path='m', **options)",
        "Engine(*words, model_path='m')",
        "server_args=ServerArgs(model_path='m', ..., page_size=1)",
        "server_args=ServerArgs(model_path='m', tp_si",
        "server_args=ServerArgs(model_path='m', tp_size=1",
    ],
)
def test_arguments_that_are_left_out_are_asked_for(text: str, tree: Callable[[str], Tree]) -> None:
    with pytest.raises(BadInput, match="leaves arguments out"):
        ask(tree("0.5.9"), text)
