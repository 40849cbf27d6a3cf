"""The deployments that a project lists: read, checked, and stopped where a change is dead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pathtrace.cli import cli
from pathtrace.tests.trees import wheel
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.project.find import find_project

MODELS = Path(__file__).parent.parent / "conformance" / "models"
EAGLE3 = (
    "--model-path m --speculative-draft-model-path d --speculative-algorithm EAGLE3 --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --max-running-requests 64"
)
TOML = f"""
[tool.pathtrace]
sglang = "{{tree}}"
model-config = "{MODELS}/llama/config.json"
draft-config = "{MODELS}/llama-eagle3/config.json"
assume = {{{{sm = 90}}}}

[[tool.pathtrace.deployments]]
name = "old"
launch = "{EAGLE3}"
expect = "EAGLEWorker"

[[tool.pathtrace.deployments]]
name = "new"
launch = ["python", "-m", "sglang.launch_server", {", ".join(f'"{word}"' for word in EAGLE3.split())}]
env = {{{{SGLANG_ENABLE_SPEC_V2 = 1}}}}
"""
SETUP = """
[pathtrace]
sglang = 0.5.9
select = PT101, PT104

[pathtrace:old]
launch = --model-path m
env =
    A=1
    B=x=y
"""


def test_both_files_say_the_same_kind_of_thing(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text(SETUP)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    project = find_project(inner)
    (only,) = project.deployments
    assert (only.name, only.launch, only.env) == ("old", ("--model-path m",), {"A": "1", "B": "x=y"})
    assert (only.sglang, project.select, only.line) == ("0.5.9", ("PT101", "PT104"), 6)
    (tmp_path / "pyproject.toml").write_text(TOML.format(tree="0.5.9"))
    project = find_project(inner)
    assert [(each.name, each.line) for each in project.deployments] == [("old", 9), ("new", 14)]
    assert [dict(each.env) for each in project.deployments] == [{}, {"SGLANG_ENABLE_SPEC_V2": "1"}]
    assert project.deployments[1].launch[:3] == ("python", "-m", "sglang.launch_server")


def test_paths_are_taken_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir()
    table = '[tool.pathtrace]\nsglang="vendor"\nmodel-config="c.json"\n'
    one = '[[tool.pathtrace.deployments]]\nname="a"\nlaunch="x"\n'
    (tmp_path / "pyproject.toml").write_text(table + one)
    (only,) = find_project(tmp_path).deployments
    assert (only.sglang, only.model_config) == (str(tmp_path / "vendor"), str(tmp_path / "c.json"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("pyproject.toml", "[tool.pathtrace", "is not TOML"),
        ("pyproject.toml", "tool.pathtrace = 1", "is no table"),
        ("pyproject.toml", "[tool.pathtrace]\nsglang = 'x'", "lists no deployments"),
        ("pyproject.toml", "[tool.pathtrace]\ndeployments = 1", "is no list of tables"),
        ("setup.cfg", "[pathtrace]\nsglang", "is no configuration file"),
        ("setup.cfg", "[pathtrace:a]\nmodel = x", "deployment a: model is no option"),
        ("pyproject.toml", "\xff\xfe", "is not TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=says) as caught:
        find_project(tmp_path)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_all_wrong_options_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pathtrace]\nsglnag = "x"\nselect = "PT101"\n[[tool.pathtrace.deployments]]\nlaunch = 3\nenv = "A=1"\n'
        + '[[tool.pathtrace.deployments]]\nname = "a"\nlaunch = "x"\n' * 2
    )
    with pytest.raises(BadInput) as caught:
        find_project(tmp_path)
    for each in ("sglnag is no option", "select is no list", "launch is neither", "env is no table", "name is missing",
                 "two of that name"):  # fmt: skip
        assert each in str(caught.value)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["pyproject.toml", "setup.cfg"]))
def test_any_file_ends_in_a_project_or_a_sentence(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(b"[tool.pathtrace]\n[pathtrace]\n" + data)
    try:
        find_project(tmp_path)
    except BadInput as error:
        assert str(error) and "\n" not in str(error).strip()
    finally:
        (tmp_path / name).unlink()


# ---------------------------------------------------------------- checked
@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(TOML.format(tree=wheel("0.5.9")))

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(cli, words, prog_name="pathtrace")

    return invoke


def test_every_deployment_has_its_line(run: Any) -> None:
    result = run("check", "--no-cache")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("old  EAGLEWorker ") and lines[1] == "  pyproject.toml:9"
    assert any(line.startswith("new  EAGLEWorkerV2 ") for line in lines)
    assert lines[-1] == "clean: 2 of 2 deployments"


def test_a_change_is_dead_only_where_no_deployment_runs_it(run: Any, tmp_path: Path) -> None:
    """Release 0.5.9: line 706 stands in ``EAGLEWorkerV2.verify``, 415 in a worker that neither deployment loads."""
    for file, line, dead in (("eagle_worker_v2.py", 706, False), ("multi_layer_eagle_worker_v2.py", 415, True)):
        path = f"sglang/srt/speculative/{file}"
        old = text_of(path).split("\n")[line - 1]
        patch = f"--- a/{path}\n+++ b/{path}\n@@ -{line},1 +{line},1 @@\n-{old}\n+{old}  # x\n"
        (tmp_path / "x.patch").write_text(patch)
        result = run("check", "--patch", "x.patch", "--output-format", "json")
        found = [each["findings"] for each in json.loads(result.stdout)["deployments"]]
        assert (result.exit_code == 1) is dead
        assert [[each["code"] for each in findings] for findings in found] == ([["PT101"]] * 2 if dead else [[], []])


def text_of(path: str) -> str:
    from pathtrace.tracer.tree.open import open_tree

    return (open_tree(str(wheel("0.5.9"))).read(path) or b"").decode()


def test_rules_of_the_project_and_of_the_command(run: Any, tmp_path: Path) -> None:
    text = (tmp_path / "pyproject.toml").read_text().replace('expect = "EAGLEWorker"', 'expect = "EAGLEWorkerV2"')
    (tmp_path / "pyproject.toml").write_text(text)
    assert "PT107" in run("check").stdout
    assert "PT107" not in run("check", "--ignore", "unexpected-worker").stdout
    (tmp_path / "pyproject.toml").write_text(text.replace("[tool.pathtrace]", '[tool.pathtrace]\nignore = ["PT9"]'))
    result = run("check")
    assert result.exit_code == 2 and "no such rule: PT9" in result.stderr


def test_a_deployment_that_cannot_be_checked_is_named(run: Any, tmp_path: Path) -> None:
    text = (tmp_path / "pyproject.toml").read_text().replace(f'launch = "{EAGLE3}"', 'launch = "ls -l"')
    (tmp_path / "pyproject.toml").write_text(text)
    result = run("check")
    assert result.exit_code == 2
    assert "pyproject.toml:9: deployment old: " in result.stderr


def test_the_configuration_is_shown_as_it_is_read(run: Any) -> None:
    shown = json.loads(run("config", "show").stdout)
    assert [each["name"] for each in shown["deployments"]] == ["old", "new"]
    assert shown["deployments"][0]["assume"] == {"sm": "90"}
