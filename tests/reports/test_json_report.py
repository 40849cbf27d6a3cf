"""JSON: what stands in docs/json-schema.json is what comes out."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from pathtrace.reports.json_report import SCHEMA_VERSION, to_json, write_json
from pathtrace.tests.reports.answers import ALL, REFUSED_AT_PARSE, STORY, UNDECIDED, UNMET
from pathtrace.tests.reports.strategies import answers
from pathtrace.tracer.answer import Answer

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "json-schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_a_schema_and_carries_the_version() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == f"urn:pathtrace:answer:{SCHEMA_VERSION}"
    assert SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION


def test_every_field_is_described_and_every_object_is_closed() -> None:
    for name, each in [("root", SCHEMA), *SCHEMA["$defs"].items()]:
        assert each["description"], name
        if each.get("type") == "object":
            assert each["additionalProperties"] is False, name
        for key, value in each.get("properties", {}).items():
            assert value.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("name", ALL)
def test_every_outcome_fits_the_schema(name: str) -> None:
    VALIDATOR.validate(to_json(ALL[name]))
    VALIDATOR.validate(to_json(ALL[name], changes=False))


@given(answers)
def test_any_answer_fits_the_schema_and_survives_json(answer: Answer) -> None:
    report = to_json(answer)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    VALIDATOR.validate(report)


def test_the_story_in_json() -> None:
    report = to_json(STORY)
    assert report["outcome"] == "worker"
    assert report["worker"] == {
        "class": "EAGLEWorker",
        "module": "sglang.srt.speculative.eagle_worker",
        "file": "sglang/srt/speculative/eagle_worker.py",
        "line": 88,
    }
    assert report["event_loop"] == "synchronous"
    assert report["decisions"][0]["readings"][1] == {
        "name": "envs.SGLANG_ENABLE_SPEC_V2.get()",
        "value": "False",
        "origins": [{"kind": "default", "text": "SGLANG_ENABLE_SPEC_V2", "file": "sglang/srt/environ.py", "line": 414}],
    }
    assert report["changes"][0]["edits"] == ["set SGLANG_ENABLE_SPEC_V2=1"]
    assert report["changes"][0]["worker"]["class"] == "EAGLEWorkerV2"
    assert report["possible_refusals"][0]["when"] == {
        "text": "torch.cuda.device_count() < 1",
        "supply": ["--assume gpus=1"],
    }
    assert report["ignored"][1]["became"] == "True"


def test_what_is_not_there_is_null_not_absent() -> None:
    report = to_json(UNMET)
    assert report["refusal"] is None
    assert report["alternatives"] == []
    assert report["expect"] == {"wanted": "EAGLEWorkerV2", "met": False}
    assert to_json(STORY)["expect"] is None


def test_a_refusal_at_parse_has_no_line_and_keeps_its_hint() -> None:
    refusal = to_json(REFUSED_AT_PARSE)["refusal"]
    assert (refusal["phase"], refusal["file"], refusal["line"]) == ("parse", None, None)
    assert "--speculative-algorithm" in refusal["hint"]


def test_an_undecided_answer_names_each_result_with_its_condition() -> None:
    alternatives = to_json(UNDECIDED)["alternatives"]
    assert [each["outcome"] for each in alternatives] == ["worker", "worker", "refused"]
    assert alternatives[0]["when"]["supply"] == ["--draft-config FILE"]


def test_changes_are_absent_where_they_were_not_searched_for() -> None:
    assert not {"changes", "changes_note"} & set(to_json(STORY, changes=False))


def test_infinity_becomes_text() -> None:
    answer = replace(STORY, resolved={"a": math.inf, "b": math.nan, "c": 0.5})
    assert to_json(answer)["resolved"] == {"a": "inf", "b": "nan", "c": 0.5}


def test_written_json_is_ascii_and_ends_with_a_line_end() -> None:
    stream = io.StringIO()
    write_json(replace(STORY, notes=("größer \ud800",)), stream)
    assert stream.getvalue().isascii()
    assert stream.getvalue().endswith("}\n")


@pytest.mark.parametrize("key", ["outcome", "worker", "tree", "decisions", "notes", "schema_version"])
def test_the_schema_refuses_an_answer_without_a_field(key: str) -> None:
    report = to_json(STORY)
    del report[key]
    assert not VALIDATOR.is_valid(report)


def test_the_schema_refuses_an_outcome_that_its_fields_deny() -> None:
    assert not VALIDATOR.is_valid(to_json(STORY) | {"outcome": "refused"})
    assert not VALIDATOR.is_valid(to_json(STORY) | {"surplus": 1})
