"""Every rule on a real release, as its user would meet it."""

from __future__ import annotations

import difflib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pathtrace.cli import cli
from pathtrace.tests.trees import wheel

MODELS = Path(__file__).parent.parent / "conformance" / "models"
LLAMA, DRAFT = str(MODELS / "llama/config.json"), str(MODELS / "llama-eagle3/config.json")
CONFIGS = ("--model-config", LLAMA, "--draft-config", DRAFT)
EAGLE3 = ("--model-path", "m", "--speculative-draft-model-path", "d", "--speculative-algorithm", "EAGLE3",
          "--speculative-num-steps", "3", "--speculative-eagle-topk", "1")  # fmt: skip
TOKENS = ("--speculative-num-draft-tokens", "4")
V1, V2 = "sglang/srt/speculative/eagle_worker.py", "sglang/srt/speculative/eagle_worker_v2.py"


def check(tree: str, *words: str, launch: tuple[str, ...] = EAGLE3 + TOKENS) -> Result:
    return CliRunner().invoke(
        cli, ["check", "--sglang", tree, "--no-cache", *words, "--", *launch], prog_name="pathtrace"
    )


def found(tree: str, *words: str, launch: tuple[str, ...] = EAGLE3 + TOKENS) -> list[dict[str, Any]]:
    result = check(tree, *CONFIGS, "--output-format", "json", *words, launch=launch)
    findings: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    assert result.exit_code == 1 or not findings
    return findings


@pytest.mark.parametrize(
    ("release", "words", "launch", "code", "says"),
    [
        # 0.5.14, arg_groups/speculative_hook.py: the variable is read to warn that it has gone.
        ("0.5.14", ("--env", "SGLANG_ENABLE_SPEC_V2=0"), EAGLE3 + TOKENS, "PT102", "reads it only to warn"),
        ("0.5.9", ("--env", "SGLANG_NO_SUCH=1"), EAGLE3 + TOKENS, "PT102", "does not read it"),
        # 0.5.9, server_args.py:1412: a hook for MiMo models sets the variable.
        (
            "0.5.9", ("--env", "SGLANG_ENABLE_SPEC_V2=0", "--model-config", str(MODELS / "mimo_v2/config.json")),
            ("--model-path", "m", "--speculative-algorithm", "EAGLE"), "PT103", "the tree sets it to True",
        ),
        # 0.5.9, server_args.py:2380: the newer worker wants a topk of 1.
        (
            "0.5.9", ("--env", "SGLANG_ENABLE_SPEC_V2=1"),
            (*EAGLE3[:-1], "4", "--speculative-num-draft-tokens", "8"), "PT104", "only supports topk = 1",
        ),
        # 0.5.9, server_args.py:2450: with a topk of 1 the draft tokens are the steps and one more.
        (
            "0.5.9", (), (*EAGLE3, "--max-running-requests", "16", "--speculative-num-draft-tokens", "8"), "PT105",
            "8 is given, and the server takes 4",
        ),
        # 0.5.5, scheduler.py:2008 reads next_draft_input in the overlap loop; standalone_worker.py never sets it.
        (
            "0.5.5", ("--env", "SGLANG_ENABLE_SPEC_V2=1", "--draft-config", LLAMA),
            (*EAGLE3[:5], "STANDALONE", *EAGLE3[6:], *TOKENS), "PT106", "StandaloneWorker runs in the overlap loop",
        ),
        # 0.5.20, scheduler.py:4390 gives pp_proxy_tensors; multi_layer_eagle_worker_v2.py does not take it.
        pytest.param(
            "0.5.20", (), (*EAGLE3, *TOKENS, "--enable-multi-layer-eagle", "--disable-overlap-schedule"), "PT202",
            "with pp_proxy_tensors, which it does not take", marks=pytest.mark.slow,
        ),
        ("0.5.9", ("--expect", "EAGLEWorkerV2"), EAGLE3 + TOKENS, "PT107", "this launch loads EAGLEWorker"),
    ],
)  # fmt: skip
def test_a_launch(release: str, words: tuple[str, ...], launch: tuple[str, ...], code: str, says: str) -> None:
    findings = found(str(wheel(release)), "--select", code, *words, launch=launch)
    assert [each["code"] for each in findings] == [code]
    assert says in findings[0]["message"]


