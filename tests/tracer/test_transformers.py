"""What the installed transformers' source adds to a config.json.

The transformers here is a few lines in a folder that an interpreter finds; tests/configs/test_agrees.py
has the real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.configs import installed_transformers
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree

REQUIRED = "4.57.1"  # by the METADATA of release 0.5.9
WORDS = ("--model-path", "some/model", "--speculative-algorithm", "EAGLE")
CLASS = """
class LlamaConfig:
    def __init__(self, {parameter}=None, **kwargs):
        self.{parameter} = {parameter}
"""


def write_class(root: Path, parameter: str) -> None:
    text = CLASS.format(parameter=parameter)
    (root / "models" / "llama" / "configuration_llama.py").write_text(text)


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter that would import a transformers whose LlamaConfig has nothing but ``vision_config``."""
    root = tmp_path / "site" / "transformers"
    for folder in ("auto", "llama"):
        (root / "models" / folder).mkdir(parents=True)
    (root / "__init__.py").write_text(f'__version__ = "{REQUIRED}"\nraise RuntimeError("was imported")\n')
    auto = 'CONFIG_MAPPING_NAMES = OrderedDict([("llama", "LlamaConfig"), ("exaone", "LlamaConfig")])\n'
    (root / "models" / "auto" / "configuration_auto.py").write_text(auto)
    write_class(root, "vision_config")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "found.pth").write_text(f"{root.parent}\n")
    return str(environment / "bin" / "python")


@pytest.fixture
def ask(tmp_path: Path, tree: Callable[[str], Tree]) -> Callable[..., Answer]:
    def asked(python: str | None, data: dict[str, object], *, cache: bool = False, **assume: str) -> Answer:
        config = tmp_path / "config.json"
        config.write_text(json.dumps(data))
        launch = parse_launch(WORDS)
        request = CheckRequest(tree("0.5.9"), launch, merge_environment(launch, (), None, None), str(config))
        request = replace(request, assume={name.replace("__", "."): value for name, value in assume.items()})
        return check(replace(request, changes=False, cache=cache, python=python))

    return asked


def waits_for(answer: Answer) -> set[str]:
    """The keys of the model's config that something in the answer waits for."""
    conditions = [each.when for each in (*answer.alternatives, *answer.possible_refusals)]
    return {word for when in conditions if when is not None for supply in when.supply for word in supply.split("=")[:1]}


def read(answer: Answer) -> str | None:
    return next((each.value for each in answer.assumptions if each.name == "transformers"), None)


LLAMA: dict[str, object] = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
KEY = "--assume hf.llm_config"


def test_a_key_that_no_class_sets_is_not_there(python: str, ask: Callable[..., Answer]) -> None:
    without, given = ask(None, LLAMA), ask(python, LLAMA)
    assert KEY in waits_for(without) and read(without) is None
    assert KEY not in waits_for(given) and read(given) == REQUIRED


def test_a_plain_default_is_the_value(python: str, tmp_path: Path, ask: Callable[..., Answer]) -> None:
    write_class(tmp_path / "site" / "transformers", "quantization_config")
    assert "--assume hf.quantization_config" in waits_for(ask(None, LLAMA))
    assert "--assume hf.quantization_config" not in waits_for(ask(python, LLAMA))


def test_what_is_assumed_by_the_user_comes_first(python: str, ask: Callable[..., Answer]) -> None:
    answer = ask(python, LLAMA, hf__llm_config="{}")
    assert ("hf.llm_config", "given") in {(each.name, each.source) for each in answer.assumptions}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"auto_map": {"AutoConfig": "code.Config"}}, "the model brings its own class"),
        ({"model_type": "exaone"}, "the tree registers this type with AutoConfig (hf_transformers_utils.py)"),
        ({"model_type": "nobody_knows"}, "transformers does not have this type"),
        ({"model_type": None}, "no type"),
    ],
)
def test_other_classes_say_nothing(
    python: str, ask: Callable[..., Answer], changed: dict[str, object], why: str
) -> None:
    assert read(ask(python, {**LLAMA, **changed})) is None, why


def test_a_transformers_that_the_tree_would_not_run_with_is_not_read(
    python: str, tmp_path: Path, ask: Callable[..., Answer]
) -> None:
    (tmp_path / "site" / "transformers" / "__init__.py").write_text('__version__ = "4.0.0"\n')
    answer = ask(python, LLAMA)
    assert KEY in waits_for(answer)
    assert [note for note in answer.notes if "4.0.0" in note and f"=={REQUIRED}" in note]


def test_a_kept_answer_ends_with_the_class_that_it_was_made_from(
    python: str, tmp_path: Path, ask: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHTRACE_CACHE_DIR", str(tmp_path / "cache"))
    first = ask(python, LLAMA, cache=True)
    assert ask(python, LLAMA, cache=True) == first
    installed_transformers._at.cache_clear()  # as in another process
    (tmp_path / "site" / "transformers" / "models" / "auto" / "configuration_auto.py").unlink()
    assert KEY not in waits_for(first)
    assert KEY in waits_for(ask(python, LLAMA, cache=True))
