"""Launches in files: found, held to the rules, and each finding at the line that a user would mend."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from pathtrace.cli import cli
from pathtrace.tests.trees import mutable_tree, wheel

MODELS = Path(__file__).parent.parent / "conformance" / "models"
TOML = f"""
[tool.pathtrace]
sglang = "{{tree}}"
model-config = "{MODELS}/llama/config.json"
draft-config = "{MODELS}/llama-eagle3/config.json"
assume = {{{{sm = 90}}}}
"""
FLAGS = (
    "--model-path m --speculative-algorithm EAGLE3 --speculative-draft-model-path d --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --max-running-requests 64"
)
SCRIPT = f"""#!/bin/bash
export SGLANG_NO_SUCH=1
python -m sglang.launch_server \\
  {FLAGS}
"""
COMPOSE = f"""services:
  old:
    command: python -m sglang.launch_server {FLAGS}
  new:
    environment:
      SGLANG_ENABLE_SPEC_V2: "1"
    command:
      - python
      - -m
      - sglang.launch_server
{"".join(f"      - {word!r}{chr(10)}" for word in FLAGS.replace("topk 1", "topk 4").split())}"""


class Project:
    """A folder with a configuration, and pathtrace run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return name

    def configure(self, more: str = "", tree: str | None = None) -> None:
        self.write("pyproject.toml", TOML.format(tree=tree or wheel("0.5.9")) + more)

    def check(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ("check", *words), prog_name="pathtrace")

    def lines(self, *words: str) -> list[str]:
        """The concise report without its count."""
        return self.check(*words, "--output-format", "concise").stdout.splitlines()[:-1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    made.configure()
    return made


# ---------------------------------------------------------------- what is found, and where
def test_a_finding_points_at_the_very_line(project: Project) -> None:
    project.write("run.sh", SCRIPT)
    project.write("compose.yaml", COMPOSE)
    result = project.check("run.sh", "compose.yaml", "--output-format", "concise")
    script, compose, count = result.stdout.splitlines()
    assert script == "run.sh:2:8: PT102 SGLANG_NO_SUCH=1 is set, and this tree does not read it [run.sh]"
    assert compose.startswith("compose.yaml:8:9: PT104 the server refuses this launch: ValueError: Spec v2 currently")
    assert compose.endswith(" [services.new]") and count == "Found 2 findings."
    assert result.exit_code == 1


def test_each_launch_has_its_answer(project: Project) -> None:
    project.write("compose.yaml", COMPOSE.replace("'4'", "'1'", 1))
    deployments = json.loads(project.check("compose.yaml", "--output-format", "json").stdout)["deployments"]
    found = [(each["name"], each["worker"]["class"], each["event_loop"]) for each in deployments]
    assert found == [("services.old", "EAGLEWorker", "synchronous"), ("services.new", "EAGLEWorkerV2", "overlap")]


def test_options_of_the_command_go_before_those_of_the_project(project: Project) -> None:
    project.write("run.sh", SCRIPT.replace("export SGLANG_NO_SUCH=1\n", ""))
    assert "EAGLEWorker " in project.check("run.sh").stdout
    assert "EAGLEWorkerV2 " in project.check("run.sh", "--env", "SGLANG_ENABLE_SPEC_V2=1").stdout
    assert "expected" in project.check("run.sh", "--expect", "EAGLEWorkerV2", "--select", "PT107").stdout


def test_a_variable_that_nothing_states_is_unknown_until_it_is_given(project: Project) -> None:
    project.write("run.sh", SCRIPT.replace("NO_SUCH=1", "ENABLE_SPEC_V2=$V2"))
    (only,) = project.lines("run.sh")
    assert only.startswith("run.sh:3:1: PT108 ") and "--env V2=..." in only
    assert project.lines("run.sh", "--env", "V2=1") == []


def test_a_word_that_may_be_any_flags_is_undecided_at_its_place(project: Project) -> None:
    project.write("run.sh", SCRIPT.replace("  --model-path", "  $EXTRA --model-path"))
    (only,) = project.lines("run.sh")
    assert only.startswith("run.sh:4:3: PT108 ") and "--env EXTRA=" in only


def test_a_call_that_leaves_its_arguments_out_does_not_hide_the_other_launches(project: Project) -> None:
    call = 'import sglang\n\nsglang.Engine(**KW)\nsglang.Engine(model_path="m", speculative_algorithm="NGRAM")\n'
    done = project.check(project.write("serve.py", call), "--select", "PT104,PT108")
    assert done.exit_code == 1
    assert "undecided" in done.stdout and "NGRAMWorker" in done.stdout


def test_a_variable_that_the_script_itself_uses_is_not_dead(project: Project) -> None:
    own = SCRIPT.replace("SGLANG_NO_SUCH=1", "SGLANG_TP=1").replace("--max-running", "--tp $SGLANG_TP --max-running")
    assert not any("PT102" in line for line in project.lines(project.write("run.sh", own)))


def test_files_without_a_launch_are_no_error(project: Project) -> None:
    project.write("a.yaml", "sglang: 1\n")
    project.write("b.txt", "sglang\n")
    result = project.check("a.yaml", "b.txt")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no SGLang launch in a.yaml, b.txt\n"


@pytest.mark.parametrize("output_format", ["json", "concise", "sarif", "github", "junit", "markdown"])
def test_a_format_for_programs_is_whole_without_a_launch(project: Project, output_format: str) -> None:
    project.write("a.yaml", "sglang: 1\n")
    result = project.check("a.yaml", "--output-format", output_format)
    assert result.exit_code == 0 and result.stdout.endswith("\n")
    if output_format in ("json", "sarif"):
        assert isinstance(json.loads(result.stdout), dict)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing.sh",), "there is no file 'nothing.sh'; a launch goes after `--`"),
        (("run.sh", "--", "--model-path", "m"), "give files, or a launch after `--`"),
        (("run.sh", "--update-baseline"), "--update-baseline needs --baseline FILE"),
        (("run.sh", "--select", "PT999"), "no such rule: PT999"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(project: Project, words: tuple[str, ...], says: str) -> None:
    project.write("run.sh", SCRIPT)
    result = project.check(*words)
    assert result.exit_code == 2 and says in result.stderr


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.sh", b"sglang \0", "is binary"),
        ("a.yaml", b"# sglang\na: &a [*a\n", "a.yaml:"),
        ("a.sh", b"python -m sglang.launch_server 'x\n", "a.sh:1"),
        ("Dockerfile", b"FROM x\nCMD sglang \xff\n", "Dockerfile:2: is not UTF-8"),
    ],
)
def test_a_bad_file_is_named_with_its_line(project: Project, name: str, data: bytes, says: str) -> None:
    (project.folder / name).write_bytes(data)
    result = project.check(name)
    assert result.exit_code == 2 and says in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_read_does_not_hide_what_is_found_in_others(project: Project) -> None:
    script, broken = project.write("run.sh", SCRIPT), project.write("broken.yaml", "# sglang\na: [")
    result = project.check(broken, script, "--output-format", "concise")
    assert result.exit_code == 2
    assert "run.sh:2:8: PT102" in result.stdout
    assert "broken.yaml" in result.stderr


