"""How pathtrace starts: fast, and quiet when nobody reads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import pathtrace

FAKES = """
import sys
from types import ModuleType, SimpleNamespace
from pathtrace.tests.reports.answers import STORY
def module(name, **members):
    made = ModuleType('pathtrace.tracer.' + name)
    vars(made).update(members)
    sys.modules[made.__name__] = made
module('tree.open', open_tree=lambda given, python=None: None)
module('launch.parse', parse_launch=lambda words: None)
module('launch.environment', merge_environment=lambda *given: None)
module('check', check=lambda request: STORY, CheckRequest=SimpleNamespace)
from pathtrace.cli import main
sys.argv = ['pathtrace', *sys.argv[1:]]
"""
IMPORTED = "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", FAKES + code, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("check", "--help"),
        ("check", "--output-format", "json", "--", "--model-path", "m"),
        ("check", "--", "--model-path", "m"),
    ],
)
def test_rich_is_not_imported_without_a_terminal(words: tuple[str, ...]) -> None:
    done = python(f"try:\n    main()\nfinally:\n    {IMPORTED}", *words)
    assert done.returncode == 0
    assert done.stdout
    assert not {"rich", "libcst", "networkx", "multiprocessing"} & set(done.stderr.split())


def test_the_version_is_the_packages() -> None:
    assert python("main()", "--version").stdout == f"pathtrace, version {pathtrace.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", FAKES + "main()", "check", "--", "--model-path", "m"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_that_lacks_a_letter_gets_an_escape() -> None:
    code = "import dataclasses\nSTORY = dataclasses.replace(STORY, notes=('größer',))\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", FAKES + code, "check", "--", "--model-path", "m"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0
    assert "note: gr\\xf6\\xdfer" in done.stdout
