"""Markdown of a comment, as CommonMark and GitHub's tables render it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pathtrace.reports.markdown import LONGEST_COMMENT, write_markdown
from pathtrace.reports.markdown_text import code, plain
from pathtrace.tests.reports.answers import NONE, STORY, UNDECIDED_SHORT, UNMET
from pathtrace.tests.reports.checked import (
    CLEAN,
    DEAD_PATCH,
    FOUND,
    HOSTILE,
    TYPED,
    UNTOLD_EXPECTATION,
    UNTOLD_REFUSAL,
    any_deployments,
    deployment,
    written,
)
from pathtrace.tracer.answer import Decision, Finding, Place, Site
from pathtrace.tracer.project.check import Checked

RENDERER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
OWN_TAGS = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "strong", "code"} | {
    "details",
    "summary",
}


class Page(HTMLParser):
    """What a page shows: its tags and attributes, the cells of its table, and its text outside of code."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.prose = ""
        self.everything = ""
        self._open: list[str] = []
        self.feed(RENDERER.render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs == [] or tag == "ol", (tag, attrs)
        self.tags.add(tag)
        self._open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.everything += data
        if self._open and self._open[-1] in ("th", "td"):
            self.cells[-1] += data
        if "code" not in self._open:
            self.prose += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def page(*checked: Checked) -> Page:
    return Page(written(write_markdown, *checked))


def rows(*checked: Checked) -> list[list[str]]:
    cells = page(*checked).cells[4:]
    return [cells[start : start + 4] for start in range(0, len(cells), 4)]


def test_the_table_has_every_deployment() -> None:
    assert rows(CLEAN, FOUND, UNTOLD_EXPECTATION, deployment(UNDECIDED_SHORT, name="eval")) == [
        ["chat", "no speculative decoding", "overlap", "clean"],
        ["production", "EAGLEWorker", "synchronous", "2 findings"],
        ["canary", "EAGLEWorker", "synchronous", "EAGLEWorkerV2 is expected"],
        ["eval", "EAGLEWorkerV2, overlap or EAGLEWorkerV2, synchronous", "", "undecided"],
    ]


def test_a_refusal_is_the_verdict() -> None:
    (row,) = rows(UNTOLD_REFUSAL)
    assert row == [
        "batch",
        "",
        "",
        "refused: ValueError: Spec v2 currently only supports topk = 1 for speculative decoding.",
    ]


@pytest.mark.parametrize(
    ("checked", "verdict"),
    [
        (deployment(STORY, accepted=frozenset({"PT102"})), "1 known finding"),
        (deployment(UNMET, DEAD_PATCH), "1 finding; EAGLEWorkerV2 is expected"),
        (deployment(UNDECIDED_SHORT, accepted=frozenset({"PT108"})), "1 known finding; undecided"),
    ],
)
def test_the_verdict_counts_before_it_tells(checked: Checked, verdict: str) -> None:
    assert rows(checked)[0][3] == verdict


def test_findings_and_the_chain_stand_below() -> None:
    assert written(write_markdown, CLEAN, FOUND).partition("\n### ")[2].splitlines()[:11] == [
        "production",
        "",
        "`pyproject.toml:7`",
        "",
        "- **PT101** EAGLEWorkerV2.verify is changed, and never runs (`pyproject.toml:7`, "
        "`sglang/srt/speculative/eagle_worker_v2.py:706`)",
        "- **PT102** the tree does not read SGLANG\\_MAGIC (`deploy/prod.yaml:12:7`)",
        "",
        "<details>",
        "<summary>How the worker is chosen</summary>",
        "",
        "1. `sglang/srt/server_args.py:2368` condition is false: "
        '`if self.speculative_algorithm in ["EAGLE", "EAGLE3", "STANDALONE"]'
        " and envs.SGLANG_ENABLE_SPEC_V2.get():`",
    ]


def test_the_comment_begins_with_the_count() -> None:
    assert page(CLEAN, FOUND).prose.split("\n")[:2] == ["pathtrace", "Found 2 findings."]


def test_a_deployment_without_findings_has_a_row_only() -> None:
    assert "h3" not in page(CLEAN, UNTOLD_REFUSAL).tags


def test_a_typed_launch_has_a_name_and_no_file() -> None:
    text = written(write_markdown, deployment(STORY, DEAD_PATCH, name="", at=TYPED))
    assert "\n### launch\n\n- **PT101** " in text


class TestTextOfOthers:
    def test_is_only_text(self) -> None:
        step = Decision("branch", Place(HOSTILE, 3, f"if {HOSTILE}:"), HOSTILE)
        found = Finding("PT101", HOSTILE, Place(HOSTILE, 1))
        shown = page(deployment(STORY, found, name=HOSTILE, at=Site(HOSTILE, 1)))
        assert shown.tags <= OWN_TAGS
        assert len(shown.cells) == 8
        assert shown.cells[4].replace("\u200b", "") == (
            "a|b`c` <script>x</script> ::set-output name=x::y @octocat #12 \\x1b[31mred\\x00 %0A,:\\ud800\\ufffe"
        )
        chain = page(deployment(replace(STORY, decisions=(step,)), found))
        assert chain.tags <= OWN_TAGS and len(chain.cells) == 8

    @pytest.mark.parametrize(
        "name",
        ["| a", "a |", "`", "```", "<b>", "- x", "1. x", "1) x", "# x", "> x", "***", "[a](b)", "![a](b)", "~~x~~"]
        + ["a\\", "&lt;", "<!-- x", "</details>", "www.example.org", "http://example.org", "* x", "+ x", "_a_", "==="],
    )
    def test_has_no_markup(self, name: str) -> None:
        shown = page(deployment(STORY, DEAD_PATCH, name=name))
        assert shown.tags <= OWN_TAGS
        assert shown.cells[4:] == [name, "EAGLEWorker", "synchronous", "1 finding"]
        heading = shown.everything.partition("1 finding")[2].split("\n")
        assert name in heading

    @pytest.mark.parametrize("text", ["@octocat", "a @octocat/team", "#12", "owner/repo#12", "GH-12", "gh-12"])
    def test_tells_nobody_and_links_nothing(self, text: str) -> None:
        shown = page(deployment(STORY, Finding("PT101", text), name=text))
        assert not re.search(r"@\w|#\d|gh-\d", shown.prose, re.IGNORECASE)
        assert text in shown.everything.replace("\u200b", "")


class TestLength:
    def test_whole_deployments_are_left_out_and_counted(self) -> None:
        long = [
            deployment(STORY, *[Finding("PT101", f"{number} " + "x" * 900)] * 10, name=f"d{number}")
            for number in range(12)
        ]
        text = written(write_markdown, *long)
        kept = [each[0] for each in rows(*long)]
        left_out = 12 - len(kept)
        assert len(text) <= LONGEST_COMMENT < 65_536
        assert kept == re.findall(r"^### (\w+)$", text, re.MULTILINE) == [f"d{number}" for number in range(len(kept))]
        assert 0 < left_out < 12
        assert text.endswith(
            f"\n{left_out} deployments with {left_out * 10} findings are left out: "
            "the comment would be too long. `pathtrace check` shows them.\n"
        )

    def test_one_that_is_too_long_alone_hides_no_other(self) -> None:
        giant = deployment(STORY, *[Finding("PT101", "x" * 900)] * 100, name="giant")
        text = written(write_markdown, giant, FOUND)
        assert [each[0] for each in rows(giant, FOUND)] == ["production"]
        assert "1 deployment with 100 findings is left out" in text

    def test_many_rows_are_cut_too(self) -> None:
        text = written(write_markdown, *[deployment(NONE, name=f"deployment {n}") for n in range(3000)])
        assert len(text) <= LONGEST_COMMENT and "deployments with 0 findings are left out" in text

    def test_everything_fits_usually(self) -> None:
        assert "left out" not in written(write_markdown, *[FOUND] * 10)


@pytest.mark.parametrize(
    ("text", "markdown"),
    # GitHub links addresses that begin with "scheme://" or "www." by themselves (GFM 6.9).
    [("see https://example.org", r"see https\://example.org"), ("WWW.example.org", r"WWW\.example.org")],
)
def test_an_address_is_no_link(text: str, markdown: str) -> None:
    assert plain(text) == markdown


@given(st.text(st.characters()))
def test_code_shows_the_text_and_nothing_else(text: str) -> None:
    shown = Page(f"x {code(text)} x")
    assert shown.tags <= {"p", "code"}
    assert shown.prose.split() == ["x", "x"]


@given(st.text(st.characters()))
def test_plain_shows_the_text_and_nothing_else(text: str) -> None:
    shown = Page(f"x {plain(text)} x")
    assert shown.tags == {"p"}


@given(any_deployments)
def test_any_deployment_keeps_the_page_whole(checked: list[Checked]) -> None:
    shown = page(*checked)
    assert shown.tags <= OWN_TAGS
    assert len(shown.cells) == 4 + 4 * len(checked)
    assert not re.search(r"@\w|#\d", shown.prose)
