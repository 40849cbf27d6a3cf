"""Real servers whose speculation goes off above two requests: the same tokens, on, off and across the switches."""

from __future__ import annotations

import time

import pytest

from pathtrace.tests.live.conftest import PROMPTS, TOKENS, PlainTokens, StartServer
from pathtrace.tests.live.launches import (
    V1,
    V1_KNOWING,
    V1_LATER,
    V2_KNOWING,
    V2_NATIVE,
    V2_OVERLAP,
    V2_PLUGIN,
    V2_STANDALONE,
    Launch,
    prompts,
)
from pathtrace.tests.live.server import Answer, Ask, Server
from pathtrace.tests.live.starting import Start

THRESHOLD = ("--speculative-disable-batch-threshold", "2", "--hysteresis", "0.8:2")
MECHANISM = {"synchronous": "v1", "overlap": "v2"}


def assert_in_force(server: Server, mechanism: str) -> None:
    """The worker has said that it acts upon the threshold, and nothing of it has failed."""
    (built,) = server.built()
    assert (built.mechanism, built.threshold, built.acts_at, built.refused) == (mechanism, 2, 2, None)
    assert "Dynamic speculation disable enabled at threshold=2" in server.text()
    assert "failed" not in "".join(line for line in server.text().splitlines() if line.startswith("pathtrace: "))


def assert_nothing_leaks(server: Server) -> None:
    """An idle scheduler counts its slots, and ends itself when one is missing."""
    time.sleep(3)
    assert server.process.poll() is None
    assert "leak" not in server.text()


@pytest.mark.parametrize(
    ("launch", "mechanism"),
    [
        pytest.param(V1_LATER, "v1", marks=pytest.mark.live),
        pytest.param(V2_OVERLAP, "v2", marks=pytest.mark.live),
        pytest.param(V1, "v1", marks=pytest.mark.live_all),
        pytest.param(V2_PLUGIN, "v2", marks=pytest.mark.live_all),
        pytest.param(V2_NATIVE, "v2", marks=pytest.mark.live_all),
        pytest.param(V2_STANDALONE, "v2", marks=pytest.mark.live_all),
    ],
    ids=str,
)
def test_tokens_are_those_of_a_server_without_pathtrace(
    launch: Launch, mechanism: str, start: StartServer, plain_tokens: PlainTokens
) -> None:
    expected = plain_tokens(launch)
    server = start(launch, Start("run", ("--expect", launch.worker, *THRESHOLD)))
    server.wait_until_said("pathtrace: confirmed: ")

    alone = server.together(PROMPTS[:1], TOKENS)
    crowd = server.together(PROMPTS, TOKENS)
    staggered = server.ask([Ask(prompt, TOKENS, after_s=0.7 * place) for place, prompt in enumerate(PROMPTS)])
    again = server.together(PROMPTS[:1], TOKENS)

    plain = expected.result()
    assert [answer.tokens for answer in crowd] == plain
    assert [answer.tokens for answer in staggered] == plain
    assert [answer.tokens for answer in (*alone, *again)] == [plain[0], plain[0]]
    # Off, a step gives one token; on, some give more.
    assert alone[0].meta["spec_verify_ct"] < TOKENS - 1
    assert "pathtrace: speculation off at batch size 3" in server.text()
    assert "pathtrace: speculation on at batch size" in server.text()
    assert_in_force(server, mechanism)
    assert_nothing_leaks(server)


@pytest.mark.live_all
@pytest.mark.parametrize(("launch", "mechanism"), [(V1_KNOWING, "v1"), (V2_KNOWING, "v2")], ids=str)
def test_a_draft_is_as_often_right_after_an_off_period_as_without_one(
    launch: Launch, mechanism: str, start: StartServer
) -> None:
    server = start(launch, Start("run", ("--expect", launch.worker, *THRESHOLD)))
    server.wait_until_said("pathtrace: confirmed: ")
    long, *others = prompts(4)
    (before,) = server.ask([Ask(long, 90)])
    answers = server.ask([Ask(long, 90), *(Ask(prompt, 16, after_s=4.0) for prompt in others)])
    assert answers[0].tokens == before.tokens
    (_, some, most, whole), (off, *rest) = histogram(before), histogram(answers[0])
    assert off >= 10, "the others came too late: there was no off period"
    # Of the steps in which a draft was right, all three were as often as in the same answer without an off period.
    assert rest[2] / sum(rest) >= whole / (some + most + whole) - 0.1
    assert_in_force(server, mechanism)
    assert_nothing_leaks(server)


def histogram(answer: Answer) -> list[int]:
    """Steps of an answer by how many drafts were right in them."""
    meta = answer.meta
    names = ("spec_correct_drafts_histogram", "spec_accept_histogram")
    found: list[int] = next(meta[name] for name in names if name in meta)
    return found
