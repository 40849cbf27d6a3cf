"""``pathtrace doctor``: what would reach the server's interpreter, asked of that interpreter itself."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathtrace.cli import cli
from pathtrace.instrument import SITE_FOLDER
from pathtrace.supervisor.environment import Asked, injected
from pathtrace.supervisor.reach import look, signs_in_command

SERVER = ("-m", "sglang.launch_server", "--model-path", "m")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package that is called sglang and has plugins."""
    # Python looks into the current folder first, and that may be a checkout of pathtrace.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree" / "sglang" / "srt" / "plugins").mkdir(parents=True)
    (tmp_path / "tree" / "sglang" / "__init__.py").write_text("raise AssertionError('nothing of SGLang is run')\n")
    return tmp_path / "tree"


@pytest.fixture
def installed(tree: Path) -> Path:
    """The same, with what pip writes down of pathtrace beside it."""
    about = tree / "pathtrace-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pathtrace\nVersion: 0\n")
    (about / "entry_points.txt").write_text("[sglang.srt.plugins]\npathtrace = pathtrace.instrument.plugin:load\n")
    return tree


def environ(*folders: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return injected(Asked(), {**kept, "PYTHONPATH": os.pathsep.join(map(str, folders)), **more})


def said(level: str, words: tuple[str, ...], variables: dict[str, str]) -> list[str]:
    return [sign.text for sign in look(words, variables) if sign.level == level]


def test_all_well(tree: Path) -> None:
    signs = look((sys.executable, *SERVER), environ(tree))
    assert [sign for sign in signs if sign.level == "fails"] == []
    texts = [sign.text for sign in signs]
    assert texts[0] == f"the command starts {sys.executable}"
    assert f"carrier sitecustomize: {SITE_FOLDER} comes first on PYTHONPATH and was run" in texts


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("-I",), "-I has Python ignore PYTHONPATH"),
        (("-E",), "-E has Python ignore PYTHONPATH"),
        (("-S",), "-S keeps Python from running any sitecustomize"),
        (("-uE",), "-E has Python ignore PYTHONPATH"),
        (("-X", "dev", "-I"), "-I has Python ignore PYTHONPATH"),
    ],
)
def test_a_flag_that_shields_the_interpreter(tree: Path, flags: tuple[str, ...], reason: str) -> None:
    assert any(reason in text for text in said("fails", (sys.executable, *flags, *SERVER), environ(tree)))


@pytest.mark.parametrize("word", ["-I", "-E", "-S"])
def test_a_flag_of_the_server_is_none_of_the_interpreter(word: str) -> None:
    assert signs_in_command((sys.executable, *SERVER, word), environ()) == []


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (("env", "-i"), "env -i takes the hook's variables away"),
        (("env", "--ignore-environment", "A=1"), "env -i takes the hook's variables away"),
        (("env", "-"), "env -i takes the hook's variables away"),
        (("/usr/bin/env", "-u", "PYTHONPATH"), "env -u PYTHONPATH takes the hook's folder away"),
        (("env", "--unset=PYTHONPATH"), "env -u PYTHONPATH takes the hook's folder away"),
        (("env", "-uPYTHONPATH"), "env -u PYTHONPATH takes the hook's folder away"),
        (("nice", "env", "PYTHONPATH=/mine"), "PYTHONPATH=/mine takes the hook's folder away"),
        (("sudo",), "sudo takes the hook's variables away"),
        (("sudo", "-u", "serve"), "sudo takes the hook's variables away"),
        (("docker", "run", "image"), "docker passes no variables on"),
        (("ssh", "node1"), "ssh passes no variables on"),
        (("srun", "--export=NONE"), "srun --export passes only named variables on"),
        (("srun", "--export", "A,B"), "srun --export passes only named variables on"),
    ],
)
def test_a_wrapper_that_takes_the_variables_away(before: tuple[str, ...], reason: str) -> None:
    found = signs_in_command((*before, sys.executable, *SERVER), environ())
    assert [sign.level for sign in found] == ["fails"]
    assert found[0].text.startswith(reason)


@pytest.mark.parametrize(
    "before",
    [
        (),
        ("nohup",),
        ("numactl", "-N", "0"),
        ("env", "-u", "OTHER"),
        ("sudo", "-E"),
        ("sudo", "--preserve-env=PYTHONPATH,PATHTRACE_ENABLE"),
        ("srun", "--export=ALL,A=1"),
        ("srun",),
    ],
)
def test_a_wrapper_that_passes_them_on(before: tuple[str, ...]) -> None:
    assert signs_in_command((*before, sys.executable, *SERVER), environ()) == []


def test_an_interpreter_without_wrapt_is_told_how_to_get_it(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "wrapt.py").write_text("raise ImportError('no wrapt here')\n")
    (text,) = said("fails", (sys.executable, *SERVER), environ(tmp_path, tree))
    assert text == (f"it cannot import wrapt (no wrapt here); install it there: {sys.executable} -m pip install wrapt")


