"""Where no traffic comes, one short request shows whether steps go through the hook."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from pathtrace.instrument.confirmation import Built, Line, Live, Origin
from pathtrace.supervisor import probing
from pathtrace.supervisor import watch as watching
from pathtrace.supervisor.probe import body, send_probe
from pathtrace.supervisor.probing import listens, watch_listening
from pathtrace.supervisor.shape import Shape
from pathtrace.supervisor.verdict import Assertion
from pathtrace.supervisor.watch import Watch
from pathtrace.tests.supervisor.running import own_lines, run


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def server(port: int, *before: list[Any], key: str | None = None) -> list[list[Any]]:
    return [*before, ["serve", port, key], ["sleep", 6], ["exit", 0]]


def launch(port: int, *more: str) -> list[str]:
    return ["--port", str(port), "--skip-server-warmup", *more]


def test_a_server_without_warm_up_gets_one_short_request() -> None:
    port = free_port()
    done = run(server(port, ["built", {}]), *launch(port))
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == [
        'asked {"sampling_params": {"ignore_eos": true, "max_new_tokens": 8, "temperature": 0}, "text": "Hello"}'
    ]
    assert own_lines(done.stderr)[-1].startswith("pathtrace: confirmed: EAGLEWorker")


def test_every_replica_gets_one_with_the_key_of_the_server() -> None:
    port = free_port()
    built = [["built", {"data": 0, "pid": 1}], ["built", {"data": 1, "pid": 2}]]
    done = run(server(port, *built, key="secret"), *launch(port, "--dp", "2", "--api-key", "secret"))
    asked = done.stdout.decode().splitlines()
    assert ['"data_parallel_rank": 0' in each for each in asked] == [True, False]
    assert ['"data_parallel_rank": 1' in each for each in asked] == [False, True]


@pytest.mark.parametrize("options", [["--no-probe"], []])
def test_no_request_is_sent_where_it_is_not_wanted_or_not_yet_time(options: list[str]) -> None:
    port = free_port()
    # Without --skip-server-warmup the server's own warm-up is waited for.
    words = launch(port) if options else ["--port", str(port)]
    done = run(server(port, ["built", {}]), *words, options=[*options, "--confirm-timeout", "4"])
    assert done.returncode == 97
    assert done.stdout == b""
    assert "no decode and no prefill step has gone through the hook" in own_lines(done.stderr)[1]


# Without processes.


def watch(*lines: Line, **shape: Any) -> Watch:
    found = Watch(Assertion(Shape(**shape), run="r"), timeout_s=1000.0, began=0.0)
    for line in lines:
        found.hear(line)
    return found


BUILT = Built(Origin(1, "r", 0, 0), worker="W", module="m", mechanism="observe")
LIVE = [Live(Origin(1, "r", 0, 0), "W", mode, 1) for mode in ("prefill", "decode")]


@pytest.mark.parametrize(
    ("lines", "shape", "listens_at", "wanted"),
    [
        ([BUILT], {"skip_server_warmup": True}, 5.0, True),
        ([BUILT], {"skip_server_warmup": True}, None, False),
        ([], {"skip_server_warmup": True}, 5.0, False),
        ([BUILT, *LIVE], {"skip_server_warmup": True}, 5.0, False),
        ([BUILT], {"skip_server_warmup": True, "tp_size": 2}, 5.0, False),
        ([BUILT], {"skip_server_warmup": True, "disaggregation_mode": "prefill"}, 5.0, False),
        ([BUILT], {}, 5.0, False),
        ([BUILT], {}, 6.0 - watching.WARM_UP_S, True),
    ],
)
def test_when_a_request_is_wanted(
    lines: list[Line], shape: dict[str, Any], listens_at: float | None, wanted: bool
) -> None:
    found = watch(*lines, **shape)
    found.listens_at = listens_at
    assert found.wants_probe(6.0) is wanted


def test_a_request_that_is_answered_past_the_hook_is_a_failure() -> None:
    found = watch(BUILT)
    found.probed_at = 10.0
    assert found.decide(10.0 + watching.GRACE_S - 0.1) is None
    decision = found.decide(10.0 + watching.GRACE_S)
    assert decision is not None and not decision.confirmed
    assert decision.sentence == "the probe request was answered, and no step for it went through the hook"


def test_a_port_that_is_not_there_gives_a_reason() -> None:
    failure = send_probe(Shape(port=free_port()), 0)
    assert failure is not None and failure.startswith("the probe request failed: ConnectionRefusedError")


@pytest.mark.parametrize(
    ("shape", "holds"),
    [
        (Shape(), {"text": "Hello"}),
        (Shape(skip_tokenizer_init=True), {"input_ids": [1, 2, 3]}),
        (Shape(dp_size=2), {"text": "Hello", "data_parallel_rank": 1}),
    ],
)
def test_the_request(shape: Shape, holds: dict[str, Any]) -> None:
    sampling = {"temperature": 0, "max_new_tokens": 8, "ignore_eos": True}
    assert body(shape, 1) == {**holds, "sampling_params": sampling}


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("[::]", "::1"), ("", "127.0.0.1"), ("10.0.0.7", "10.0.0.7")],
)
def test_a_server_is_asked_where_it_listens(host: str, address: str) -> None:
    assert Shape(host=host, port=4000).address == (address, 4000)


def test_a_connection_that_meets_itself_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as itself:
        # A client may get the port that it wants to reach as its own: TCP then joins it to itself.
        itself.bind(("127.0.0.1", 0))
        itself.connect(itself.getsockname())
        monkeypatch.setattr(socket, "create_connection", lambda address, timeout: itself)
        assert not listens(Shape(port=4000))


def test_a_program_that_has_the_port_for_a_moment_is_not_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "PAUSE_S", 0.05)
    taken = socket.create_server(("127.0.0.1", 0))
    shape = Shape(port=taken.getsockname()[1])
    told: list[bool] = []
    is_over = False
    # The one that is there from the start is being replaced.
    watch_listening(shape, lambda: is_over, told.append)
    try:
        time.sleep(0.8)
        assert told == []
        for expected in ([True], [True, False], [True, False, True]):
            if expected[-1]:
                taken.close()
                time.sleep(1.0)
                taken = socket.create_server(shape.address)
            else:
                taken.close()
            until = time.monotonic() + 15
            while told != expected and time.monotonic() < until:
                time.sleep(0.05)
            assert told == expected
    finally:
        is_over = True
        taken.close()
