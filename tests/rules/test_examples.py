"""Every rule has its text, and finds what its own examples say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathtrace.docs.rules import PAGE, page
from pathtrace.rules.model import HEADINGS, Rule
from pathtrace.rules.registry import RULES, chosen, findings, rule_named
from pathtrace.tracer.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_examples(rule: type[Rule]) -> None:
    assert rule.VALID and rule.INVALID
    for subject in rule.VALID:
        assert findings([rule], subject) == ()
    for subject, message in rule.INVALID:
        (finding,) = findings([rule], subject)
        assert (finding.code, finding.message) == (rule.code, message)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_text_has_its_headings_in_order(rule: type[Rule]) -> None:
    headings = [line.removeprefix("## ") for line in rule.documentation().split("\n") if line.startswith("## ")]
    assert tuple(headings) == HEADINGS


def test_each_code_and_name_is_one_rule_s_and_each_rule_has_a_file() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)
    modules = {rule.__module__.rpartition(".")[2] for rule in RULES}
    others = {"__init__", "model", "examples", "registry", "deployments", "subject"}
    others |= {"baseline", "fingerprint", "locate", "suppressions"}
    files = {path.stem for path in (ROOT / "rules").glob("*.py")} - others
    assert modules == files


def test_the_page_is_written_from_the_rules() -> None:
    assert PAGE.read_text("utf-8") == page()


def test_rules_are_chosen_by_code_beginning_name_and_all() -> None:
    codes = [rule.code for rule in RULES]
    assert [rule.code for rule in chosen(["ALL"], [])] == codes
    assert [rule.code for rule in chosen(["PT1"], ["pt102", "launch-refused"])] == [
        code for code in codes if code.startswith("PT1") and code not in ("PT102", "PT104")
    ]
    assert rule_named("dead-patch") is rule_named("pt101")


def test_every_wrong_word_is_in_one_sentence() -> None:
    with pytest.raises(BadInput, match=r"no such rule: PT9, foo; the rules are PT101"):
        chosen(["PT9", "PT101"], ["foo"])
