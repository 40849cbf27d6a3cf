"""Files that a launch leads to: the Hugging Face cache at a revision, and ``--config``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pathtrace.tests.tracer.changed import LLAMA
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

MODELS = Path(__file__).parent.parent / "conformance" / "models"
WORDS = ("--speculative-algorithm", "EAGLE")


def ask(tree: Tree, *words: str, config: str | None = None, env: tuple[str, ...] = (), cache: bool = False) -> Answer:
    launch = parse_launch((*words, *WORDS))
    environment = merge_environment(launch, env, None, None)
    return check(CheckRequest(tree, launch, environment, config, config, changes=False, cache=cache))


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A Hugging Face cache with two revisions of one repository: MiMo at ``main``, Llama at ``v2``."""
    repository = tmp_path / "hf" / "hub" / "models--org--m"
    (repository / "refs").mkdir(parents=True)
    for revision, model in (("main", "mimo_v2"), ("v2", "llama")):
        commit = f"{revision}0"
        (repository / "refs" / revision).write_text(commit)
        folder = repository / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "config.json").write_text((MODELS / model / "config.json").read_text())
    return tmp_path / "hf"


def loaded(answer: Answer) -> str | None:
    return None if answer.worker is None else answer.worker.cls


def test_the_revision_of_the_launch_is_read(hub: Path, tree: Callable[[str], Tree]) -> None:
    opened, env = tree("0.5.9"), (f"HF_HOME={hub}",)
    assert loaded(ask(opened, "--model-path", "org/m", env=env)) == "MultiLayerEagleWorkerV2"
    assert loaded(ask(opened, "--model-path", "org/m", "--revision", "v2", env=env)) == "EAGLEWorker"
    missing = ask(opened, "--model-path", "org/m", "--revision", "v3", env=env)
    assert missing.outcome == "undecided"
    assert "no config.json was found for the model: give --model-config FILE" in missing.notes


def test_a_kept_answer_holds_for_the_hub_cache_it_was_made_with(
    hub: Path, tmp_path: Path, tree: Callable[[str], Tree], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHTRACE_CACHE_DIR", str(tmp_path / "answers"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing"))
    opened = tree("0.5.9")
    assert ask(opened, "--model-path", "org/m", cache=True).outcome == "undecided"
    monkeypatch.setenv("HF_HOME", str(hub))
    assert ask(opened, "--model-path", "org/m", cache=True).outcome == "worker"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing"))
    assert ask(opened, "--model-path", "org/m", cache=True).outcome == "undecided"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        # What PyYAML's safe_load makes of each: YAML 1.1, the last of two equal keys.
        ("disable-overlap-schedule: yes", ("--disable-overlap-schedule",)),
        ("disable-overlap-schedule: off", ()),
        ("tp-size: 010", ("--tp-size", "8")),
        ("tp-size: 2\ntp-size: 4", ("--tp-size", "4")),
        ("tp-size: 1:30", ("--tp-size", "90")),
    ],
)
def test_the_config_file_is_read_as_the_tree_reads_it(
    tmp_path: Path, line: str, words: tuple[str, ...], tree: Callable[[str], Tree]
) -> None:
    config = tmp_path / "server.yaml"
    config.write_text(line + "\n")
    model = ("--model-path", "m", "--speculative-draft-model-path", "d")
    by_file = ask(tree("0.5.9"), *model, "--config", str(config), config=LLAMA)
    by_words = ask(tree("0.5.9"), *model, *words, config=LLAMA)
    assert (by_file.outcome, by_file.worker, by_file.event_loop, by_file.refusal, by_file.resolved) == (
        by_words.outcome, by_words.worker, by_words.event_loop, by_words.refusal, by_words.resolved,
    )  # fmt: skip


def test_a_config_file_that_is_not_yaml_is_bad_input(tmp_path: Path, tree: Callable[[str], Tree]) -> None:
    from pathtrace.tracer.errors import BadInput

    config = tmp_path / "server.yaml"
    config.write_text("a: 1\nb: [\n")
    with pytest.raises(BadInput, match="not YAML"):
        ask(tree("0.5.9"), "--model-path", "m", "--config", str(config))


def test_models_are_what_the_tests_say() -> None:
    for model, kind in (("mimo_v2", "mimo_v2"), ("llama", "llama")):
        data = json.loads((MODELS / model / "config.json").read_text())
        assert kind in data["model_type"]
