"""Concise: a line for each finding as ruff and compilers write it, and the count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from pathtrace.reports.concise import write_concise
from pathtrace.tests.reports.answers import FOUND as TWO_FOUND
from pathtrace.tests.reports.answers import NONE, REFUSED, STORY, UNDECIDED_SHORT
from pathtrace.tests.reports.checked import (
    CLEAN,
    DEAD_PATCH,
    DEAD_VARIABLE,
    FOUND,
    HOSTILE,
    TYPED,
    UNTOLD_EXPECTATION,
    UNTOLD_REFUSAL,
    VENDORED,
    WARNED,
    any_deployments,
    deployment,
    written,
)
from pathtrace.tracer.answer import Expect, Finding, Place, Site
from pathtrace.tracer.project.check import Checked

NO_PLACE = Finding("PT108", "which worker this launch loads is not decided")
REFUSAL = "refused: ValueError: Spec v2 currently only supports topk = 1 for speculative decoding."


def lines(*checked: Checked) -> list[str]:
    return written(write_concise, *checked).splitlines()


def test_findings_and_their_count() -> None:
    assert lines(CLEAN, FOUND) == [
        "pyproject.toml:7: PT101 EAGLEWorkerV2.verify is changed, and never runs [production]",
        "deploy/prod.yaml:12:7: PT102 the tree does not read SGLANG_MAGIC [production]",
        "Found 2 findings.",
    ]


def test_one_finding_is_one() -> None:
    assert lines(deployment(STORY, DEAD_VARIABLE))[-1] == "Found 1 finding."


@pytest.mark.parametrize(
    ("checked", "says"),
    [((CLEAN,), "1 deployment is clean."), ((CLEAN,) * 3, "All 3 deployments are clean.")],
)
def test_nothing_found_is_one_line(checked: tuple[Checked, ...], says: str) -> None:
    assert lines(*checked) == [says]


@pytest.mark.parametrize(
    ("checked", "says"),
    [
        pytest.param(deployment(STORY, WARNED), "deploy/prod.yaml: PT102", id="a whole file"),
        pytest.param(
            deployment(STORY, Finding("PT102", "x", at=Site("a.yaml", None, 5))), "a.yaml: PT102", id="no line"
        ),
        pytest.param(deployment(STORY, DEAD_PATCH, at=Site("a.toml")), "a.toml: PT101", id="a deployment of no line"),
        pytest.param(
            deployment(STORY, DEAD_PATCH, at=TYPED),
            "sglang/srt/speculative/eagle_worker_v2.py:706: PT101",
            id="typed, on a release",
        ),
        pytest.param(
            deployment(STORY, DEAD_PATCH, at=TYPED, tree=VENDORED),
            "vendor/python/sglang/srt/speculative/eagle_worker_v2.py:706: PT101",
            id="typed, on a folder",
        ),
        pytest.param(deployment(NONE, NO_PLACE, at=TYPED), "PT108", id="typed, of no line"),
    ],
)
def test_what_is_not_known_is_left_out(checked: Checked, says: str) -> None:
    assert lines(checked)[0].startswith(f"{says} ")


def test_a_launch_without_a_name_has_no_brackets() -> None:
    assert lines(deployment(STORY, NO_PLACE, name="", at=TYPED))[0] == (
        "PT108 which worker this launch loads is not decided"
    )


class TestAnOutcomeThatNoFindingTells:
    def test_is_a_line_and_counted(self) -> None:
        assert lines(CLEAN, UNTOLD_REFUSAL, UNTOLD_EXPECTATION) == [
            f"pyproject.toml:20: batch {REFUSAL}",
            "pyproject.toml:30: canary unexpected: EAGLEWorker, synchronous; EAGLEWorkerV2 is expected",
            "Found 0 findings, and 2 deployments refused, undecided or not as expected.",
        ]

    def test_is_a_line_beside_findings_about_other_things(self) -> None:
        assert lines(deployment(REFUSED, DEAD_VARIABLE))[0] == f"pyproject.toml:7: production {REFUSAL}"

    def test_says_what_would_decide(self) -> None:
        (line, _) = lines(deployment(UNDECIDED_SHORT))
        assert line.startswith("pyproject.toml:7: production undecided: EAGLEWorkerV2, overlap if sm >= 90")

    @pytest.mark.parametrize("code", ["PT104", "PT108"])
    def test_is_none_where_one_does(self, code: str) -> None:
        answer = REFUSED if code == "PT104" else UNDECIDED_SHORT
        assert lines(deployment(answer, Finding(code, "said"))) == [
            f"pyproject.toml:7: {code} said [production]",
            "Found 1 finding.",
        ]


class TestWhatIsAccepted:
    def test_is_counted_and_not_shown(self) -> None:
        refused = deployment(REFUSED, accepted=frozenset({"PT104"}))
        assert lines(refused) == ["1 deployment is clean; 1 known finding let pass."]
        assert lines(CLEAN, refused)[0] == "All 2 deployments are clean; 1 known finding let pass."
        assert lines(FOUND, refused)[-1] == "Found 2 findings; 1 known finding let pass."

    def test_hides_no_other_outcome(self) -> None:
        answer = replace(REFUSED, expect=Expect("EAGLEWorkerV2", False))
        (line, _) = lines(deployment(answer, accepted=frozenset({"PT104"})))
        assert line.startswith("pyproject.toml:7: production unexpected: refused: ValueError: Spec v2")
        assert line.endswith("; EAGLEWorkerV2 is expected")


class TestPaths:
    def test_are_from_the_current_folder_where_below_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        below = deployment(STORY, DEAD_PATCH, at=Site(str(tmp_path / "deploy" / "a.toml"), 3))
        beside = deployment(STORY, DEAD_PATCH, at=Site(str(tmp_path.parent / "a.toml"), 3))
        above = deployment(STORY, DEAD_PATCH, at=Site("../a.toml", 3))
        starts = [each.partition(" ")[0] for each in lines(below, beside, above)[:3]]
        assert starts == ["deploy/a.toml:3:", f"{tmp_path.parent}/a.toml:3:", "../a.toml:3:"]

    def test_keep_their_blanks(self) -> None:
        assert lines(deployment(STORY, DEAD_PATCH, at=Site("a  b.toml", 1)))[0].startswith("a  b.toml:1: ")


def test_text_of_others_cannot_start_a_line_or_move_the_cursor() -> None:
    found = Finding("PT101", HOSTILE, Place("x", 1))
    (line, count) = lines(deployment(STORY, found, name=HOSTILE, at=Site(HOSTILE, 1)))
    assert line.isprintable()
    assert "\\x1b[31mred\\x00" in line
    assert count == "Found 1 finding."


def test_the_findings_of_a_report_are_those_of_the_answer() -> None:
    assert [each.split()[1] for each in lines(deployment(TWO_FOUND, *TWO_FOUND.findings))[:2]] == ["PT101", "PT102"]


@given(any_deployments)
def test_there_is_a_line_for_each_thing_that_is_wrong(checked: list[Checked]) -> None:
    shown = lines(*checked)
    assert all(each.isprintable() and each == each.strip() for each in shown)
    findings = sum(len(each.answer.findings) for each in checked)
    assert findings <= len(shown) - 1 <= findings + len(checked)
    assert (len(shown) == 1) == all(each.exit_code == 0 for each in checked)
