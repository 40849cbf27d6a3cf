"""What brings the hook into a server that nobody supervises: variables, and the tree's own plugins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from pathtrace.tests.live import environment as environments
from pathtrace.tests.live.conftest import PROMPTS, TOKENS, PlainTokens, StartServer
from pathtrace.tests.live.environment import Environment
from pathtrace.tests.live.launches import V1, V2_PLUGIN, Launch
from pathtrace.tests.live.server import Server
from pathtrace.tests.live.starting import Start, started

pytestmark = pytest.mark.live_all


@pytest.fixture(scope="session")
def installed(environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment of the release with plugins, pathtrace installed beside SGLang."""
    return environments.with_pathtrace(environment(V2_PLUGIN.release), tmp_path_factory.mktemp("installed"))


def assert_hooked(server: Server, launch: Launch, carrier: str, expected: Future[list[list[int]]]) -> None:
    """Holds what the server's processes say, and what it answers."""
    server.wait_until_ready()
    assert [answer.tokens for answer in server.together(PROMPTS, TOKENS)] == expected.result()
    (built,) = server.built()
    assert (built.worker, built.loop, built.carrier) == (launch.worker, launch.loop, carrier)
    assert (built.mechanism, built.problem, built.origin.run) == ("observe", None, None)
    assert [line.mode for line in server.live()] == ["prefill", "decode"]
    assert server.failed() == []


def test_variables_alone(start: StartServer, plain_tokens: PlainTokens) -> None:
    expected = plain_tokens(V1)
    assert_hooked(start(V1, Start("env")), V1, "sitecustomize", expected)


def test_the_plugin_alone(installed: Environment, plain_tokens: PlainTokens, tmp_path: Path) -> None:
    expected = plain_tokens(V2_PLUGIN)
    with started(V2_PLUGIN, Start("plugin"), installed, tmp_path / "server.log") as server:
        assert_hooked(server, V2_PLUGIN, "plugin", expected)


def test_the_plugin_says_nothing_where_pathtrace_is_not_asked_for(installed: Environment, tmp_path: Path) -> None:
    with started(V2_PLUGIN, Start("none"), installed, tmp_path / "server.log") as server:
        server.wait_until_ready()
        assert server.together(PROMPTS[:1], 2)
        assert "pathtrace: " not in server.text()


def test_under_run_the_first_of_two_carriers_binds(
    installed: Environment, plain_tokens: PlainTokens, tmp_path: Path
) -> None:
    expected = plain_tokens(V2_PLUGIN)
    with started(V2_PLUGIN, Start("run"), installed, tmp_path / "server.log") as server:
        server.wait_until_said("pathtrace: confirmed: EAGLEWorkerV2 ")
        assert [answer.tokens for answer in server.together(PROMPTS, TOKENS)] == expected.result()
        (built,) = server.built()
        assert built.carrier == "sitecustomize"
