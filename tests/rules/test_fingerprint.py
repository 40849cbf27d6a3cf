"""A finding is the same one after lines and folders have moved, and another one where it says another thing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.rules.fingerprint import fingerprint
from pathtrace.tracer.answer import Finding, Place, Site

V1, V2 = "sglang/srt/speculative/eagle_worker.py", "sglang/srt/speculative/eagle_worker_v2.py"
DEAD = Finding("PT101", f"verify is changed. What runs is {V1}:691", Place(V2, 706))
TYPED = Finding("PT102", "the tree does not read SGLANG_MAGIC")
MENDED = replace(TYPED, at=Site("deploy/prod.yaml", 12, 7))


def test_it_is_hexadecimal() -> None:
    assert re.fullmatch(r"[0-9a-f]{16,32}", fingerprint(DEAD, "production"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(DEAD, replace(DEAD, place=Place(V2, 720, "def verify")), id="the line of the tree moved"),
        pytest.param(DEAD, replace(DEAD, message=f"verify is changed. What runs is {V1}:702"), id="a line it names"),
        pytest.param(MENDED, replace(MENDED, at=Site("deploy/prod.yaml", 90)), id="the user's line moved"),
        pytest.param(
            MENDED, replace(MENDED, at=Site("/builds/7/deploy/prod.yaml", 12, 7)), id="the project's folder moved"
        ),
        pytest.param(
            replace(DEAD, message="ValueError: no /checkouts/a/models/config.json here"),
            replace(DEAD, message="ValueError: no /builds/7/models/config.json here"),
            id="a folder in the message",
        ),
        pytest.param(
            replace(DEAD, message="ValueError: '/checkouts/config.json:3' is no JSON"),
            replace(DEAD, message="ValueError: '/builds/config.json:4' is no JSON"),
            id="a folder and a line in quotes",
        ),
        pytest.param(DEAD, replace(DEAD, at=Site("deploy/prod.yaml", 3)), id="where to mend it became known"),
    ],
)
def test_what_moves_does_not_change_it(before: Finding, after: Finding) -> None:
    assert fingerprint(before, "production") == fingerprint(after, "production")


@pytest.mark.parametrize(
    "other",
    [
        replace(DEAD, code="PT102"),
        replace(DEAD, message=f"draft is changed. What runs is {V1}:691"),
        replace(DEAD, message=f"verify is changed. What runs is {V2}:691"),
        replace(DEAD, place=Place(V1, 706)),
    ],
)
def test_another_finding_has_another(other: Finding) -> None:
    assert fingerprint(DEAD, "production") != fingerprint(other, "production")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("8 is given, and the server takes 4", "8 is given, and the server takes 2"),
        ("ValueError: topk = 1: x", "ValueError: topk = 2: x"),
        ("config/a.json is missing", "config/b.json is missing"),
        ("and/or", "and or"),
    ],
)
def test_numbers_and_names_that_are_no_lines_count(one: str, other: str) -> None:
    assert fingerprint(Finding("PT105", one), "a") != fingerprint(Finding("PT105", other), "a")


def test_each_deployment_has_its_own() -> None:
    assert fingerprint(DEAD, "production") != fingerprint(DEAD, "canary")


def test_parts_do_not_run_into_each_other() -> None:
    assert fingerprint(Finding("PT105", "b c"), "a") != fingerprint(Finding("PT105", "c"), "a b")


def test_the_user_s_file_counts_where_there_is_no_line_of_the_tree() -> None:
    assert fingerprint(TYPED, "a") != fingerprint(MENDED, "a")


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_has_one(message: str, name: str) -> None:
    assert len(fingerprint(Finding("PT101", message, Place(message, 1)), name)) == 32
