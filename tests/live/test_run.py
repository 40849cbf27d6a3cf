"""Real servers under ``pathtrace run``: confirmed from inside, every step seen, every token the same."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from pathtrace.instrument.confirmation import Built
from pathtrace.tests.live.conftest import PROMPTS, TOKENS, PlainTokens, StartServer
from pathtrace.tests.live.environment import Environment
from pathtrace.tests.live.launches import (
    V1,
    V1_LATER,
    V2_LATEST,
    V2_NATIVE,
    V2_OVERLAP,
    V2_PLUGIN,
    V2_STANDALONE,
    Launch,
    place_of,
)
from pathtrace.tests.live.server import QUIET_S, free_port, metric
from pathtrace.tests.live.starting import Start


def assert_built(built: Built, launch: Launch, environment: Environment) -> None:
    """Holds a confirmation against the tree."""
    file, line = place_of(launch.worker, environment.tree)
    assert (built.worker, built.loop) == (launch.worker, launch.loop)
    assert (built.file, built.line) == (str(environment.tree / file), line)
    assert built.module == file.removesuffix(".py").replace("/", ".")
    assert (built.mechanism, built.threshold, built.acts_at, built.problem) == ("observe", None, None, None)
    assert (built.origin.tensor, built.origin.pipeline, built.origin.data) == (0, 0, None)


def assert_all_steps_seen(metrics_port: int, counted: Path) -> None:
    """The hook's steps are the scheduler's own; the last ones may still be on their way when a request is answered."""
    ends = time.monotonic() + QUIET_S
    before: object = None
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10) as answer:
            seen = metric(answer.read().decode(), "pathtrace_steps_total")
        own = int(counted.read_text("utf-8"))
        if seen == own and before == (seen, own):
            return
        assert time.monotonic() < ends, f"the hook has seen {seen} steps, the scheduler counts {own}"
        before = (seen, own)
        time.sleep(0.5)


@pytest.mark.parametrize(
    "launch",
    [
        pytest.param(V1, marks=pytest.mark.live_all),
        pytest.param(V1_LATER, marks=pytest.mark.live_all),
        pytest.param(V2_OVERLAP, marks=pytest.mark.live_all),
        pytest.param(V2_PLUGIN, marks=pytest.mark.live_all),
        pytest.param(V2_NATIVE, marks=pytest.mark.live_all),
        pytest.param(V2_STANDALONE, marks=pytest.mark.live_all),
        pytest.param(V2_LATEST, marks=pytest.mark.live_all),
    ],
    ids=str,
)
def test_a_server_under_run_is_confirmed_and_serves_what_it_would_without(
    launch: Launch,
    start: StartServer,
    plain_tokens: PlainTokens,
    environment: Callable[[str], Environment],
    tmp_path: Path,
) -> None:
    metrics_port, counted = free_port(), tmp_path / "steps"
    how = Start("run", ("--metrics-port", str(metrics_port)), {"LIVE_STEPS_FILE": str(counted)})
    expected = plain_tokens(launch)

    server = start(launch, how)
    server.wait_until_said("pathtrace: confirmed: ")
    answers = server.together(PROMPTS, TOKENS)

    assert [answer.tokens for answer in answers] == expected.result()
    (built,) = server.built()
    assert_built(built, launch, environment(launch.release))
    assert built.carrier == "sitecustomize"
    assert [(line.worker, line.mode) for line in server.live()] == [
        (launch.worker, "prefill"),
        (launch.worker, "decode"),
    ]
    assert {line.origin for line in server.live()} == {built.origin}
    assert_all_steps_seen(metrics_port, counted)
    text = server.text()
    (answer,) = (line for line in text.splitlines() if line.startswith("pathtrace: static answer: "))
    assert re.search(rf"\b{launch.worker}\b", answer), answer
    assert f"pathtrace: confirmed: {launch.worker} " in text
