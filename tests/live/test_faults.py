"""Whatever goes wrong around the hook ends in a served request or in a clear exit, and leaves no process behind."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from pathtrace.tests.live.conftest import PROMPTS, TOKENS, PlainTokens, StartServer
from pathtrace.tests.live.environment import Environment
from pathtrace.tests.live.launches import V1, V2_NATIVE
from pathtrace.tests.live.server import READY_S, Server, free_port
from pathtrace.tests.live.starting import Start, started

pytestmark = pytest.mark.live_all

UNCONFIRMED = 97
END_S = READY_S
A_FAULT = "Fault: a fault of the test"


def assert_ended(server: Server, status: int) -> None:
    """Holds the exit status; nothing that the server started may still run by then."""
    assert server.wait_for_end(END_S) == status, server.tail()
    assert server.members() == []


def assert_serves(server: Server, expected: Future[list[list[int]]]) -> None:
    """Holds the answers against those of a server without pathtrace."""
    server.wait_until_ready()
    assert [answer.tokens for answer in server.together(PROMPTS, TOKENS)] == expected.result()


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        pytest.param("import", f"the worker could not be hooked: {A_FAULT}, at import", id="at import"),
        pytest.param("no-wrapt", "install it there: ", id="without wrapt"),
    ],
)
def test_run_stops_a_server_that_it_cannot_hook(start: StartServer, fault: str, sentence: str) -> None:
    server = start(V2_NATIVE, Start("run", env={"LIVE_FAULT": fault}))
    assert_ended(server, UNCONFIRMED)
    reason = next(line for line in server.text().splitlines() if line.startswith("pathtrace: exit 97: "))
    assert sentence in reason


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        pytest.param("binding", f"the worker could not be hooked: {A_FAULT}, at binding", id="at binding"),
        pytest.param(
            "step", f"the worker's own step ran; this is said once and counted from now on: {A_FAULT}", id="in a step"
        ),
    ],
)
def test_a_server_serves_as_if_a_hook_that_fails_were_not_there(
    start: StartServer, plain_tokens: PlainTokens, fault: str, sentence: str
) -> None:
    expected = plain_tokens(V2_NATIVE)
    server = start(V2_NATIVE, Start("run", ("--on-unconfirmed", "warn"), {"LIVE_FAULT": fault}))
    assert_serves(server, expected)
    server.wait_until_said("; the server runs on, unconfirmed")
    assert sentence in server.text()


def test_v2_is_wanted_and_v1_loads(start: StartServer) -> None:
    server = start(V1, Start("run", ("--expect", "EAGLEWorkerV2")))
    assert_ended(server, UNCONFIRMED)
    assert "pathtrace: exit 97: not confirmed: rank dp 0, pp 0, tp 0: EAGLEWorker was built" in server.text()


def test_v2_is_wanted_and_is_switched_on(start: StartServer) -> None:
    how = Start("run", ("--expect", "EAGLEWorkerV2"), {"SGLANG_ENABLE_SPEC_V2": "1"})
    server = start(V1, how)
    server.wait_until_said("pathtrace: confirmed: EAGLEWorkerV2 ")


def test_a_rank_is_killed_before_it_confirms(start: StartServer) -> None:
    server = start(V2_NATIVE, Start("run"))
    server.wait_until(lambda: server.pid_of("sglang::scheduler") is not None, "the scheduler runs")
    killed = server.pid_of("sglang::scheduler")
    assert killed is not None and server.built() == []
    server.send(signal.SIGKILL, killed)
    assert server.wait_for_end(END_S) != 0
    assert server.members() == []
    assert "before it was confirmed" in server.text()


def test_a_flooded_log_hides_no_confirmation(start: StartServer, plain_tokens: PlainTokens) -> None:
    expected = plain_tokens(V2_NATIVE)
    server = start(V2_NATIVE, Start("run", env={"LIVE_FAULT": "flood"}))
    server.wait_until_said("pathtrace: confirmed: EAGLEWorkerV2 ")
    assert_serves(server, expected)


def test_the_port_is_taken(start: StartServer) -> None:
    with socket.socket() as listener:
        port = free_port()
        listener.bind(("127.0.0.1", port))
        listener.listen()
        server = start(V2_NATIVE, Start("run", port=port))
        assert server.wait_for_end(END_S) != 0
        assert server.members() == []


def test_sigterm_during_the_start(start: StartServer) -> None:
    server = start(V2_NATIVE, Start("run"))
    server.wait_until(lambda: server.pid_of("sglang::scheduler") is not None, "the scheduler runs")
    server.send(signal.SIGTERM, server.process.pid)
    assert server.wait_for_end(END_S) != 0
    assert server.members() == []


def test_two_servers_at_once(environment: Callable[[str], Environment], tmp_path: Path) -> None:
    made = environment(V2_NATIVE.release)
    with (
        started(V2_NATIVE, Start("run"), made, tmp_path / "one.log") as one,
        started(V2_NATIVE, Start("run"), made, tmp_path / "other.log") as other,
    ):
        for server in (one, other):
            server.wait_until_said("pathtrace: confirmed: EAGLEWorkerV2 ")
        runs = [[built.origin.run for built in server.built()] for server in (one, other)]
        assert [len(found) for found in runs] == [1, 1]
        assert runs[0] != runs[1]


def test_neither_home_nor_cache_can_be_written(start: StartServer, tmp_path: Path) -> None:
    # Nobody can make a folder below a device, not even root. SGLang itself does not start without a cache.
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "PATHTRACE_CACHE_DIR"), "/dev/null/none")
    its_own = {"SGLANG_CACHE_DIR": str(tmp_path / "cache")}
    server = start(V2_NATIVE, Start("run", env=its_own, own_env=nowhere))
    server.wait_until_said("pathtrace: confirmed: EAGLEWorkerV2 ")
