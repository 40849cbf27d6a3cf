"""The documents say what is so."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathtrace.benchmarks.run import BEGIN, END, replace_between_markers
from pathtrace.cli import cli
from pathtrace.docs.assumptions import PAGE, page
from pathtrace.tests.packaging.shipped import ROOT

DOCUMENTS = sorted(path for folder in ("", "docs/", "benchmarks/", "tests/**/") for path in ROOT.glob(f"{folder}*.md"))
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Folders of one machine. /tmp, /dev, /proc and the like are everyone's.
OF_ONE_MACHINE = re.compile(r"(?<![\w.~*}/:-])/(?:home|root|Users|work|opt|mnt|srv|private)/[\w.]")
# Made-up paths that tests hand to the program are no places.
MADE_UP = ("tests/manifests/", "tests/launch/", "tests/configs/", "tests/tree/", "tests/cli/", "tests/reports/")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def code(document: Path) -> str:
    return "\n".join(FENCE.findall(document.read_text("utf-8")))


def tracked() -> Iterator[Path]:
    """Text files that are tracked or would be; in a copy without git, none."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in path.read_bytes():
            yield path


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_make_commands_are_targets(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    used = set(re.findall(r"(?:^|\s)make ([a-z][\w-]*)", code(document), re.MULTILINE))
    assert used <= targets


def test_readme_has_the_two_commands() -> None:
    assert {"make demo", "make test"} <= set(re.findall(r"^make \w+", code(ROOT / "README.md"), re.MULTILINE))


def test_readme_uses_commands_and_options_that_exist() -> None:
    text = code(ROOT / "README.md").replace("\\\n", " ")
    uses = re.findall(r"^(?:\$ )?pathtrace (\w+)([^\n]*)", text, re.MULTILINE)
    assert {command for command, _rest in uses} == set(cli.commands) - {
        "rule",
        "rules",
        "config",
    }  # pages of docs/ have these
    for command, rest in uses:
        shown = CliRunner().invoke(cli, [command, "--help"]).output
        own = rest.partition(" -- ")[0]
        assert [option for option in re.findall(r"--[a-z][\w-]*", own) if option not in shown] == []


def test_readme_screen_is_the_demo() -> None:
    """The command of the README's screen is the one that `make demo` runs, word by word."""
    recipe = re.search(r"^demo:[^\n]*\n((?:\t[^\n]*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert recipe is not None
    text = recipe[1].replace("$(BIN)/", "").replace("$(MODELS)", "tests/conformance/models")
    shown = re.search(r"^\$ (pathtrace check (?:[^\n]*\\\n)+[^\n]*)", code(ROOT / "README.md"), re.MULTILINE)
    assert shown is not None
    assert shown[1].replace("\\\n", " ").split() == text.replace("\\\n", " ").split()


def test_assumptions_are_the_facts() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python docs/assumptions.py"


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    text = FENCE.sub("", document.read_text("utf-8"))
    broken = [
        target
        for target in LINK.findall(text)
        if "://" not in target and not (document.parent / target.partition("#")[0]).exists()
    ]
    assert broken == []


def test_no_tracked_file_names_a_folder_of_one_machine() -> None:
    found = [
        f"{named(path)}:{number}: {line.strip()}"
        for path in tracked()
        if not named(path).startswith(MADE_UP)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if OF_ONE_MACHINE.search(line)
    ]
    assert found == []


def test_benchmark_table_is_replaced_between_its_markers() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    once = replace_between_markers(text, "| a |")
    assert f"{BEGIN}\n| a |\n{END}" in once
    assert replace_between_markers(replace_between_markers(once, "| b |"), "| a |") == once
    with pytest.raises(ValueError, match="must hold"):
        replace_between_markers("no markers", "| a |")