def test_a_link_that_leads_back_to_itself_is_one_sentence(project: Project) -> None:
    (project.folder / "a.sh").symlink_to("b.sh")
    (project.folder / "b.sh").symlink_to("a.sh")
    result = project.check("a.sh")
    assert result.exit_code == 2 and "a.sh: " in result.stderr and len(result.stderr.splitlines()) == 1


def test_the_json_of_deployments_is_what_its_schema_says(project: Project) -> None:
    report = json.loads(project.check(project.write("run.sh", SCRIPT), "--output-format", "json").stdout)
    schema = json.loads((Path(__file__).parents[2] / "docs" / "json-schema.json").read_text("utf-8"))
    jsonschema.validate(report, {**schema["$defs"]["deployments"], "$defs": schema["$defs"]})
    own = {"name", "file", "line"}
    for each in report["deployments"]:
        jsonschema.validate({key: value for key, value in each.items() if key not in own}, schema)


# ---------------------------------------------------------------- deployments that name a file
DEPLOYMENT = '[[tool.pathtrace.deployments]]\nname = "production"\nfile = "deploy/compose.yaml"\n'


def test_a_deployment_names_a_file_and_a_launch_in_it(project: Project) -> None:
    project.write("deploy/compose.yaml", COMPOSE)
    project.configure(DEPLOYMENT + 'launch-name = "services.old"\nexpect = "EAGLEWorkerV2"\n')
    (only,) = project.lines()
    assert only.startswith("deploy/compose.yaml:3:14: PT107 ") and only.endswith(" [production]")
    assert project.lines("deploy/compose.yaml") == [only]