def test_a_launch_that_nothing_decides() -> None:
    launch = ("--model-path", "m", "--speculative-algorithm", "EAGLE")
    result = check(str(wheel("0.5.9")), "--select", "PT108", "--output-format", "json", launch=launch)
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding["code"] == "PT108" and "--model-config FILE" in finding["message"]


def test_without_a_rule_that_is_asked_for_there_is_no_finding() -> None:
    assert found(str(wheel("0.5.9")), "--env", "SGLANG_NO_SUCH=1") == []


# ---------------------------------------------------------------- the dead patch
@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with release 0.5.9 in it, committed."""
    from pathtrace.tests.trees import mutable_tree

    folder = tmp_path_factory.mktemp("vendored")
    mutable_tree("0.5.9", folder)
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture
def edit(vendored: Path) -> Any:
    """Edit a line of a file; undone afterwards."""

    def edited(file: str, line: int) -> bytes:
        path = vendored / file
        before = path.read_text().split("\n")
        after = list(before)
        after[line - 1] += "  # off above a threshold"
        path.write_text("\n".join(after))
        name = f"python/{file}"
        return ("\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")) + "\n").encode()

    yield edited
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=vendored, check=True)


def test_the_story(vendored: Path, edit: Callable[[str, int], bytes]) -> None:
    """A person edits ``EAGLEWorkerV2.verify`` (line 700 and on) while the launch loads ``EAGLEWorker``."""
    edit(V2, 706)
    result = check(str(vendored), *CONFIGS, "--diff", "HEAD")
    assert result.exit_code == 1
    text = (
        "PT101  EAGLEWorkerV2.verify is changed, and this launch never runs it: it loads EAGLEWorker. "
        f"What runs is EAGLEWorker.verify, {V1}:691"
    )
    assert text in result.stdout
    subprocess.run(["git", "add", "."], cwd=vendored, check=True)
    assert text in check(str(vendored), *CONFIGS, "--staged").stdout
    live = check(str(vendored), *CONFIGS, "--staged", "--env", "SGLANG_ENABLE_SPEC_V2=1")
    assert (live.exit_code, "PT101" in live.stdout) == (0, False)


@pytest.mark.parametrize(
    ("file", "line", "env", "launch", "dead"),
    [
        (V1, 700, "0", EAGLE3 + TOKENS, []),
        (V1, 700, "1", EAGLE3 + TOKENS, ["EAGLEWorker.verify"]),
        # What both workers use, and what the server itself uses, is never dead.
        ("sglang/srt/speculative/eagle_info.py", 530, "0", EAGLE3 + TOKENS, []),
        ("sglang/srt/speculative/spec_info.py", 60, "0", EAGLE3 + TOKENS, []),
        # StandaloneWorkerV2 inherits the step of EAGLEWorkerV2; its own draft worker is another class's base.
        (V2, 706, "1", (*EAGLE3[:5], "STANDALONE", *EAGLE3[6:], *TOKENS), []),
        ("sglang/srt/speculative/ngram_worker.py", 230, "0", EAGLE3 + TOKENS, ["NGRAMWorker.forward_batch_generation"]),
        ("sglang/srt/managers/scheduler.py", 2347, "0", EAGLE3 + TOKENS, []),
    ],
)
def test_what_a_patch_changes(
    vendored: Path, tmp_path: Path, edit: Callable[[str, int], bytes], file: str, line: int, env: str,
    launch: tuple[str, ...], dead: list[str],
) -> None:  # fmt: skip
    patch = tmp_path / "x.patch"
    patch.write_bytes(edit(file, line))
    for tree in (str(vendored), str(wheel("0.5.9"))):  # applied already, and not yet
        findings = found(tree, "--patch", str(patch), "--env", f"SGLANG_ENABLE_SPEC_V2={env}", launch=launch)
        assert [each["message"].split(" is changed")[0] for each in findings] == dead


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--patch", "/nowhere.patch"), "cannot be read"),
        (("--diff", "no-such-revision"), "git gives no diff"),
        (("--diff", "--output=/tmp/x"), "is no revision"),
        (("--select", "PT9"), "no such rule: PT9"),
    ],
)
def test_bad_input_is_one_sentence(vendored: Path, words: tuple[str, ...], says: str) -> None:
    result = check(str(vendored), *CONFIGS, *words)
    assert result.exit_code == 2 and says in result.stderr and result.stdout == ""


def test_a_wheel_has_no_working_copy() -> None:
    result = check(str(wheel("0.5.9")), *CONFIGS, "--staged")
    assert result.exit_code == 2 and "folder of a git working copy" in result.stderr
