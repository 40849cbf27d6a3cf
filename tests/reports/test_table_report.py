"""The truth table as text, JSON and Markdown."""

from __future__ import annotations

import io
import json

import pytest

from pathtrace.reports.table_report import render_table
from pathtrace.tracer.table_model import TruthTable

TABLE = TruthTable(
    columns=("algorithm", "SGLANG_ENABLE_SPEC_V2", "answer"),
    rows=(
        ("EAGLE, EAGLE3", "unset, 0", "EAGLEWorker, synchronous"),
        ("EAGLE, EAGLE3", "1", "EAGLEWorkerV2, overlap"),
        ("NGRAM", "any", "a|b *c* __d__ [e](f) <g>"),
    ),
    evaluations=180,
    notes=("device=cuda",),
)


def rendered(table: TruthTable, output_format: str) -> str:
    stream = io.StringIO()
    render_table(table, output_format, stream)
    return stream.getvalue()


def test_text_is_aligned_and_says_how_much_was_evaluated() -> None:
    assert rendered(TABLE, "text").splitlines() == [
        "algorithm      SGLANG_ENABLE_SPEC_V2  answer",
        "EAGLE, EAGLE3  unset, 0               EAGLEWorker, synchronous",
        "EAGLE, EAGLE3  1                      EAGLEWorkerV2, overlap",
        "NGRAM          any                    a|b *c* __d__ [e](f) <g>",
        "",
        "3 rows from 180 evaluations",
        "note: device=cuda",
    ]


def test_json_holds_everything() -> None:
    report = json.loads(rendered(TABLE, "json"))
    assert report["columns"] == list(TABLE.columns)
    assert report["rows"][1] == ["EAGLE, EAGLE3", "1", "EAGLEWorkerV2, overlap"]
    assert (report["evaluations"], report["bounded"], report["notes"]) == (180, False, ["device=cuda"])


def test_markdown_escapes_what_it_would_read_as_its_own_and_nothing_else() -> None:
    lines = rendered(TABLE, "markdown").splitlines()
    assert lines[0] == "| algorithm | SGLANG_ENABLE_SPEC_V2 | answer |"
    assert lines[1] == "| --- | --- | --- |"
    assert lines[4] == r"| NGRAM | any | a\|b \*c\* \_\_d\_\_ \[e](f) \<g\> |"


@pytest.mark.parametrize("output_format", ["text", "markdown"])
def test_a_table_cut_short_says_so(output_format: str) -> None:
    table = TruthTable(("a",), (), evaluations=5, bounded=True)
    assert "0 rows from 5 evaluations; the limit cut the table short" in rendered(table, output_format)
