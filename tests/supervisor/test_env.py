"""``pathtrace env``: what a shell makes of the lines is what was asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from pathtrace.cli import cli
from pathtrace.instrument import SITE_FOLDER
from pathtrace.supervisor.environment import Asked, injected, search_path, shell_text

AWKWARD = '/a b:/it\'s:/$HOME:/`id`:/\\n:/"q":/new\nline:/ü'


def after_eval(text: str, environ: dict[str, str]) -> dict[str, str]:
    """The environment of a program that ``sh`` starts behind ``eval``."""
    script = 'set -eu; eval "$1"; exec env -0'
    words = ["sh", "-c", script, "sh", text]
    done = subprocess.run(words, env={"PATH": "/usr/bin:/bin", **environ}, capture_output=True, check=True)
    return dict(each.split("=", 1) for each in done.stdout.decode().rstrip("\0").split("\0"))


@pytest.mark.parametrize("value", ["x", "", AWKWARD, "-n", "'", '"', "'\"'", "!", "a;b", "#x", "~"])
def test_a_shell_gets_every_value_as_it_is(value: str) -> None:
    found = after_eval(shell_text(Asked(metrics_file=value), {"PYTHONPATH": value}, "sh"), {})
    assert found["PATHTRACE_METRICS_FILE"] == value
    assert found["PYTHONPATH"] == (f"{SITE_FOLDER}:{value}" if value else SITE_FOLDER)
    assert found["PATHTRACE_ENABLE"] == "1"


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("x", "'x'"),
        ("a b", "'a b'"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("$HOME", "'$HOME'"),
        ("\\'", r"'\\\''"),
    ],
)
def test_fish_knows_two_escapes_between_single_quotes(value: str, quoted: str) -> None:
    lines = shell_text(Asked(metrics_file=value), {}, "fish").splitlines()
    assert lines[0] == f"set -gx PYTHONPATH '{SITE_FOLDER}';"
    assert f"set -gx PATHTRACE_METRICS_FILE {quoted};" in lines


@pytest.mark.parametrize(
    ("shell", "line"), [("sh", "unset PATHTRACE_THRESHOLD"), ("fish", "set -e PATHTRACE_THRESHOLD;")]
)
def test_what_an_earlier_call_asked_for_is_taken_back(shell: str, line: str) -> None:
    assert line in shell_text(Asked(), {"PATHTRACE_THRESHOLD": "8"}, shell).splitlines()


def test_variables_that_are_not_there_are_not_taken_back() -> None:
    assert "unset" not in shell_text(Asked(), {}, "sh")


def test_the_options_become_variables() -> None:
    words = ["env", "--speculative-disable-batch-threshold", "8", "--hysteresis", "0.5:4", "--draft-state", "cold"]
    words += ["--no-off-graphs", "--metrics-file", "/m/p.prom", "--metrics-port", "9100"]
    done = CliRunner().invoke(cli, words, env={"PYTHONPATH": "/own"})
    assert done.exit_code == 0
    found = after_eval(done.output, {})
    assert {name: value for name, value in found.items() if name.startswith("PATHTRACE_")} == {
        "PATHTRACE_ENABLE": "1",
        "PATHTRACE_THRESHOLD": "8",
        "PATHTRACE_HYSTERESIS": "0.5:4",
        "PATHTRACE_DRAFT_STATE": "cold",
        "PATHTRACE_OFF_GRAPHS": "0",
        "PATHTRACE_METRICS_FILE": "/m/p.prom",
        "PATHTRACE_METRICS_PORT": "9100",
    }
    assert found["PYTHONPATH"] == f"{SITE_FOLDER}:/own"


@pytest.mark.parametrize(
    "words",
    [["--speculative-disable-batch-threshold", "-1"], ["--hysteresis", "2:1"], ["--metrics-port", "0"], ["python"]],
)
def test_what_the_hook_could_not_read_is_refused(words: list[str]) -> None:
    done = CliRunner().invoke(cli, ["env", *words])
    assert done.exit_code == 2
    assert "export" not in done.output


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, SITE_FOLDER),
        ("", SITE_FOLDER),
        ("/a:/b", f"{SITE_FOLDER}:/a:/b"),
        (f"/a:{SITE_FOLDER}", f"{SITE_FOLDER}:/a"),
        # An empty entry is the current folder, and stays where it was.
        ("/a::/b", f"{SITE_FOLDER}:/a::/b"),
    ],
)
def test_the_folder_comes_first_and_once(before: str | None, after: str) -> None:
    assert search_path(before) == after


def test_another_run_s_mark_does_not_go_on_to_this_server() -> None:
    assert "PATHTRACE_RUN" not in injected(Asked(), {"PATHTRACE_RUN": "0123456789ab"})
    assert "unset PATHTRACE_RUN" in shell_text(Asked(), {"PATHTRACE_RUN": "0123456789ab"}, "sh").splitlines()


def test_an_interpreter_started_like_this_carries_the_hook_and_so_do_its_children() -> None:
    code = "import sys; print(sys._pathtrace_site, sys.modules['pathtrace.instrument.starting'].carrier())"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"
    found = after_eval(shell_text(Asked(), {}, "sh"), {})
    done = subprocess.run([sys.executable, "-c", nested], env=found, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "sitecustomize"]
