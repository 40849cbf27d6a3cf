"""The chain and the inputs without effect name the lines that a reader of the source would name.

Every line number was looked up in the release's own files.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pathtrace.tests.tracer.changed import TRUTH, ask, speculate
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.tree.model import Tree


def steps(answer: Answer) -> dict[str, str]:
    """Place and result of every step."""
    return {f"{each.place.file}:{each.place.line}": each.result for each in answer.decisions}


def origins(answer: Answer, line: int) -> set[str]:
    return {
        origin.text
        for each in answer.decisions
        if each.place.line == line
        for reading in each.readings
        for origin in reading.origins
    }


def test_a_conditional_expression_is_a_decision(tree: Callable[[str], Tree]) -> None:
    """``EAGLEWorkerV2 if self.enable_overlap else EAGLEWorker``; server_args.py:1303 turns the overlap off."""
    answer = speculate(tree("0.5.4"), "EAGLE")
    assert steps(answer)["sglang/srt/managers/scheduler.py:564"] == "false"
    assert steps(answer)["sglang/srt/server_args.py:1302"] == "true"
    assert "disable_overlap_schedule = True" in origins(answer, 564)
    assert not {text for text in origins(answer, 564) if "model-path" in text}


@pytest.mark.parametrize(("release", "line"), [("0.5.9", 312), ("0.5.14", 337)])
def test_what_decides_the_event_loop_is_a_step(release: str, line: int, tree: Callable[[str], Tree]) -> None:
    answer = speculate(tree(release), "EAGLE3", "--disable-overlap-schedule")
    assert answer.event_loop == "synchronous"
    assert steps(answer)[f"sglang/srt/managers/scheduler.py:{line}"] == "enable_overlap = False"


def test_the_flag_behind_the_event_loop_is_named(tree: Callable[[str], Tree]) -> None:
    answer = speculate(tree("0.5.14"), "EAGLE3", "--disable-overlap-schedule")
    assert origins(answer, 337) == {"--disable-overlap-schedule"}


def test_a_variable_that_a_hook_sets_is_placed_at_the_hook(tree: Callable[[str], Tree]) -> None:
    """0.5.9, server_args.py:1412: ``envs.SGLANG_ENABLE_SPEC_V2.set(True)`` for a MiMo model."""
    name, place = "SGLANG_ENABLE_SPEC_V2", f"{ARGS}:1412"
    mimo = str(TRUTH / "models/mimo_v2/config.json")
    words = ("--model-path", "m", "--speculative-algorithm", "EAGLE")
    answer = ask(tree("0.5.9"), *words, env={name: "0"}, model=mimo, draft=None)
    assert steps(answer)[place] == f"{name} = 'True'"
    assert f"{name}=0" in origins(answer, 1411)
    assert f"{name}='True'" in origins(answer, 2368)
    (ignored,) = answer.ignored
    assert ignored.place is not None
    assert (ignored.name, ignored.value, ignored.why, ignored.became) == (name, "0", "overwritten", "True")
    assert f"{ignored.place.file}:{ignored.place.line}" == place


HOOK = "sglang/srt/arg_groups/speculative_hook.py"
ARGS = "sglang/srt/server_args.py"


@pytest.mark.parametrize(
    ("release", "tokens", "mixed"),
    [
        ("0.5.9", f"{ARGS}:2450", f"{ARGS}:2391"),
        ("0.5.14", f"{HOOK}:390", f"{HOOK}:283"),
        # Fields are set through ServerArgs.__setattr__ here.
        ("0.5.18", f"{HOOK}:683", f"{HOOK}:573"),
        # Declared, not set; mixed chunks stay on for EAGLE3.
        pytest.param("0.5.23", f"{HOOK}:1265", None, marks=pytest.mark.slow),
    ],
)
def test_an_overwritten_flag_comes_with_the_line_that_names_the_field(
    release: str, tokens: str, mixed: str | None, tree: Callable[[str], Tree]
) -> None:
    answer = speculate(tree(release), "EAGLE3", "--speculative-num-draft-tokens", "8", "--enable-mixed-chunk")
    found = {each.name: f"{each.place.file}:{each.place.line}" for each in answer.ignored if each.place is not None}
    assert found.get("--speculative-num-draft-tokens") == tokens
    assert found.get("--enable-mixed-chunk") == mixed
