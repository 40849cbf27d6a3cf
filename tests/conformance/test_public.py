"""Launches from public reports must give the class that really ran there, or the refusal (public.md says which)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer
    from pathtrace.tracer.tree.model import Tree

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Report:
    """One launch of a public report, and what its evidence says of the server. Fields: see public.md."""

    id: str
    origin: str
    release: str
    launch: str
    env: dict[str, str]
    model: str | None
    draft: str | None
    assume: dict[str, str]
    supplied: list[str]
    evidence: str
    expected: dict[str, Any]


def reports() -> Iterator[Any]:
    """The launches as parameters, release by release, so that a tree and what it imports are read once."""
    lines = (HERE / "public.jsonl").read_text("utf-8").splitlines()
    for report in sorted((Report(**json.loads(line)) for line in lines), key=lambda each: each.release):
        yield pytest.param(report, id=f"{report.release}-{report.id}")


def config(name: str | None) -> str | None:
    if name is None:
        return None
    own = HERE / "public_models" / name / "config.json"
    return str(own if own.exists() else HERE / "models" / name / "config.json")


def ask(tree: Tree, report: Report) -> Answer:
    launch = parse_launch([report.launch])
    return check(
        CheckRequest(
            tree=tree,
            launch=launch,
            environment=merge_environment(launch, [f"{k}={v}" for k, v in report.env.items()], None, None),
            model_config=config(report.model),
            draft_config=config(report.draft),
            assume=report.assume,
            expect=None,
            changes=False,
            shell=None,
            cache=False,
        )
    )


def seen(answer: Answer, resolved: dict[str, Any]) -> dict[str, Any]:
    """The answer in the form of the file."""
    if answer.refusal is not None:
        refusal = answer.refusal
        return {
            "outcome": answer.outcome,
            "phase": refusal.phase,
            "exception": refusal.exception,
            "file": refusal.file,
            "line": refusal.line,
            "message": refusal.message,
        }
    return {
        "outcome": answer.outcome,
        "worker": answer.worker and answer.worker.cls,
        "loop": answer.event_loop,
        "file": answer.worker and answer.worker.file,
        "resolved": {name: answer.resolved.get(name) for name in resolved},
    }


@pytest.mark.parametrize("report", list(reports()))
def test_answer_is_what_the_report_shows(report: Report, tree: Callable[[str], Tree]) -> None:
    found = seen(ask(tree(report.release), report), report.expected.get("resolved", {}))
    stated = {key: value for key, value in report.expected.items() if value is not None}
    assert {key: found.get(key) for key in stated} == stated
