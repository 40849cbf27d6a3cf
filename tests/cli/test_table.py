"""``pathtrace table``: the tree's truth table."""

from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

from pathtrace.tests.cli.conftest import FakeTracer
from pathtrace.tracer.errors import BadInput

Run = Callable[..., Result]


def test_needs_no_launch(run: Run, tracer: FakeTracer) -> None:
    result = run("table", "--sglang", "0.5.9")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "algorithm  answer"
    (request,) = tracer.table_requests
    assert (request.launch, request.limit) == ((), 1000)


def test_starts_from_a_launch_where_there_is_one(run: Run, tracer: FakeTracer) -> None:
    run("table", "--env", "A=1", "--assume", "sm=90", "--limit", "50", "--", "--model-path", "m")
    (request,) = tracer.table_requests
    assert (request.launch, request.limit) == (("--model-path", "m"), 50)
    assert dict(request.assume) == {"sm": "90"}
    assert request.environment.env == ("A=1",)  # type: ignore[attr-defined]


def test_formats(run: Run) -> None:
    assert json.loads(run("table", "--output-format", "json").stdout)["evaluations"] == 7
    assert run("table", "--output-format", "markdown").stdout.startswith("| algorithm | answer |\n")


def test_bad_input_is_one_sentence(run: Run, tracer: FakeTracer) -> None:
    tracer.table = BadInput("this tree has no speculative decoding", file="0.4.0")
    result = run("table")
    assert result.exit_code == 2
    assert result.stderr == "pathtrace: error: 0.4.0: this tree has no speculative decoding\n"
