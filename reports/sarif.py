"""SARIF 2.1.0: findings for code scanning, each with the chain that led to it as a code flow.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

from pathtrace import __version__
from pathtrace.reports.document import printable, shortened
from pathtrace.reports.locations import user_site, written_at
from pathtrace.reports.phrases import step_result
from pathtrace.reports.problems import problems_of
from pathtrace.reports.sarif_locations import Locations
from pathtrace.reports.sarif_text import descriptor, message
from pathtrace.rules.fingerprint import fingerprint
from pathtrace.rules.registry import RULES
from pathtrace.tracer.answer import Decision, Finding, TreeInfo
from pathtrace.tracer.project.check import Checked

Json = dict[str, Any]
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "pathtrace/v1"

_INDEX = {rule.code: index for index, rule in enumerate(RULES)}


def write_sarif(checked: Sequence[Checked], stream: TextIO) -> None:
    """Write one log with one run. ASCII only, so that every stream takes it."""
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(checked)]}, stream, indent=2, allow_nan=False)
    stream.write("\n")


def _run(checked: Sequence[Checked]) -> Json:
    locations = Locations(each.tree.info for each in checked)
    driver = {"name": "pathtrace", "version": __version__, "rules": [descriptor(rule) for rule in RULES]}
    return {
        "tool": {"driver": driver},
        "invocations": [_invocation(checked, locations)],
        "originalUriBaseIds": locations.bases(),
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, each, locations) for each in checked for finding in each.answer.findings],
    }


def _invocation(checked: Sequence[Checked], locations: Locations) -> Json:
    """The run; an outcome that no finding tells is a notification, for its rule was not asked for."""
    notifications = []
    for each in checked:
        site = written_at(each)
        for problem in problems_of(each):
            if problem.code is None:
                where = {} if site is None else {"locations": [locations.of_site(site)]}
                notifications.append({"level": "warning", "message": message(problem.text), **where})
    told = {"toolExecutionNotifications": notifications} if notifications else {}
    return {"executionSuccessful": True, **told}


def _result(finding: Finding, checked: Checked, locations: Locations) -> Json:
    name = printable(checked.name)
    tree = checked.tree.info
    own = user_site(finding, checked)
    place = finding.place if finding.place is not None and finding.place.file else None
    of_tree = [] if place is None else [locations.of_place(place, tree)]
    result: Json = {"ruleId": printable(finding.code)}
    if finding.code in _INDEX:
        result["ruleIndex"] = _INDEX[finding.code]
    result["level"] = "error"
    result["message"] = message(f"{finding.message} [{name}]" if name else finding.message)
    result["locations"] = of_tree if own is None else [locations.of_site(own)]
    if own is not None and of_tree:
        result["relatedLocations"] = [{**of_tree[0], "id": 1, "message": message("the line of SGLang that shows it")}]
    result["partialFingerprints"] = {FINGERPRINT: fingerprint(finding, checked.name)}
    if checked.answer.decisions:
        steps = [_step(each, tree, locations) for each in checked.answer.decisions]
        result["codeFlows"] = [{"message": message("how the worker is chosen"), "threadFlows": [{"locations": steps}]}]
    return result


def _step(decision: Decision, tree: TreeInfo, locations: Locations) -> Json:
    location = {**locations.of_place(decision.place, tree), "message": message(step_result(decision))}
    state = {printable(each.name): message(shortened(each.value)) for each in decision.readings}
    return {"location": location, "state": state} if state else {"location": location}
