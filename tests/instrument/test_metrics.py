"""Metrics: in Prometheus' text format, only where they are asked for."""

from __future__ import annotations

import re
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pathtrace.instrument.confirmation import Origin
from pathtrace.instrument.hook import Hook, Tally
from pathtrace.instrument.metrics import file_of, render, start_metrics, write_file
from pathtrace.instrument.policy import Observe
from pathtrace.instrument.settings import Settings

ORIGIN = Origin(1, None, 1, 0, None)


class EAGLEWorker:
    """Only its name is looked at."""


@pytest.fixture
def hook() -> Hook:
    hook = Hook(EAGLEWorker(), Observe(), lambda mode, size: None, lambda problem: None)
    tally = hook.tallies["decode"] = Tally()
    tally.steps, tally.requests, tally.largest, tally.step_ns, tally.hook_ns = 3, 40, 16, 1_500_000_000, 2_000
    hook.failures = 2
    return hook


def test_every_series_has_help_type_and_labels(hook: Hook) -> None:
    text = render(hook, ORIGIN)
    values = [line for line in text.splitlines() if not line.startswith("#")]
    labels = '{worker="EAGLEWorker",pp="0",tp="1",mode="decode"}'
    assert values == [
        f"pathtrace_steps_total{labels} 3",
        f"pathtrace_step_requests_total{labels} 40",
        f"pathtrace_step_requests_max{labels} 16",
        f"pathtrace_step_seconds_total{labels} 1.5",
        f"pathtrace_hook_seconds_total{labels} 2e-06",
        'pathtrace_hook_failures_total{worker="EAGLEWorker",pp="0",tp="1"} 2',
    ]
    names = [line.partition("{")[0] for line in values]
    assert re.findall(r"^# TYPE (\S+) (?:counter|gauge)$", text, re.MULTILINE) == names
    assert re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE) == names
    assert text.endswith("\n")


@pytest.mark.parametrize(
    ("origin", "file"),
    [(Origin(1, None, 1, 0, 2), "/m/p-dp2-pp0-tp1.prom"), (Origin(1), "/m/p-dp0-pp0-tp0.prom")],
)
def test_each_rank_has_a_file_of_its_own(origin: Origin, file: str) -> None:
    assert file_of("/m/p.prom", origin) == Path(file)


def test_a_file_is_put_in_place_whole(tmp_path: Path) -> None:
    for text in ("first\n", "second\n"):
        write_file(tmp_path / "p.prom", text)
        assert (tmp_path / "p.prom").read_text("utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["p.prom"]


def test_nothing_asked_for_starts_no_thread(hook: Hook) -> None:
    before = threading.active_count()
    start_metrics(Settings(), hook, ORIGIN)
    assert threading.active_count() == before


def test_a_folder_that_cannot_be_written_to_is_named_once(
    hook: Hook, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = threading.active_count()
    start_metrics(Settings(metrics_file=str(tmp_path / "none" / "p.prom")), hook, ORIGIN)
    assert threading.active_count() == before
    said = capfd.readouterr().err
    assert said.startswith(f"pathtrace: metrics cannot be written to {tmp_path}/none/p-dp0-pp0-tp1.prom: ")
    assert said.count("\n") == 1


def test_a_port_that_is_taken_gives_the_next_one(hook: Hook, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        start_metrics(Settings(metrics_port=port), hook, ORIGIN)
    found = re.fullmatch(r"pathtrace: metrics of rank pp 0, tp 1 at (http://\S+)\n", capfd.readouterr().err)
    assert found is not None
    assert int(found[1].split(":")[2].partition("/")[0]) > port
    with urllib.request.urlopen(found[1], timeout=5) as answer:
        assert answer.read().decode() == render(hook, ORIGIN)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(found[1].replace("/metrics", "/"), timeout=5)


def test_no_free_port_is_said_and_the_server_runs_on(hook: Hook, capfd: pytest.CaptureFixture[str]) -> None:
    start_metrics(Settings(metrics_port=9100, metrics_host="203.0.113.1"), hook, ORIGIN)
    assert capfd.readouterr().err.startswith("pathtrace: metrics cannot be served from 203.0.113.1:9100 on: ")
