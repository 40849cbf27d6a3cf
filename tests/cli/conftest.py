"""A tracer made of fakes: it records what the command line asks and answers as told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import pathtrace.rules.deployments  # noqa: F401  loaded while what it imports is not yet a fake
from pathtrace.cli import cli
from pathtrace.tests.reports.answers import STORY
from pathtrace.tracer.answer import Answer, TreeInfo
from pathtrace.tracer.check import CheckRequest
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.table_model import TableRequest, TruthTable

TABLE = TruthTable(("algorithm", "answer"), (("EAGLE3", "EAGLEWorker"),), evaluations=7)


@dataclass
class FakeTracer:
    """Set ``answer`` (an answer or an exception) before a command; read the rest after it."""

    answer: Answer | BaseException = STORY
    table: TruthTable | BaseException = TABLE
    opened: list[tuple[str, str | None]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    table_requests: list[TableRequest] = field(default_factory=list)

    @property
    def request(self) -> Any:
        """The only request that was made."""
        (only,) = self.requests
        return only

    def open_tree(self, given: str, *, python: str | None = None) -> Any:
        if given == "missing":
            raise BadInput("there is no such tree", file=given)
        self.opened.append((given, python))
        return SimpleNamespace(info=TreeInfo(given, "directory", given))

    def parse_launch(self, words: Sequence[str]) -> Launch:
        if not words or "half" in words:
            raise BadInput("half a command")
        return Launch(entry="bare", argv=tuple(words))

    def merge_environment(
        self,
        launch: Launch,
        env: Sequence[str],
        env_file: Path | None,
        inherited: Mapping[str, str] | None,
    ) -> Any:
        return SimpleNamespace(launch=launch, env=tuple(env), env_file=env_file, inherited=inherited)

    def check(self, request: Any) -> Answer:
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        if "crash" in request.launch.argv:
            raise ZeroDivisionError("division by zero")
        return replace(self.answer, tree=request.tree.info, notes=request.launch.argv)

    def truth_table(self, request: TableRequest) -> TruthTable:
        self.table_requests.append(request)
        if isinstance(self.table, BaseException):
            raise self.table
        return self.table


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> FakeTracer:
    """The fake tracer, in the place of the real one."""
    fake = FakeTracer()
    parts: dict[str, dict[str, Any]] = {
        "tree.open": {"open_tree": fake.open_tree},
        "launch.parse": {"parse_launch": fake.parse_launch},
        "launch.environment": {"merge_environment": fake.merge_environment},
        "check": {"check": fake.check, "CheckRequest": CheckRequest},
        "table": {"truth_table": fake.truth_table},
    }
    for name, members in parts.items():
        module = ModuleType(f"pathtrace.tracer.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delenv("PATHTRACE_DEBUG", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return fake


@pytest.fixture
def run(tracer: FakeTracer) -> Callable[..., Result]:
    """``run("check", "--", ...)``: one command, on the fake tracer."""

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(cli, words, prog_name="pathtrace")

    return invoke
