"""The tree is read, never run: an audit hook watches a whole check, and a poisoned tree stays harmless."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pathtrace.tests import trees
from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, LLAMA

# Runs in a process of its own: an audit hook cannot be taken away again.
WATCHED = """
import ast, json, sys

TREE, CONFIG, DRAFT, CHANGES = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "changes"
FORBIDDEN = ("subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "pty.", "socket.",
             "urllib.", "http.client", "ctypes.", "webbrowser.", "ftplib.", "smtplib.")
seen = []
on = False

def hook(event, args):
    if not on:
        return
    if event.startswith(FORBIDDEN):
        seen.append(f"{event} {args!r:.120}")
    elif event == "import" and str(args[0]).split(".")[0] in ("sglang", "torch", "sgl_kernel"):
        seen.append(f"import {args[0]}")
    elif event == "exec" and ("sglang/" in args[0].co_filename or args[0].co_filename.startswith(TREE)):
        seen.append(f"exec {args[0].co_filename}")
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append(f"open for writing {args[0]}")

sys.addaudithook(hook)
real_compile = compile

def watched_compile(source, filename, mode, flags=0, *args, **kwargs):
    name = filename.decode() if isinstance(filename, bytes) else str(filename)
    if on and not flags & ast.PyCF_ONLY_AST and ("sglang" in name or TREE in name):
        seen.append(f"compile {name}")
    return real_compile(source, filename, mode, flags, *args, **kwargs)

import builtins
builtins.compile = watched_compile

from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.open import open_tree

on = True
launch = parse_launch(["--model-path", "a/llama", "--speculative-algorithm", "EAGLE3",
                       "--speculative-draft-model-path", "a/draft", "--speculative-num-steps", "3",
                       "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"])
answer = check(CheckRequest(
    tree=open_tree(TREE), launch=launch, environment=merge_environment(launch, (), None, None),
    model_config=CONFIG, draft_config=DRAFT, assume={"sm": "90", "gpus": "8", "gpu_memory_mib": "81559"},
    changes=CHANGES, cache=False))
on = False
print(json.dumps({
    "outcome": answer.outcome, "worker": answer.worker and answer.worker.cls, "changes": len(answer.changes),
    "seen": seen, "loaded": [name for name in sys.modules if name.split(".")[0] in ("sglang", "torch")]}))
"""

# Import of any module of a poisoned tree leaves this file behind. What was there before still stands below it.
POISON = "open({marker!r}, 'a').close()\n"


def watch(tree: Path, changes: bool = False) -> dict[str, object]:
    """Check a launch in a watched process; what it answered and what it did."""
    words = [sys.executable, "-c", WATCHED, str(tree), LLAMA, EAGLE3_DRAFT, "changes" if changes else ""]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def poison(folder: Path, marker: Path) -> None:
    """Make every module of a tree leave a mark when it runs."""
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        lines = text.split("\n")
        # `from __future__` must stay first; there the mark goes last, which runs just the same.
        if any(line.startswith("from __future__") for line in lines):
            path.write_text(text + "\n" + POISON.format(marker=str(marker)), "utf-8")
        else:
            path.write_text(POISON.format(marker=str(marker)) + text, "utf-8")


def test_a_check_with_its_changes_runs_nothing_and_imports_nothing_of_the_tree() -> None:
    found = watch(trees.wheel("0.5.9"), changes=True)
    assert found["worker"] == "EAGLEWorker"
    assert found["changes"], "the search for changes is part of what is watched"
    assert found["seen"] == []
    assert found["loaded"] == []


def test_a_poisoned_tree_is_answered_and_leaves_no_mark(mutable_tree: Callable[[str], Path], tmp_path: Path) -> None:
    folder, marker = mutable_tree("0.5.9"), tmp_path / "it ran"
    poison(folder, marker)
    found = watch(folder)
    assert found["worker"] == "EAGLEWorker"
    assert found["seen"] == []
    assert not marker.exists()


def test_the_poison_works(tmp_path: Path) -> None:
    package, marker = tmp_path / "sglang", tmp_path / "it ran"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 1\n", "utf-8")
    poison(tmp_path, marker)
    subprocess.run([sys.executable, "-c", "import sglang"], cwd=tmp_path, timeout=60, check=True)
    assert marker.exists()


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.system('true')",
        "__import__('subprocess').run(['true'])",
        "open({marker!r}, 'w').close()",
        "eval(\"open({marker!r}, 'w').close()\")",
        "exec(\"open({marker!r}, 'w').close()\")",
        "import socket; socket.create_connection(('localhost', 9))",
        "import pathlib; pathlib.Path({marker!r}).write_text('x')",
        "import importlib; importlib.import_module('torch')",
        "import os; os.makedirs({marker!r})",
        "import pickle; pickle.loads(b'cos\\nsystem\\n(S\"touch {marker}\"\\ntR.')",
        "print('x', file=open({marker!r}, 'w'))",
    ],
)
def test_code_with_effects_in_a_module_that_is_evaluated_has_none(
    code: str, mutable_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, marker = mutable_tree("0.4.6.post5"), tmp_path / "it ran"
    path = folder / "sglang/srt/speculative/spec_info.py"
    path.write_text(
        path.read_text("utf-8")
        + "\n"
        + code.replace("{marker!r}", repr(str(marker))).replace("{marker}", str(marker))
        + "\n"
    )
    found = watch(folder)
    assert found["seen"] == []
    assert not marker.exists()
