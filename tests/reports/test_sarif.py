"""SARIF 2.1.0: valid by its own schema, and what the standard says beyond it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest
from hypothesis import given

import pathtrace
from pathtrace.reports.sarif import write_sarif
from pathtrace.reports.sarif_locations import percent_encoded
from pathtrace.rules.fingerprint import fingerprint
from pathtrace.rules.registry import RULES
from pathtrace.tests.reports.answers import REFUSED, STORY
from pathtrace.tests.reports.checked import (
    CLEAN,
    DEAD_PATCH,
    DEAD_VARIABLE,
    FOUND,
    HOSTILE,
    RELEASE,
    TYPED,
    UNTOLD_REFUSAL,
    VENDORED,
    WARNED,
    any_deployments,
    deployment,
    written,
)
from pathtrace.tests.reports.sarif_schema import sarif_validator
from pathtrace.tracer.answer import Decision, Finding, Place, Site
from pathtrace.tracer.project.check import Checked

V2_FILE = "sglang/srt/speculative/eagle_worker_v2.py"
# RFC 3986: what a path may hold, beside percent-encoded bytes.
PATH = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*")


def log(*checked: Checked) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(written(write_sarif, *checked))
    return loaded


def run(*checked: Checked) -> dict[str, Any]:
    (only,) = log(*checked)["runs"]
    assert isinstance(only, dict)
    return only


def result(*checked: Checked) -> dict[str, Any]:
    (only,) = run(*checked)["results"]
    assert isinstance(only, dict)
    return only


def artifacts(node: Any) -> Iterator[dict[str, Any]]:
    """Every artifactLocation of a log."""
    if isinstance(node, dict):
        if "artifactLocation" in node:
            yield node["artifactLocation"]
        for each in node.values():
            yield from artifacts(each)
    elif isinstance(node, list):
        for each in node:
            yield from artifacts(each)


class TestTheSchema:
    @pytest.mark.parametrize(
        "checked",
        [(), (CLEAN,), (FOUND,), (CLEAN, FOUND, UNTOLD_REFUSAL), (deployment(STORY, DEAD_PATCH, WARNED, at=TYPED),)],
    )
    def test_takes_every_log(self, checked: tuple[Checked, ...]) -> None:
        sarif_validator().validate(log(*checked))

    def test_is_one_that_refuses(self) -> None:
        wrong = log(FOUND)
        wrong["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
        with pytest.raises(jsonschema.ValidationError):
            sarif_validator().validate(wrong)


class TestTheRun:
    def test_names_the_tool_and_how_to_read_it(self) -> None:
        found = run(CLEAN)
        driver = found["tool"]["driver"]
        assert (driver["name"], driver["version"]) == ("pathtrace", pathtrace.__version__)
        assert found["columnKind"] == "unicodeCodePoints"
        assert found["invocations"] == [{"executionSuccessful": True}]
        assert found["results"] == []

    def test_describes_every_rule(self) -> None:
        rules = run(CLEAN)["tool"]["driver"]["rules"]
        assert [(each["id"], each["name"]) for each in rules] == [(rule.code, rule.name) for rule in RULES]
        (dead_patch,) = [each for each in rules if each["id"] == "PT101"]
        assert dead_patch["shortDescription"]["text"] == (
            "Finds a changed function of a speculative worker that the launch never runs."
        )
        assert "SGLang has several workers that look alike" in dead_patch["fullDescription"]["text"]
        assert dead_patch["help"]["markdown"].startswith("## What it does\n")
        assert dead_patch["help"]["text"].startswith("What it does\n")
        assert all("helpUri" not in each for each in rules)

    def test_says_of_folders_what_they_are_and_not_where(self, tmp_path: Path) -> None:
        elsewhere = replace(VENDORED, path=str(tmp_path), given=str(tmp_path))
        found = log(FOUND, deployment(STORY, DEAD_PATCH, tree=elsewhere))
        assert found["runs"][0]["originalUriBaseIds"] == {
            "%SRCROOT%": {"description": {"text": "The folder that pathtrace was run in."}},
            "TREE1": {"description": {"text": "The folder that holds the sglang package of SGLang 0.5.9, release."}},
            "TREE2": {"description": {"text": "The folder that holds the sglang package of SGLang 0.5.9, directory."}},
        }
        assert str(tmp_path) not in json.dumps(found)

    def test_notes_an_outcome_that_no_finding_tells(self) -> None:
        found = run(UNTOLD_REFUSAL)
        assert found["results"] == []
        (invocation,) = found["invocations"]
        (note,) = invocation["toolExecutionNotifications"]
        # An "error" here would mean that the run itself failed (3.20.21).
        assert (invocation["executionSuccessful"], note["level"]) == (True, "warning")
        assert note["message"]["text"].startswith("batch refused: ValueError: Spec v2")
        assert note["locations"][0]["physicalLocation"]["region"] == {"startLine": 20}


class TestAResult:
    def test_names_its_rule_by_code_and_index(self) -> None:
        found = run(FOUND)
        rules = found["tool"]["driver"]["rules"]
        assert [each["ruleId"] for each in found["results"]] == ["PT101", "PT102"]
        assert [rules[each["ruleIndex"]]["id"] for each in found["results"]] == ["PT101", "PT102"]
        assert {each["level"] for each in found["results"]} == {"error"}

    def test_says_the_finding_and_the_deployment(self) -> None:
        assert result(deployment(STORY, DEAD_PATCH))["message"] == {
            "text": "EAGLEWorkerV2.verify is changed, and never runs [production]"
        }

    def test_is_where_a_user_would_mend_it(self) -> None:
        (location,) = result(deployment(STORY, DEAD_VARIABLE))["locations"]
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": "deploy/prod.yaml", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 12, "startColumn": 7},
        }

    def test_without_that_is_where_the_deployment_is_written(self) -> None:
        found = result(deployment(STORY, DEAD_PATCH))
        assert found["locations"][0]["physicalLocation"] == {
            "artifactLocation": {"uri": "pyproject.toml", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 7},
        }
        (related,) = found["relatedLocations"]
        assert related["id"] == 1
        assert related["physicalLocation"] == {
            "artifactLocation": {"uri": V2_FILE, "uriBaseId": "TREE1"},
            "region": {"startLine": 706},
        }

    @pytest.mark.parametrize(
        ("tree", "artifact"),
        [
            (RELEASE, {"uri": V2_FILE, "uriBaseId": "TREE1"}),
            (VENDORED, {"uri": f"vendor/python/{V2_FILE}", "uriBaseId": "%SRCROOT%"}),
        ],
    )
    def test_of_a_typed_launch_is_at_the_line_of_the_tree(self, tree: Any, artifact: dict[str, str]) -> None:
        found = result(deployment(STORY, DEAD_PATCH, at=TYPED, tree=tree))
        assert found["locations"][0]["physicalLocation"]["artifactLocation"] == artifact
        assert "relatedLocations" not in found

    def test_in_a_tree_stays_relative_to_it(self) -> None:
        found = result(deployment(STORY, Finding("PT101", "x", Place("/etc/x.py", 1)), at=TYPED))
        artifact = found["locations"][0]["physicalLocation"]["artifactLocation"]
        assert artifact == {"uri": "etc/x.py", "uriBaseId": "TREE1"}

    def test_of_a_typed_launch_without_a_line_has_no_location(self) -> None:
        assert result(deployment(STORY, Finding("PT108", "x"), at=TYPED))["locations"] == []

    def test_has_the_finding_s_fingerprint(self) -> None:
        assert result(deployment(STORY, DEAD_PATCH))["partialFingerprints"] == {
            "pathtrace/v1": fingerprint(DEAD_PATCH, "production")
        }

    def test_has_the_chain_as_its_flow(self) -> None:
        (flow,) = result(deployment(STORY, DEAD_PATCH))["codeFlows"]
        (thread,) = flow["threadFlows"]
        steps = [each["location"] for each in thread["locations"]]
        assert [each["message"]["text"] for each in steps] == [
            "condition is false",
            "sets True",
            "condition is true",
            "condition is false",
            "chooses EAGLEWorker",
        ]
        assert steps[0]["physicalLocation"] == {
            "artifactLocation": {"uri": "sglang/srt/server_args.py", "uriBaseId": "TREE1"},
            "region": {"startLine": 2368},
        }
        assert thread["locations"][0]["state"] == {
            "self.speculative_algorithm": {"text": "'EAGLE3'"},
            "envs.SGLANG_ENABLE_SPEC_V2.get()": {"text": "False"},
        }

    def test_without_a_chain_has_no_flow(self) -> None:
        assert "codeFlows" not in result(deployment(replace(REFUSED, decisions=()), DEAD_VARIABLE))


class TestTextOfOthers:
    def test_is_no_placeholder_and_no_link(self) -> None:
        found = result(deployment(STORY, Finding("PT105", "{0} [a](1) {x}"), name=""))
        # 3.11.5: "{" and "}" are written twice. 3.11.6: [text](destination) is a link.
        assert found["message"]["text"] == "{{0}} [a] (1) {{x}}"

    def test_is_one_line_of_what_can_be_shown(self) -> None:
        step = Decision("write", Place(HOSTILE, 3), HOSTILE)
        found = result(deployment(replace(STORY, decisions=(step,)), Finding("PT101", HOSTILE), name=HOSTILE))
        message = found["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"]["message"]["text"]
        assert found["message"]["text"].isprintable() and message.isprintable()

    @pytest.mark.parametrize(
        ("path", "uri"),
        [
            ("a b.yaml", "a%20b.yaml"),
            ("a\nb.yaml", "a%0Ab.yaml"),
            ("größe.yaml", "gr%C3%B6%C3%9Fe.yaml"),
            ("50%.yaml", "50%25.yaml"),
            ("a:b.yaml", "a%3Ab.yaml"),
            ("a?b#c.yaml", "a%3Fb%23c.yaml"),
            ("deploy/prod.yaml", "deploy/prod.yaml"),
            # A name that is no UTF-8, as os.fsdecode gives it.
            ("caf\udce9.yaml", "caf%E9.yaml"),
        ],
    )
    def test_in_a_path_is_percent_encoded(self, path: str, uri: str) -> None:
        found = result(deployment(STORY, DEAD_PATCH, at=Site(path, 1)))
        artifact = found["locations"][0]["physicalLocation"]["artifactLocation"]
        assert artifact == {"uri": uri, "uriBaseId": "%SRCROOT%"}
        assert os.fsdecode(unquote_to_bytes(uri)) == path

    def test_in_any_path_is(self) -> None:
        assert percent_encoded("\ud800") == "%ED%A0%80"

    @given(any_deployments)
    def test_keeps_the_log_valid_and_its_uris_too(self, checked: list[Checked]) -> None:
        found = log(*checked)
        sarif_validator().validate(found)
        bases = found["runs"][0]["originalUriBaseIds"]
        for each in artifacts(found):
            parts = urlsplit(each["uri"])
            assert (parts.netloc, parts.query, parts.fragment) == ("", "", "")
            assert PATH.fullmatch(parts.path)
            if "uriBaseId" in each:
                assert parts.scheme == "" and not parts.path.startswith("/")
                assert each["uriBaseId"] in bases
            else:
                assert parts.scheme == "file" and parts.path.startswith("/")


def test_a_file_that_is_not_below_the_current_folder_has_its_own_uri(tmp_path: Path) -> None:
    found = result(deployment(STORY, DEAD_PATCH, at=Site(str(tmp_path / "a b.toml"), 3)))
    assert found["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": f"file://{tmp_path}/a%20b.toml"}


def test_the_text_is_ascii_and_ends_with_a_line_end() -> None:
    text = written(write_sarif, deployment(STORY, Finding("PT101", "größe")))
    assert text.isascii() and text.endswith("}\n")