def test_a_deployment_with_a_file_is_one_for_each_launch(project: Project) -> None:
    project.write("deploy/compose.yaml", COMPOSE)
    project.configure(DEPLOYMENT)
    shown = project.check("--output-format", "json").stdout
    names = [each["name"] for each in json.loads(shown)["deployments"]]
    assert names == ["production services.old", "production services.new"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('launch-name = "services.x"\n', "there is no launch named services.x; it has services.old, services.new"),
        ('launch = "x"\n', "has both launch and file"),
        ('threshold = "many"\n', "threshold is no whole number"),
    ],
)
def test_a_wrong_deployment_is_one_sentence(project: Project, more: str, says: str) -> None:
    project.write("deploy/compose.yaml", COMPOSE)
    project.configure(DEPLOYMENT + more)
    result = project.check()
    assert result.exit_code == 2 and says in result.stderr


# ---------------------------------------------------------------- changes and hooks
def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_a_file_of_the_tree_and_a_patch_are_held_against_the_deployments(project: Project) -> None:
    tree = mutable_tree("0.5.9", project.folder / "vendor")
    project.configure(f'[[tool.pathtrace.deployments]]\nname = "p"\nlaunch = "{FLAGS}"\n', tree="vendor")
    git(project.folder, "init", "--quiet")
    git(project.folder, "add", ".")
    git(project.folder, "commit", "--quiet", "--message", "x")
    dead = tree / "sglang/srt/speculative/eagle_worker_v2.py"
    before = dead.read_text("utf-8")
    lines = before.split("\n")
    lines[705] += "  # verify"
    dead.write_text("\n".join(lines), "utf-8")
    name = str(dead.relative_to(project.folder))
    (only,) = project.lines(name)
    assert only.startswith(f"{name}:706: PT101 EAGLEWorkerV2.verify is changed, and this launch never runs it")
    patch = subprocess.run(["git", "diff"], cwd=project.folder, check=True, capture_output=True).stdout
    dead.write_text(before, "utf-8")
    assert project.lines(name) == []
    (project.folder / "x.patch").write_bytes(patch)
    (only,) = project.lines("x.patch")
    assert "PT101 EAGLEWorkerV2.verify is changed" in only


HOOK = """import wrapt

@wrapt.patch_function_wrapper("sglang.srt.speculative.eagle_worker_v2", "EAGLEWorkerV2.verify")
def slower(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
"""


def test_a_hook_on_a_class_that_never_loads_is_found_where_it_stands(project: Project) -> None:
    project.write("hooks/off.py", HOOK)
    more = f'hooks = ["hooks/*.py"]\n[[tool.pathtrace.deployments]]\nname = "p"\nlaunch = "{FLAGS}"\n'
    project.configure(more)
    (only,) = project.lines()
    assert only.startswith("hooks/off.py:3:") and "PT303" in only and "EAGLEWorkerV2.verify" in only
    assert project.lines("hooks/off.py") == [only]
    project.configure(more.replace('name = "p"', 'name = "p"\nenv = {SGLANG_ENABLE_SPEC_V2 = "1"}'))
    assert project.lines() == []


def test_a_threshold_that_is_never_reached_is_found(project: Project) -> None:
    project.write("run.sh", SCRIPT.replace("export SGLANG_NO_SUCH=1\n", ""))
    (only,) = project.lines("run.sh", "--threshold", "64")
    assert "PT301" in only
    assert project.lines("run.sh", "--threshold", "63") == []


