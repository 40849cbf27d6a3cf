"""What would change an answer, and what gives the class that is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, LLAMA, MACHINE
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

PATHS = ("--model-path", "m", "--speculative-draft-model-path", "d")
STEPS = ("--speculative-num-steps", "3", "--speculative-num-draft-tokens", "4")
TOPK_1 = ("--speculative-eagle-topk", "1")
TOPK_4 = ("--speculative-eagle-topk", "4", "--speculative-num-steps", "3", "--speculative-num-draft-tokens", "8")
EAGLE3 = ("--speculative-algorithm", "EAGLE3")


def ask(tree: Tree, *words: str, expect: str | None = None, env: tuple[str, ...] = ()) -> Answer:
    launch = parse_launch((*PATHS, *words))
    request = CheckRequest(tree, launch, merge_environment(launch, env, None, None), LLAMA, EAGLE3_DRAFT, MACHINE)
    return check(replace(request, expect=expect, cache=False))


def changes(answer: Answer) -> dict[str, str]:
    return {" and ".join(each.edits): each.worker.cls for each in answer.changes if each.worker is not None}


def test_a_guard_that_was_passed_by_is_tried(tree: Callable[[str], Tree]) -> None:
    """0.5.12.post1, server_args.py:3749 and 3756: a topk above 1, or the variable at 0, turns the overlap off."""
    found = changes(ask(tree("0.5.12.post1"), *EAGLE3, *TOPK_1, *STEPS))
    assert found["set SGLANG_ENABLE_SPEC_V2=0"] == "EAGLEWorker"
    assert found["--speculative-eagle-topk 2"] == "EAGLEWorker"


@pytest.mark.parametrize(
    ("words", "expect", "edit"),
    [
        (EAGLE3 + TOPK_1 + STEPS, "EAGLEWorkerV2", "set SGLANG_ENABLE_SPEC_V2=1"),
        # server_args.py:2380: the variable alone is refused with a topk of 4; its message asks for 1.
        (EAGLE3 + TOPK_4, "EAGLEWorkerV2", "set SGLANG_ENABLE_SPEC_V2=1 and --speculative-eagle-topk 1"),
        (EAGLE3 + TOPK_1 + STEPS, "NGRAMWorker", "--speculative-algorithm NGRAM"),
        (TOPK_1 + STEPS, "EAGLEWorker", "--speculative-algorithm EAGLE"),
    ],
)
def test_the_smallest_change_to_the_expected_class_comes_first(
    words: tuple[str, ...], expect: str, edit: str, tree: Callable[[str], Tree]
) -> None:
    answer = ask(tree("0.5.9"), *words, expect=expect)
    assert answer.expect is not None and not answer.expect.met
    assert next(iter(changes(answer).items())) == (edit, expect)


def test_the_change_that_is_named_gives_the_class(tree: Callable[[str], Tree]) -> None:
    env = ("SGLANG_ENABLE_SPEC_V2=1",)
    answer = ask(tree("0.5.9"), *EAGLE3, *TOPK_1, *STEPS, expect="EAGLEWorkerV2", env=env)
    assert answer.expect is not None and answer.expect.met and answer.exit_code == 0


def test_a_class_that_nothing_gives_is_said_to_be_none(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), *EAGLE3, *TOPK_1, *STEPS, expect="NoSuchWorker")
    assert answer.exit_code == 1
    assert "NoSuchWorker" not in changes(answer).values()
