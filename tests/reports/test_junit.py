"""JUnit XML, read back with the standard library."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from junitparser import JUnitXml

from pathtrace.reports.junit import write_junit
from pathtrace.tests.reports.answers import NONE, STORY, V2
from pathtrace.tests.reports.checked import (
    CLEAN,
    DEAD_PATCH,
    FOUND,
    HOSTILE,
    TYPED,
    UNTOLD_EXPECTATION,
    UNTOLD_REFUSAL,
    VENDORED,
    any_deployments,
    deployment,
    written,
)
from pathtrace.tracer.answer import Finding, Site, TreeInfo
from pathtrace.tracer.project.check import Checked

REFUSAL = "refused: ValueError: Spec v2 currently only supports topk = 1 for speculative decoding."


def suite(*checked: Checked) -> ElementTree.Element:
    root = ElementTree.fromstring(written(write_junit, *checked).encode("utf-8"))
    assert root.tag == "testsuites"
    (only,) = root
    assert (only.tag, only.get("name")) == ("testsuite", "pathtrace")
    return only


def failures(*checked: Checked) -> list[ElementTree.Element | None]:
    return [case.find("failure") for case in suite(*checked)]


def test_a_case_for_each_deployment() -> None:
    found = suite(CLEAN, FOUND, UNTOLD_REFUSAL)
    assert [(case.tag, case.get("classname"), case.get("name")) for case in found] == [
        ("testcase", "pyproject.toml", "chat"),
        ("testcase", "pyproject.toml", "production"),
        ("testcase", "pyproject.toml", "batch"),
    ]
    assert [found.get(count) for count in ("tests", "failures", "errors", "skipped")] == ["3", "2", "0", "0"]


def test_a_clean_deployment_passes() -> None:
    assert failures(CLEAN) == [None]


def test_a_failure_has_every_finding_with_its_places() -> None:
    (failure,) = failures(FOUND)
    assert failure is not None
    assert failure.attrib == {
        "type": "PT101",
        "message": "PT101 EAGLEWorkerV2.verify is changed, and never runs (and 1 more)",
    }
    assert (failure.text or "").splitlines() == [
        "pyproject.toml:7: PT101 EAGLEWorkerV2.verify is changed, and never runs [production]",
        "  shown by sglang/srt/speculative/eagle_worker_v2.py:706",
        "deploy/prod.yaml:12:7: PT102 the tree does not read SGLANG_MAGIC [production]",
    ]


@pytest.mark.parametrize(
    ("tree", "file"),
    [(VENDORED, f"vendor/python/{V2.file}"), (replace(VENDORED, path="../sglang/python"), V2.file)],
)
def test_the_line_of_a_tree_has_its_folder_where_that_is_below_the_current_one(tree: TreeInfo, file: str) -> None:
    (failure,) = failures(deployment(STORY, DEAD_PATCH, tree=tree))
    assert failure is not None and (failure.text or "").endswith(f"\n  shown by {file}:706")


@pytest.mark.parametrize(
    ("checked", "message"),
    [
        (UNTOLD_REFUSAL, REFUSAL),
        (UNTOLD_EXPECTATION, "unexpected: EAGLEWorker, synchronous; EAGLEWorkerV2 is expected"),
    ],
)
def test_an_outcome_that_no_finding_tells_is_a_failure(checked: Checked, message: str) -> None:
    (failure,) = failures(checked)
    assert failure is not None and failure.attrib == {"type": "outcome", "message": message}


def test_a_typed_launch_has_a_class_and_a_name() -> None:
    (case,) = suite(deployment(NONE, name="", at=TYPED))
    assert (case.get("classname"), case.get("name")) == ("command line", "launch")


def test_the_text_declares_what_it_is() -> None:
    text = written(write_junit, deployment(NONE, name="größe"))
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
    assert text.endswith("</testsuites>\n")
    assert text.isascii() and 'name="gr&#246;&#223;e"' in text


def test_junitparser_reads_it_back() -> None:
    (found,) = JUnitXml.fromstring(written(write_junit, CLEAN, FOUND).encode("utf-8"))
    assert [(case.name, case.is_passed) for case in found] == [("chat", True), ("production", False)]


def test_text_of_others_is_text() -> None:
    (case,) = suite(deployment(STORY, Finding("PT101", HOSTILE), DEAD_PATCH, name=HOSTILE, at=Site(HOSTILE, 1)))
    assert case.get("name") == (
        "a|b`c` <script>x</script> ::set-output name=x::y @octocat #12 \\x1b[31mred\\x00 %0A,:\\ud800\\ufffe"
    )
    assert [child.tag for child in case] == ["failure"] and len(case[0]) == 0


@given(any_deployments)
def test_any_deployment_is_xml(checked: list[Checked]) -> None:
    found = suite(*checked)
    failed = [case.find("failure") is not None for case in found]
    assert failed == [(each.exit_code == 1) for each in checked]
    assert (found.get("tests"), found.get("failures")) == (str(len(checked)), str(sum(failed)))
