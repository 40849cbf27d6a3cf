"""Words and variables of a launch that nothing states: both ways are followed, and the answer says what to give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.open_text import opened, shown, sources_of, waits_for
from pathtrace.tracer.tree.model import Tree

MODELS = Path(__file__).parent.parent / "conformance" / "models"
EAGLE3 = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "org/draft")


def ask(tree: Tree, *words: str, env: Mapping[str, str] | None = None) -> Answer:
    launch = Launch(entry="launch_server", argv=words, env=env or {})
    return check(
        CheckRequest(
            tree,
            launch,
            merge_environment(launch, (), None, None),
            str(MODELS / "llama" / "config.json"),
            str(MODELS / "llama-eagle3" / "config.json"),
            {"sm": "90", "gpus": "8", "gpu_memory_mib": "81559"},
            changes=False,
            cache=False,
        )
    )


def supplied(answer: Answer) -> set[str]:
    return {each for alternative in answer.alternatives for each in alternative.when.supply}


def workers(answer: Answer) -> set[tuple[str, str | None]]:
    return {(each.worker.cls, each.event_loop) for each in answer.alternatives if each.worker is not None}


def test_the_text_of_a_word_says_what_would_state_it() -> None:
    word = f"a{opened('$TP')}b{opened('$(nproc)')}{opened('${X}')}"
    assert shown(word) == "a$TPb$(nproc)${X}"
    assert sources_of(word) == ("$TP", "$(nproc)", "${X}")
    assert waits_for(word) == {"--env TP=...", "the value of $(nproc)", "--env X=..."}


def test_a_value_that_does_not_matter_leaves_the_answer_decided(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), "--model-path", "org/m", *EAGLE3, "--port", opened("$PORT"))
    assert answer.worker is not None
    assert (answer.worker.cls, answer.event_loop) == ("EAGLEWorker", "synchronous")


def test_a_variable_of_unknown_value_is_set_and_decides_nothing(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), "--model-path", "org/m", *EAGLE3, env={"SGLANG_ENABLE_SPEC_V2": opened("${V2}")})
    assert answer.outcome == "undecided"
    assert workers(answer) == {("EAGLEWorker", "synchronous"), ("EAGLEWorkerV2", "overlap")}
    assert supplied(answer) == {"--env V2=..."}
    assert all("None" not in each.when.text for each in answer.alternatives)


def test_an_algorithm_of_unknown_value_is_none_of_the_choices_beforehand(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), "--model-path", "org/m", f"--speculative-algorithm={opened('$ALGO')}")
    assert answer.outcome == "undecided"
    assert {("EAGLEWorker", "synchronous"), ("NGRAMWorker", "synchronous")} <= workers(answer)
    assert "--env ALGO=..." in supplied(answer)


def test_the_given_configs_count_for_models_whose_paths_are_not_stated(tree: Callable[[str], Tree]) -> None:
    words = ("--model-path", opened("$MODEL"), *EAGLE3[:3], opened("${DRAFT}"))
    answer = ask(tree("0.5.9"), *words)
    assert answer.worker is not None
    assert answer.worker.cls == "EAGLEWorker"
    assert not any("no config.json" in note for note in answer.notes)


def test_a_word_that_may_be_a_flag_leaves_everything_open(tree: Callable[[str], Tree]) -> None:
    answer = ask(tree("0.5.9"), "--model-path", "org/m", *EAGLE3, opened("$EXTRA"))
    assert answer.outcome == "undecided"
    assert "--env EXTRA=..." in supplied(answer)


def test_nothing_shown_holds_the_mark(tree: Callable[[str], Tree]) -> None:
    env = {"SGLANG_NO_SUCH_VARIABLE": opened("$V"), "SGLANG_ENABLE_SPEC_V2": opened("$V2")}
    answer = ask(tree("0.5.9"), "--model-path", "org/m", *EAGLE3, "--tp", opened("$TP"), env=env)
    assert "\0" not in repr(answer).replace("\\x00", "\0")
    assert ("SGLANG_NO_SUCH_VARIABLE", "$V") in {(each.name, each.value) for each in answer.ignored}
