"""Fixtures of the live tests. They run only where ``-m`` asks for them: ``make test-live``."""

from __future__ import annotations

import functools
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from pathtrace.tests.live import environment as environments
from pathtrace.tests.live.environment import Environment
from pathtrace.tests.live.launches import Launch, prompts
from pathtrace.tests.live.server import Server
from pathtrace.tests.live.starting import Start, started

PROMPTS = prompts(3)
TOKENS = 14

StartServer = Callable[[Launch, Start], Server]
PlainTokens = Callable[[Launch], Future[list[list[int]]]]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes the live tests out of any run that does not name their marker."""
    if re.search(r"(?<!not )\blive", config.option.markexpr):
        return
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    if ours:
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if here not in item.path.parents]


@pytest.fixture(scope="session", autouse=True)
def ends_when_told_to() -> Iterator[None]:
    """SIGTERM ends the tests as Ctrl-C does: with their servers."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: pytest.exit("SIGTERM"))
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def environment() -> Callable[[str], Environment]:
    """``environment("0.5.9")``: what a server of that release needs, made at the first call."""
    return functools.cache(environments.environment)


@pytest.fixture
def start(environment: Callable[[str], Environment], tmp_path: Path) -> Iterator[StartServer]:
    """``start(launch, how)``: a server that was started; it ends when another one starts, or with the test."""
    with ExitStack() as stack:

        def begin(launch: Launch, how: Start) -> Server:
            stack.close()
            return stack.enter_context(started(launch, how, environment(launch.release), tmp_path / "server.log"))

        yield begin


@pytest.fixture(scope="session")
def plain_tokens(
    environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PlainTokens]:
    """``plain_tokens(launch).result()``: what a server without pathtrace answers to ``PROMPTS``.

    The server starts in the background at the call: most of a start is spent on one core.
    """

    def answered(launch: Launch) -> list[list[int]]:
        log = tmp_path_factory.mktemp("plain") / "server.log"
        with started(launch, Start(), environment(launch.release), log) as server:
            server.wait_until_ready()
            return [answer.tokens for answer in server.together(PROMPTS, TOKENS)]

    with ThreadPoolExecutor(1) as pool:
        yield functools.cache(lambda launch: pool.submit(answered, launch))
