"""Workflow commands, as GitHub's "Workflow commands for GitHub Actions" and its toolkit write them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from pathtrace.reports.github import escape_message, escape_property, write_github
from pathtrace.tests.reports.answers import STORY
from pathtrace.tests.reports.checked import (
    CLEAN,
    DEAD_PATCH,
    FOUND,
    HOSTILE,
    TYPED,
    UNTOLD_REFUSAL,
    WARNED,
    any_deployments,
    deployment,
    written,
)
from pathtrace.tracer.answer import Finding, Site
from pathtrace.tracer.project.check import Checked

# ::workflow-command parameter1={data},parameter2={data}::{command value}
COMMAND = re.compile(r"::error ((?:[a-z]+=[^:,\r\n]*)(?:,[a-z]+=[^:,\r\n]*)*)::([^\r\n]*)")


def lines(*checked: Checked) -> list[str]:
    return written(write_github, *checked).splitlines()


def read(line: str) -> tuple[dict[str, str], str]:
    """A command as the runner reads it: split first, unescaped then, ``%25`` last."""
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    properties = dict(each.split("=", 1) for each in match[1].split(","))
    return {name: unescaped(value) for name, value in properties.items()}, unescaped(match[2])


def unescaped(text: str) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, char)
    return text


def test_findings_become_annotations() -> None:
    assert lines(CLEAN, FOUND) == [
        "::error file=pyproject.toml,line=7,title=PT101 dead-patch"
        "::EAGLEWorkerV2.verify is changed, and never runs [production]",
        "::error file=deploy/prod.yaml,line=12,col=7,title=PT102 dead-variable"
        "::the tree does not read SGLANG_MAGIC [production]",
        "Found 2 findings.",
    ]


def test_an_outcome_that_no_finding_tells_becomes_one() -> None:
    assert lines(UNTOLD_REFUSAL)[0] == (
        "::error file=pyproject.toml,line=20,title=pathtrace"
        "::batch refused: ValueError: Spec v2 currently only supports topk = 1 for speculative decoding."
    )


def test_nothing_found_is_no_command() -> None:
    assert lines(CLEAN, CLEAN) == ["All 2 deployments are clean."]


@pytest.mark.parametrize(
    ("checked", "properties"),
    [
        (deployment(STORY, WARNED), {"file": "deploy/prod.yaml", "title": "PT102 dead-variable"}),
        (
            deployment(STORY, DEAD_PATCH, at=TYPED),
            {
                "file": "sglang/srt/speculative/eagle_worker_v2.py",
                "line": "706",
                "title": "PT101 dead-patch",
            },
        ),
        (deployment(STORY, Finding("PT108", "x"), at=TYPED), {"title": "PT108 worker-undecided"}),
        (
            deployment(STORY, DEAD_PATCH, at=Site("50%, a:b.toml", 1, 2)),
            {"file": "50%, a:b.toml", "line": "1", "col": "2", "title": "PT101 dead-patch"},
        ),
    ],
)
def test_only_what_is_known_is_a_property(checked: Checked, properties: dict[str, str]) -> None:
    assert read(lines(checked)[0])[0] == properties


@pytest.mark.parametrize(
    ("text", "message", "property_"),
    [
        ("a\nb\rc", "a%0Ab%0Dc", "a%0Ab%0Dc"),
        ("100%", "100%25", "100%25"),
        ("%0A", "%250A", "%250A"),
        ("a:b,c", "a:b,c", "a%3Ab%2Cc"),
    ],
)
def test_escaping(text: str, message: str, property_: str) -> None:
    assert (escape_message(text), escape_property(text)) == (message, property_)


def test_text_of_others_is_no_command() -> None:
    found = Finding("PT101", HOSTILE)
    (line, _count) = lines(deployment(STORY, found, name=HOSTILE, at=Site(HOSTILE, 1)))
    properties, message = read(line)
    assert line.isprintable()
    assert set(properties) == {"file", "line", "title"}
    assert "::set-output name=x::y" in message and "%0A" in message


@given(any_deployments)
def test_every_line_but_the_last_is_a_command(checked: list[Checked]) -> None:
    *commands, count = lines(*checked)
    assert len(commands) >= sum(len(each.answer.findings) for each in checked)
    for each in commands:
        read(each)
    assert count.endswith(".") and "::" not in count
