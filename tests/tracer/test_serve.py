"""``sglang serve``: the tree's own front end decides what the words mean."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, LLAMA
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

EAGLE3 = "--speculative-algorithm EAGLE3 --speculative-draft-model-path d"


def ask(tree: Tree, words: str) -> Answer:
    launch = parse_launch((f"sglang serve {words}",))
    environment = merge_environment(launch, (), None, None)
    return check(CheckRequest(tree, launch, environment, LLAMA, EAGLE3_DRAFT, changes=False, cache=False))


@pytest.mark.parametrize(
    ("release", "words", "line"),
    [
        # cli/utils.py: get_model_path looks for --model-path and nothing else.
        ("0.5.9", f"m {EAGLE3}", 157),
        ("0.5.12.post1", f"m {EAGLE3}", 123),
    ],
)
def test_an_older_front_end_wants_the_flag(release: str, words: str, line: int, tree: Callable[[str], Tree]) -> None:
    refusal = ask(tree(release), words).refusal
    assert refusal is not None
    assert (refusal.phase, refusal.exception, refusal.file) == ("parse", "Exception", "sglang/cli/utils.py")
    assert refusal.message.startswith("Error: --model-path is required.")
    assert refusal.line == line


@pytest.mark.parametrize("words", [f"m {EAGLE3}", f"--model-path m {EAGLE3} --model-type llm"])
def test_a_newer_one_takes_the_model_as_a_word(words: str, tree: Callable[[str], Tree]) -> None:
    worker = ask(tree("0.5.18"), words).worker
    assert worker is not None and worker.cls == "EAGLEWorkerV2"


def test_a_flag_that_the_front_end_does_not_take_out_goes_to_the_server(tree: Callable[[str], Tree]) -> None:
    """Release 0.5.9 has no --model-type; 0.5.12.post1 takes it out (cli/serve.py: _extract_model_type_override)."""
    refusal = ask(tree("0.5.9"), f"--model-path m --model-type llm {EAGLE3}").refusal
    assert refusal is not None and refusal.message == "unrecognized arguments: --model-type llm"
    assert ask(tree("0.5.12.post1"), f"--model-path m --model-type llm {EAGLE3}").outcome == "worker"


@pytest.mark.parametrize(
    ("release", "words", "says"),
    [
        ("0.5.3", "--model-path m", "no `sglang serve`"),
        ("0.5.18", "m --model-type diffusion", "diffusion"),
        ("0.5.12.post1", "--model-path m --model-type=diffusion", "diffusion"),
    ],
)
def test_a_launch_without_a_language_model_server_is_no_launch(
    release: str, words: str, says: str, tree: Callable[[str], Tree]
) -> None:
    with pytest.raises(BadInput, match=says):
        ask(tree(release), words)


def test_the_same_tree_is_asked_again_as_if_nothing_had_been(tree: Callable[[str], Tree]) -> None:
    opened = tree("0.5.18")
    first = ask(opened, f"m {EAGLE3}")
    with pytest.raises(BadInput):
        ask(opened, "m --model-type diffusion")
    assert ask(opened, f"m {EAGLE3}") == first