# ---------------------------------------------------------------- let pass
@pytest.mark.parametrize(
    "script",
    [
        SCRIPT.replace("NO_SUCH=1", "NO_SUCH=1  # pathtrace: ignore[PT102] an old cluster reads it"),
        SCRIPT.replace("export SGLANG", "# pathtrace: ignore[PT101, PT102]\n\n# why\nexport SGLANG").replace(", ", ","),
        SCRIPT.replace("python -m", "# pathtrace: ignore[pt102]\npython -m"),
    ],
)
def test_a_comment_lets_a_finding_of_its_line_or_launch_pass(project: Project, script: str) -> None:
    project.write("run.sh", script)
    assert not any("PT102" in line for line in project.lines("run.sh"))


def test_a_comment_that_lets_nothing_pass_is_found(project: Project) -> None:
    mark = "  # pathtrace: ignore[PT102, PT106]"
    project.write("run.sh", SCRIPT.replace("NO_SUCH=1", f"NO_SUCH=1{mark}") + "# pathtrace: ignore\n")
    assert project.lines("run.sh") == [
        "run.sh:2: PT401 this comment suppresses PT106, which is not found here [run.sh]",
        "run.sh:5: PT401 this comment names no rule, and suppresses nothing: write ignore[PT101] [run.sh]",
    ]
    only_one = project.check("run.sh", "--select", "PT102,PT401")
    assert "PT106" not in only_one.stdout  # a rule that was not asked for may well find it


def test_a_comment_that_names_no_rule_s_code_is_found(project: Project) -> None:
    script = SCRIPT.replace("NO_SUCH=1", "NO_SUCH=1  # pathtrace: ignore[dead-variable]")
    found = project.lines(project.write("run.sh", script))
    assert any("PT401" in line and "DEAD-VARIABLE" in line for line in found)
    assert any("PT102" in line for line in found)


def test_a_refusal_that_is_let_pass_is_no_failure(project: Project) -> None:
    launch = SCRIPT.replace("NO_SUCH", "ENABLE_SPEC_V2").replace("topk 1", "topk 4")
    project.write("run.sh", launch)
    assert project.check("run.sh").exit_code == 1
    assert project.check("run.sh", "--select", "PT101").exit_code == 1
    project.write("run.sh", launch.replace("python -m", "# pathtrace: ignore[PT104] shows the refusal\npython -m"))
    result = project.check("run.sh")
    assert result.exit_code == 0 and "1 known, let pass" in result.stdout


def test_a_baseline_lets_what_is_known_pass_and_nothing_else(project: Project) -> None:
    project.write("run.sh", SCRIPT)
    assert project.check("run.sh", "--baseline", "known.json").exit_code == 2
    assert project.check("run.sh", "--baseline", "known.json", "--update-baseline").exit_code == 0
    written = json.loads((project.folder / "known.json").read_text())
    assert [each["code"] for each in written["findings"]] == ["PT102"]
    project.write("run.sh", SCRIPT.replace("export", "\n\n# moved\nexport"))
    assert project.check("run.sh", "--baseline", "known.json").exit_code == 0
    project.write("run.sh", SCRIPT.replace("NO_SUCH=1", "NO_SUCH=1 SGLANG_NEITHER=1"))
    assert [line for line in project.lines("run.sh", "--baseline", "known.json") if "NEITHER" in line]


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9, "findings": []}', '{"version": 1, "findings": [1]}', "\0"])
def test_a_file_that_is_no_baseline_is_one_sentence(project: Project, text: str) -> None:
    project.write("run.sh", SCRIPT)
    project.write("known.json", text)
    result: Any = project.check("run.sh", "--baseline", "known.json")
    assert result.exit_code == 2 and "known.json: " in result.stderr


# ---------------------------------------------------------------- fast
HEAVY = {"libcst", "networkx", "rich", "ruamel", "tree_sitter", "junitparser", "wrapt"}


@pytest.mark.parametrize(
    ("name", "text", "needs"),
    [("a.yaml", "services: {}\n", set()), ("run.sh", SCRIPT, {"tree_sitter"}), ("compose.yaml", COMPOSE, {"ruamel"})],
)
def test_a_file_costs_only_the_imports_that_its_kind_needs(
    project: Project, name: str, text: str, needs: set[str]
) -> None:
    project.write(name, text)
    command = [sys.executable, "-X", "importtime", "-m", "pathtrace", "check", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=project.folder)
    assert done.returncode in (0, 1)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "click" in imported
    assert HEAVY & imported == needs
