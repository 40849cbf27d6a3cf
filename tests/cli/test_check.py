"""``pathtrace check``: what it asks of the tracer, what it prints, how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from pathtrace.tests.cli.conftest import FakeTracer
from pathtrace.tests.reports.answers import ALL, NONE, REFUSED, STORY, UNDECIDED, UNMET
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.errors import BadInput

Run = Callable[..., Result]
LAUNCH = ("--", "python", "-m", "sglang.launch_server", "--model-path", "m")


class TestTheLaunch:
    def test_is_what_follows_the_two_dashes_word_for_word(self, run: Run, tracer: FakeTracer) -> None:
        words = ("A=1", "python", "-m", "x", "--expect", "B", "--help", "--unknown=1", "--", "-h", "")
        assert run("check", "--", *words).exit_code == 0
        assert tracer.request.launch.argv == words

    def test_without_one_there_must_be_deployments(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for words in (("check",), ("check", "--")):
            result = run(*words)
            assert result.exit_code == 2
            assert "no deployments are listed" in result.stderr

    def test_without_one_options_of_a_launch_have_no_place(self, run: Run) -> None:
        result = run("check", "--sglang", "0.5.9", "--model-config", ".")
        assert result.exit_code == 2
        assert "there is no launch for --sglang, --model-config" in result.stderr

    def test_a_misspelt_option_is_an_error_and_no_part_of_the_launch(self, run: Run, tracer: FakeTracer) -> None:
        result = run("check", "--expct", "X", *LAUNCH)
        assert result.exit_code == 2
        assert "No such option" in result.stderr
        assert "--expect" in result.stderr
        assert not tracer.requests

    def test_a_launch_without_the_two_dashes_is_told_of_them(self, run: Run, tracer: FakeTracer) -> None:
        for words in (("python", "-m", "x"), ("--speculative-algorithm", "X"), ("python", "x", "--", "y")):
            result = run("check", *words)
            assert result.exit_code == 2
            assert "after `--`" in result.stderr
        assert not tracer.requests


class TestTheRequest:
    def test_defaults(self, run: Run, tracer: FakeTracer) -> None:
        run("check", *LAUNCH)
        request = tracer.request
        assert tracer.opened == [("installed", None)]
        assert (request.model_config, request.draft_config, request.expect) == (None, None, None)
        assert (dict(request.assume), request.changes, request.cache) == ({}, True, True)

    def test_every_option_arrives(self, run: Run, tracer: FakeTracer, tmp_path: Path) -> None:
        config, env_file = tmp_path / "config.json", tmp_path / "env"
        config.write_text("{}")
        env_file.write_text("")
        run(
            *("check", "--sglang", "0.5.9", "--python", "python3.12", "--env", "A=1", "--env", "B=2"),
            *("--env-file", str(env_file), "--model-config", str(config), "--draft-config", str(tmp_path)),
            *("--assume", "sm=90", "--assume", "hf.a=b=c", "--expect", "EAGLEWorker", "--no-cache"),
            *LAUNCH,
        )
        request = tracer.request
        assert tracer.opened == [("0.5.9", "python3.12")]
        assert (request.environment.env, request.environment.env_file) == (("A=1", "B=2"), env_file)
        assert (request.model_config, request.draft_config) == (str(config), str(tmp_path))
        assert dict(request.assume) == {"sm": "90", "hf.a": "b=c"}
        assert (request.expect, request.cache) == ("EAGLEWorker", False)

    def test_the_shell_is_mentioned_but_not_inherited(
        self, run: Run, tracer: FakeTracer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SGLANG_ENABLE_SPEC_V2", "1")
        run("check", *LAUNCH)
        assert tracer.request.environment.inherited is None
        assert tracer.request.shell["SGLANG_ENABLE_SPEC_V2"] == "1"

    def test_unless_asked_for(self, run: Run, tracer: FakeTracer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SGLANG_ENABLE_SPEC_V2", "1")
        run("check", "--inherit-env", *LAUNCH)
        assert tracer.request.environment.inherited["SGLANG_ENABLE_SPEC_V2"] == "1"
        assert tracer.request.shell is None


class TestTheReport:
    def test_is_text_unless_asked_for_json(self, run: Run) -> None:
        assert run("check", *LAUNCH).stdout.startswith("EAGLEWorker  sglang/srt/")
        report = json.loads(run("check", "--output-format", "json", *LAUNCH).stdout)
        assert report["worker"]["class"] == "EAGLEWorker"

    def test_goes_to_a_file_and_leaves_stdout_empty(self, run: Run, tmp_path: Path) -> None:
        target = tmp_path / "report.json"
        result = run("check", "--output-format", "json", "--output-file", str(target), *LAUNCH)
        assert (result.exit_code, result.output) == (0, "")
        assert json.loads(target.read_text())["outcome"] == "worker"

    def test_no_file_is_left_where_the_check_fails(self, run: Run, tracer: FakeTracer, tmp_path: Path) -> None:
        tracer.answer = BadInput("no")
        assert run("check", "--output-file", str(tmp_path / "report"), *LAUNCH).exit_code == 2
        assert list(tmp_path.iterdir()) == []


class TestTheExitCode:
    @pytest.mark.parametrize(
        ("answer", "code"), [(STORY, 0), (NONE, 0), (REFUSED, 1), (UNDECIDED, 1), (UNMET, 1), (ALL["found"], 1)]
    )
    def test_is_the_answers(self, run: Run, tracer: FakeTracer, answer: Answer, code: int) -> None:
        tracer.answer = answer
        assert run("check", *LAUNCH).exit_code == code
        assert run("check", "--output-format", "json", *LAUNCH).exit_code == code

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("--assume", "sm", *LAUNCH), "--assume 'sm' is not K=V"),
            (("--assume", "=90", *LAUNCH), "--assume '=90' is not K=V"),
            (("--expect", " ", *LAUNCH), "--expect needs the name of a class"),
            (("--sglang", "missing", *LAUNCH), "missing: there is no such tree"),
            (("--", "half"), "half a command"),
        ],
    )
    def test_is_2_with_one_sentence_for_bad_input(self, run: Run, words: tuple[str, ...], sentence: str) -> None:
        result = run("check", *words)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith(f"pathtrace: error: {sentence}")
        assert result.stderr.count("\n") == 1

    def test_is_2_for_a_config_that_is_not_there(self, run: Run) -> None:
        result = run("check", "--model-config", "/no/such/config.json", *LAUNCH)
        assert result.exit_code == 2
        assert "does not exist" in result.stderr

    def test_is_130_for_an_interrupt(self, run: Run, tracer: FakeTracer) -> None:
        tracer.answer = KeyboardInterrupt()
        result = run("check", *LAUNCH)
        assert (result.exit_code, result.output) == (130, "")

    def test_is_141_without_a_word_where_nobody_reads(self, run: Run, tracer: FakeTracer) -> None:
        tracer.answer = BrokenPipeError()
        result = run("check", *LAUNCH)
        assert (result.exit_code, result.output) == (141, "")


class TestADefectOfPathtrace:
    def test_is_one_sentence_with_the_exception_and_the_place(self, run: Run, tracer: FakeTracer) -> None:
        tracer.answer = RuntimeError("odd\nthing")
        result = run("check", *LAUNCH)
        assert result.exit_code == 2
        assert result.stderr.startswith("pathtrace: error: internal error at ")
        assert "RuntimeError: odd thing; please report it" in result.stderr
        assert "Traceback" not in result.stderr

    def test_shows_its_traceback_on_demand(self, run: Run, tracer: FakeTracer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATHTRACE_DEBUG", "1")
        tracer.answer = RuntimeError("odd")
        assert "Traceback" in run("check", *LAUNCH).stderr
