"""What the inputs do not decide must not come out decided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.eval import machine
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

MODELS = Path(__file__).parent.parent / "conformance" / "models"
WORDS = ("--model-path", "some/model", "--speculative-algorithm", "EAGLE")


def ask(tree: Tree, variable: str | None, model: str | None) -> Answer:
    launch = parse_launch(WORDS)
    env = [] if variable is None else [f"SGLANG_ENABLE_SPEC_V2={variable}"]
    config = None if model is None else str(MODELS / model / "config.json")
    environment = merge_environment(launch, env, None, None)
    return check(CheckRequest(tree, launch, environment, config, changes=False, cache=False))


@pytest.mark.parametrize("variable", [None, "0", "1"])
def test_a_hook_that_may_set_the_variable_leaves_the_class_open(
    variable: str | None, tree: Callable[[str], Tree]
) -> None:
    # server_args.py of this release: a MiMo model sets the variable and turns multi-layer on.
    answer = ask(tree("0.5.9"), variable, None)
    assert answer.outcome == "undecided"
    found = {each.worker.cls for each in answer.alternatives if each.worker is not None}
    assert "MultiLayerEagleWorkerV2" in found
    assert found & {"EAGLEWorker", "EAGLEWorkerV2"}
    assert any("--model-config" in supply for each in answer.alternatives for supply in each.when.supply)


def test_with_the_config_it_is_decided(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), "0", "mimo_v2")
    assert answer.worker is not None
    assert (answer.worker.cls, answer.event_loop) == ("MultiLayerEagleWorkerV2", "overlap")


@pytest.mark.parametrize("release", ["0.5.18", pytest.param("0.5.23", marks=pytest.mark.slow)])
def test_with_nothing_given_but_the_launch_there_is_an_answer(release: str, tree: Callable[[str], Tree]) -> None:
    """What a first try looks like: neither a config nor a fact, and everything hangs on both."""
    answer = ask(tree(release), None, None)
    assert answer.outcome == "undecided" and not any("stopped" in note for note in answer.notes)
    # Both releases: EAGLEWorkerV2, and for a MiMo model (arg_groups: _mimo_v2_overrides) the multi-layer one.
    found = {each.worker.cls for each in answer.alternatives if each.worker is not None}
    assert {"EAGLEWorkerV2", "MultiLayerEagleWorkerV2"} <= found
    assert "--model-config FILE" in {supply for each in answer.alternatives for supply in each.when.supply}


def test_an_evaluation_that_is_too_long_ends_in_an_answer(tree: Callable[[str], Tree]) -> None:
    with mock.patch.object(machine, "MOST_STEPS", 1_000):
        answer = ask(tree("0.5.3"), None, "llama")
    assert answer.outcome == "undecided" and any("stopped" in note for note in answer.notes)
