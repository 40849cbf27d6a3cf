"""``pathtrace handoff``: the worker of a launch, or one by its name."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from pathtrace.cli import cli
from pathtrace.tests.reports.answers import NONE, UNDECIDED
from pathtrace.tests.trees import wheel

MODELS = "tests/conformance/models"
LAUNCH = ("--", "SGLANG_ENABLE_SPEC_V2=1", "python", "-m", "sglang.launch_server", "--model-path", "m",
          "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "d", "--speculative-num-steps", "3",
          "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4")  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Callable[..., Result]:
    tree = str(wheel("0.5.9"))

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(cli, ["handoff", "--sglang", tree, *words], prog_name="pathtrace")

    return invoke


@pytest.fixture(scope="module")
def configs(request: pytest.FixtureRequest) -> tuple[str, ...]:
    models = request.config.rootpath / MODELS
    return (
        "--model-config", str(models / "llama" / "config.json"),
        "--draft-config", str(models / "llama-eagle3" / "config.json"),
    )  # fmt: skip


def test_the_worker_is_the_one_that_the_launch_loads(run: Callable[..., Result], configs: tuple[str, ...]) -> None:
    result = run(*configs, *LAUNCH)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("EAGLEWorkerV2  ")
    assert "  decode   EAGLEWorkerV2.verify" in lines
    assert "Every way out carries it" in lines


def test_a_worker_may_be_named(run: Callable[..., Result]) -> None:
    lines = run("--worker", "EAGLEWorker").stdout.splitlines()
    assert lines[1].endswith("no such field: the draft input in batch.spec_info plays its role")
    lines = run("--worker", "NGRAMWorker").stdout.splitlines()
    assert lines[1].endswith("nothing that one step hands to the next was found")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "give a launch or --worker CLASS"),
        (("--worker", "EAGLEWorker", "--", "--model-path", "m"), 2, "give a launch or --worker CLASS"),
        (("--worker", "EagleDraftWorker"), 2, "no such worker"),
        (("--worker", "sglang.srt.server_args.ServerArgs"), 2, "has no step that a scheduler calls"),
        (("--", "--model-path", "m", "--speculative-algorithm", "NONSENSE"), 1, "loads no one worker: refused"),
    ],
)
def test_without_a_worker_there_is_one_sentence(
    run: Callable[..., Result], words: tuple[str, ...], code: int, says: str
) -> None:
    result = run(*words)
    assert result.exit_code == code
    assert says in result.stderr
    assert result.stdout == ""


def test_json_has_every_place(run: Callable[..., Result]) -> None:
    found = json.loads(run("--worker", "EAGLEWorkerV2", "--output-format", "json").stdout)
    assert (found["schema_version"], found["field"]) == ("1", "next_draft_input")
    assert found["producers"] == {
        "prefill": ["EagleDraftWorker._draft_extend_for_prefill"],
        "decode": ["EAGLEWorkerV2.verify"],
    }
    assert {"creates", "fills", "stores", "fetches", "returns"} == {site["kind"] for site in found["sites"]}


@pytest.mark.parametrize(
    ("form", "first", "edge"), [("dot", "digraph handoff {", "  f0 -> f1;"), ("mermaid", "flowchart LR", "  f0 --> f1")]
)
def test_graphs_go_from_the_step_to_the_functions_with_a_site(
    run: Callable[..., Result], form: str, first: str, edge: str
) -> None:
    lines = run("--worker", "EAGLEWorkerV2", "--output-format", form).stdout.splitlines()
    assert lines[0] == first and edge in lines
    nodes = [line for line in lines if "eagle_worker_v2.py:" in line]
    assert len(nodes) == 4 and "EAGLEWorkerV2.forward_batch_generation" in nodes[0]


def test_answers_without_a_worker_have_a_headline() -> None:
    from pathtrace.reports.text_report import headline

    assert headline(NONE).startswith("no speculative decoding")
    assert headline(UNDECIDED).startswith("undecided")