def test_an_interpreter_without_sglang_is_the_wrong_one() -> None:
    texts = said("fails", (sys.executable, *SERVER), environ())
    assert texts == ["it has no package sglang: this is not the interpreter that runs the server"]


def test_another_sitecustomize_is_run_after_ours(tree: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "sitecustomize.py"
    foreign.write_text("import sys; sys.foreign = True\n")
    assert f"there is another sitecustomize, {foreign}: it is run after ours" in said(
        "note", (sys.executable, *SERVER), environ(tmp_path, tree)
    )


def test_another_sitecustomize_that_comes_first_keeps_ours_away(tree: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "sitecustomize.py"
    foreign.write_text("")
    variables = environ(tree)
    variables["PYTHONPATH"] = f"{tmp_path}:{variables['PYTHONPATH']}"
    notes = said("note", (sys.executable, *SERVER), variables) + said("fails", (sys.executable, *SERVER), variables)
    assert f"there is another sitecustomize, {foreign}: it is run in place of ours" in notes
    assert any(text.startswith("carrier sitecustomize: ") and "did not run" in text for text in notes)


@pytest.mark.parametrize("allowed", [None, "pathtrace", "other, pathtrace"])
def test_plugins_are_a_second_carrier(installed: Path, allowed: str | None) -> None:
    variables = environ(installed, **({} if allowed is None else {"SGLANG_PLUGINS": allowed}))
    assert "carrier plugin: SGLang loads pathtrace itself" in said("ok", (sys.executable, *SERVER), variables)


def test_a_list_of_plugins_has_to_name_pathtrace(installed: Path) -> None:
    assert "carrier plugin: SGLANG_PLUGINS=other leaves pathtrace out; add it there" in said(
        "note", (sys.executable, *SERVER), environ(installed, SGLANG_PLUGINS="other")
    )


def test_a_tree_without_plugins_has_one_carrier(tree: Path) -> None:
    (tree / "sglang" / "srt" / "plugins").rmdir()
    assert "carrier plugin: this SGLang has no plugins" in said("note", (sys.executable, *SERVER), environ(tree))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("bash", "-c", "python -m sglang.launch_server"), "what bash -c starts is not looked at"),
        (("bash", "-lc", "python"), "what bash -c starts is not looked at"),
        (("uv", "run", "python", *SERVER), "which interpreter uv starts is not known here"),
        (("./start",), "no Python interpreter is found in the command"),
        (("no-such-python3", *SERVER), "no Python interpreter is found in the command"),
        (("/no/such/python3", *SERVER), "no such program"),
    ],
)
def test_what_cannot_be_seen_is_said_to_be_unknown(words: tuple[str, ...], reason: str) -> None:
    (text,) = said("note", words, environ())
    assert reason in text
    assert text.endswith(": whether the hook reaches it is not known")


def test_an_interpreter_that_says_nothing_is_a_failure(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho broken >&2\n")
    python.chmod(0o755)
    (text,) = said("fails", (str(python), *SERVER), environ())
    assert text == f"{python} did not answer: broken"


def test_the_interpreter_of_a_script_is_found(tree: Path, tmp_path: Path) -> None:
    script = tmp_path / "sglang"
    script.write_text(f"#!{sys.executable} -E\n")
    script.chmod(0o755)
    texts = [sign.text for sign in look((str(script), "serve"), environ(tree))]
    assert texts[0] == f"the command starts {sys.executable}"
    assert any("-E has Python ignore PYTHONPATH" in text for text in texts)


@pytest.mark.parametrize(("flags", "status"), [((), 0), (("-E",), 1)])
def test_the_exit_status_says_whether_something_fails(tree: Path, flags: tuple[str, ...], status: int) -> None:
    words = ["doctor", "--speculative-disable-batch-threshold", "8", "--", sys.executable, *flags, *SERVER]
    done = CliRunner().invoke(cli, words, env={"PYTHONPATH": str(tree), "SGLANG_PLUGINS": "other"})
    assert done.exit_code == status
    lines = done.output.splitlines()
    assert lines[0] == f"sets   PYTHONPATH={SITE_FOLDER}:{tree}"
    assert "sets   PATHTRACE_ENABLE=1" in lines and "sets   PATHTRACE_THRESHOLD=8" in lines
    assert any(line.startswith("fails  ") for line in lines) is bool(status)


def test_the_report_for_programs(tree: Path) -> None:
    words = ["doctor", "--output-format", "json", "--", "X=1", "env", f"PYTHONPATH={tree}", sys.executable, *SERVER]
    found = json.loads(CliRunner().invoke(cli, words).output)
    assert found["variables"]["PYTHONPATH"] == f"{SITE_FOLDER}:{tree}"
    assert {"level": "ok", "text": f"the command starts {sys.executable}"} in found["signs"]
