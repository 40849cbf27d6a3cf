"""``pathtrace sweep``: one JSON line for each launch on each tree."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result

from pathtrace.tests.cli.conftest import FakeTracer
from pathtrace.tests.reports.answers import REFUSED
from pathtrace.tests.reports.test_json_report import SCHEMA, VALIDATOR

SWEEP_ERROR = jsonschema.Draft202012Validator({"$ref": "#/$defs/sweep_error", "$defs": SCHEMA["$defs"]})

Run = Callable[..., Result]
Launches = Callable[..., str]


@pytest.fixture
def launches(tmp_path: Path) -> Launches:
    """Write a launches file beside the folders ``llama`` and ``eagle``, each with a config."""
    for name in ("llama", "eagle"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")

    def write(*entries: dict[str, Any] | str) -> str:
        path = tmp_path / "launches.jsonl"
        path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in entries))
        return str(path)

    return write


def objects(result: Result) -> list[dict[str, Any]]:
    return [json.loads(each) for each in result.stdout.splitlines()]


def words_of(tracer: FakeTracer) -> list[tuple[str, ...]]:
    return [each.launch.argv for each in tracer.requests]


class TestTheLines:
    def test_are_launches_in_order_each_on_every_tree(self, run: Run, launches: Launches) -> None:
        file = launches({"id": "a", "args": ["--x"]}, {"id": 2, "args": ["--y"]})
        result = run("sweep", "--sglang", "t1", "t2", "--sglang", "t3", "--launches", file)
        found = [(each["id"], each["tree"]["given"], each["notes"]) for each in objects(result)]
        assert found == [
            (name, tree, [flag]) for name, flag in (("a", "--x"), (2, "--y")) for tree in ("t1", "t2", "t3")
        ]
        assert result.exit_code == 0

    def test_fit_the_schema_and_have_no_changes_unless_asked_for(
        self, run: Run, launches: Launches, tracer: FakeTracer
    ) -> None:
        file = launches({"id": "a", "args": ["--x"]})
        (without,) = objects(run("sweep", "--launches", file))
        (with_changes,) = objects(run("sweep", "--launches", file, "--changes"))
        VALIDATOR.validate(without)
        VALIDATOR.validate(with_changes)
        assert "changes" not in without
        assert with_changes["changes"]
        assert [each.changes for each in tracer.requests] == [False, True]

    def test_are_the_same_with_several_processes(self, run: Run, launches: Launches) -> None:
        file = launches(
            *({"id": number, "args": [f"--{number}"]} for number in range(20)), "{", {"id": "z", "args": ["crash"]}
        )
        words = ("sweep", "--sglang", "t1", "t2", "--launches", file)
        assert run(*words, "--jobs", "3").stdout == run(*words).stdout

    def test_open_each_tree_once(self, run: Run, launches: Launches, tracer: FakeTracer) -> None:
        file = launches({"id": "a", "args": ["--x"]}, {"id": "b", "args": ["--x"]})
        run("sweep", "--sglang", "t1", "t2", "--python", "p", "--launches", file)
        assert tracer.opened == [("t1", "p"), ("t2", "p")]

    def test_go_to_a_file(self, run: Run, launches: Launches, tmp_path: Path) -> None:
        file = launches({"id": "a", "args": ["--x"]})
        result = run("sweep", "--launches", file, "--output-file", str(tmp_path / "out.jsonl"))
        assert result.output == ""
        assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "a"


class TestALaunch:
    def test_has_the_folder_of_its_config_as_the_model_path(
        self, run: Run, launches: Launches, tracer: FakeTracer, tmp_path: Path
    ) -> None:
        llama = os.path.join(tmp_path, "llama")
        run(
            "sweep",
            "--launches",
            launches(
                {"id": 1, "args": ["--tp", "2"], "model_config": "llama/config.json"},
                {"id": 2, "model_config": "llama"},
                {"id": 3, "args": ["python", "-m", "sglang.launch_server"], "model_config": "llama"},
            ),
        )
        assert words_of(tracer) == [
            ("--model-path", llama, "--tp", "2"),
            ("--model-path", llama),
            ("python", "-m", "sglang.launch_server", "--model-path", llama),
        ]
        assert tracer.requests[0].model_config == os.path.join(llama, "config.json")

    @pytest.mark.parametrize(
        "args", [["--model-path", "m"], ["--model-path=m"], ["--model", "m"], ["--model=m"], ["--model-p", "m"]]
    )
    def test_keeps_the_model_path_it_names(
        self, run: Run, launches: Launches, tracer: FakeTracer, args: list[str]
    ) -> None:
        run("sweep", "--launches", launches({"id": 1, "args": args, "model_config": "llama"}))
        assert words_of(tracer) == [tuple(args)]

    def test_other_flags_that_begin_alike_are_no_model_path(
        self, run: Run, launches: Launches, tracer: FakeTracer
    ) -> None:
        args = ["--model-loader-extra-config", "{}", "--speculative-draft-model-path", "d"]
        run("sweep", "--launches", launches({"id": 1, "args": args, "model_config": "llama"}))
        assert words_of(tracer)[0][0] == "--model-path"

    def test_has_its_placeholders_filled(
        self, run: Run, launches: Launches, tracer: FakeTracer, tmp_path: Path
    ) -> None:
        run(
            "sweep",
            "--launches",
            launches(
                {
                    "id": 1,
                    "args": ["--model-path={model}", "--speculative-draft-model-path", "{draft}", "{other}"],
                    "model_config": "llama/config.json",
                    "draft_config": "eagle",
                }
            ),
        )
        assert words_of(tracer) == [
            (f"--model-path={tmp_path}/llama", "--speculative-draft-model-path", f"{tmp_path}/eagle", "{other}")
        ]
        assert tracer.requests[0].draft_config == f"{tmp_path}/eagle"

    def test_sets_its_own_variables_over_the_common_ones(
        self, run: Run, launches: Launches, tracer: FakeTracer
    ) -> None:
        file = launches({"id": 1, "args": ["--x"], "env": {"A": "own", "B": "2"}})
        run("sweep", "--env", "A=common", "--env", "C=3", "--assume", "sm=90", "--launches", file)
        assert tracer.requests[0].environment.env == ("C=3", "A=own", "B=2")
        assert dict(tracer.requests[0].assume) == {"sm": "90"}


class TestALineThatIsNoLaunch:
    @pytest.mark.parametrize(
        ("line", "name", "sentence"),
        [
            ("{", None, "not JSON"),
            pytest.param("[" * 100_000, None, "not JSON", id="deep"),
            ("[]", None, "not a JSON object"),
            ('{"args": []}', None, '"id" has to be'),
            ('{"id": true}', None, '"id" has to be'),
            ('{"id": "x", "args": "--a"}', "x", '"args" has to be a list of strings'),
            ('{"id": "x", "args": [1]}', "x", '"args" has to be a list of strings'),
            ('{"id": "x", "env": {"A": 1}}', "x", "\"env\": 'A'"),
            ('{"id": "x", "config": "llama"}', "x", 'did you mean "model_config"?'),
            ('{"id": "x", "model_config": "nothing"}', "x", "there is no"),
            ('{"id": "x", "args": ["{draft}"]}', "x", '"draft_config" is not given'),
        ],
    )
    def test_is_reported_in_its_place_and_the_rest_goes_on(
        self, run: Run, launches: Launches, line: str, name: str | None, sentence: str
    ) -> None:
        file = launches({"id": "before", "args": ["--x"]}, "", line, {"id": "after", "args": ["--x"]})
        result = run("sweep", "--sglang", "t1", "t2", "--launches", file)
        assert result.exit_code == 2
        found = objects(result)
        assert [each["id"] for each in found] == ["before", "before", name, "after", "after"]
        assert set(found[2]) == {"id", "error"}
        assert found[2]["error"].startswith(f"{file}:3: ")
        assert sentence in found[2]["error"]
        SWEEP_ERROR.validate(found[2])

    def test_a_launch_that_cannot_be_checked_names_the_tree(self, run: Run, launches: Launches) -> None:
        file = launches({"id": 1, "args": ["half"]}, {"id": 2, "args": ["crash"]}, {"id": 3})
        result = run("sweep", "--sglang", "t1", "--launches", file)
        found = objects(result)
        for each in found:
            SWEEP_ERROR.validate(each)
        assert found[0] == {"id": 1, "error": "half a command", "tree": {"given": "t1"}}
        assert "ZeroDivisionError: division by zero; please report it" in found[1]["error"]
        assert found[2]["id"] == 3
        assert result.exit_code == 2


class TestTheExitCode:
    def test_is_1_where_a_launch_is_refused_or_undecided(
        self, run: Run, launches: Launches, tracer: FakeTracer
    ) -> None:
        tracer.answer = REFUSED
        assert run("sweep", "--launches", launches({"id": 1, "args": ["--x"]})).exit_code == 1

    def test_is_2_before_anything_runs_where_a_tree_is_missing(
        self, run: Run, launches: Launches, tracer: FakeTracer
    ) -> None:
        result = run("sweep", "--sglang", "t1", "missing", "--launches", launches({"id": 1, "args": ["--x"]}))
        assert (result.exit_code, result.stdout, tracer.requests) == (2, "", [])
        assert result.stderr == "pathtrace: error: missing: there is no such tree\n"

    def test_is_0_for_no_launches(self, run: Run, launches: Launches) -> None:
        result = run("sweep", "--jobs", "2", "--launches", launches())
        assert (result.exit_code, result.output) == (0, "")

    def test_is_2_without_a_file(self, run: Run) -> None:
        assert run("sweep").exit_code == 2
        assert run("sweep", "--launches", "/no/such/file").exit_code == 2
