"""Variables that something sets which is not read leave open what hangs on them, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, LLAMA, MACHINE
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.model import Launch, Unseen
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

EAGLE3 = (
    *("--model-path", "m", "--speculative-draft-model-path", "d", "--speculative-algorithm", "EAGLE3"),
    *("--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)
CONFIG_MAP = Unseen(("the ConfigMap serving-env",))
UNIT_FILE = Unseen(("the file /etc/default/sglang",), replaces=True)
ON = {"SGLANG_ENABLE_SPEC_V2": "1"}


def ask(tree: Tree, launch: Launch, env: tuple[str, ...] = (), inherited: Mapping[str, str] | None = None) -> Answer:
    environment = merge_environment(launch, env, None, inherited)
    request = CheckRequest(tree, launch, environment, LLAMA, EAGLE3_DRAFT, MACHINE)
    return check(replace(request, cache=False, changes=False))


def launch(unseen: Unseen | None = None, env: Mapping[str, str] | None = None) -> Launch:
    return replace(parse_launch(EAGLE3), unseen=unseen, env=env or {}, outside="given")


def workers(answer: Answer) -> set[str]:
    """The classes that are possible."""
    if answer.worker is not None:
        return {answer.worker.cls}
    return {each.worker.cls for each in answer.alternatives if each.worker is not None}


BOTH = {"EAGLEWorker", "EAGLEWorkerV2"}


@pytest.mark.parametrize(
    ("unseen", "env", "given", "possible"),
    [
        (None, {}, (), {"EAGLEWorker"}),
        # server_args.py:2368 of 0.5.9 asks for the variable.
        (CONFIG_MAP, {}, (), BOTH),
        (CONFIG_MAP, {}, ("SGLANG_ENABLE_SPEC_V2=1",), {"EAGLEWorkerV2"}),
        # A container's own variables win over those that it takes from elsewhere; a unit's file wins over the unit.
        (CONFIG_MAP, ON, (), {"EAGLEWorkerV2"}),
        (UNIT_FILE, ON, (), BOTH),
    ],
)
def test_the_variable_that_decides(
    unseen: Unseen | None,
    env: Mapping[str, str],
    given: tuple[str, ...],
    possible: set[str],
    tree: Callable[[str], Tree],
) -> None:
    assert workers(ask(tree("0.5.9"), launch(unseen, env), given)) == possible


def test_a_refusal_that_hangs_on_such_a_variable_is_a_possible_result(tree: Callable[[str], Tree]) -> None:
    """server_args.py:2380 of 0.5.9 refuses a topk of 4 where the variable is set."""
    topk_4 = [{"1": "4", "4": "8"}.get(word, word) if at > 7 else word for at, word in enumerate(EAGLE3)]
    answer = ask(tree("0.5.9"), replace(parse_launch(topk_4), unseen=CONFIG_MAP, outside="given"))
    assert answer.outcome == "undecided"
    assert {each.outcome for each in answer.alternatives} == {"worker", "refused"}
    assert workers(answer) == {"EAGLEWorker"}


def test_the_answer_says_what_to_give_and_who_may_set_it(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), launch(CONFIG_MAP))
    assert {name for each in answer.alternatives for name in each.when.supply} == {"--env SGLANG_ENABLE_SPEC_V2=..."}
    assert any("the ConfigMap serving-env" in note and "SGLANG_ENABLE_SPEC_V2" in note for note in answer.notes)


def test_a_release_that_asks_for_no_variable_is_decided(tree: Callable[[str], Tree]) -> None:
    """0.5.14 has nothing but the newer worker for EAGLE3."""
    assert workers(ask(tree("0.5.14"), launch(CONFIG_MAP))) == {"EAGLEWorkerV2"}


@pytest.mark.parametrize(("inherited", "possible"), [(None, BOTH), ({}, {"EAGLEWorker"}), (ON, {"EAGLEWorkerV2"})])
def test_a_variable_of_the_caller_that_is_passed_on(
    inherited: Mapping[str, str] | None, possible: set[str], tree: Callable[[str], Tree]
) -> None:
    passing = replace(launch(), forwarded=frozenset(ON))
    assert workers(ask(tree("0.5.9"), passing, inherited=inherited)) == possible
