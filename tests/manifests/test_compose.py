"""Launches in Compose files, as `docker compose config` and the Compose specification say they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.manifests.compose import launches_in_compose
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch
from pathtrace.tracer.manifests.yaml_launches import launches_in_yaml

OPEN_MODEL = "\0${MODEL}\0"


def found(text: str, given: dict[str, str] | None = None, folder: Path | None = None) -> list[Found]:
    return launches_in_compose(text, "compose.yaml", given or {}, folder)


def launch(text: str, given: dict[str, str] | None = None, folder: Path | None = None) -> FoundLaunch:
    (only,) = found(text, given, folder)
    assert isinstance(only, FoundLaunch), only
    return only


def unread(text: str) -> UnreadLaunch:
    (only,) = found(text)
    assert isinstance(only, UnreadLaunch), only
    return only


def service(*lines: str) -> str:
    """A Compose file whose service has these lines; the first is line 4, and they start in column 5."""
    head = ["services:", "  llm:", "    image: lmsysorg/sglang:latest"]
    return "\n".join([*head, *(f"    {line}" for line in lines), ""])


SHARED = """\
x-common: &common
  HF_HOME: /models
  NCCL_DEBUG: INFO
services:
  prefill:
    image: lmsysorg/sglang:latest
    profiles: [gpu]
    command: >
      python3 -m sglang.launch_server
      --model-path meta-llama/Llama-3.1-8B-Instruct
      --tp 2
    environment:
      <<: *common
      NCCL_DEBUG: WARN
  redis:
    image: redis:7
    command: redis-server --save 60 1
"""


def test_a_folded_command_with_shared_variables() -> None:
    one = launch(SHARED)
    assert (one.name, one.file) == ("services.prefill", "compose.yaml")
    assert one.launch.entry == "launch_server"
    assert one.launch.argv == ("--model-path", "meta-llama/Llama-3.1-8B-Instruct", "--tp", "2")
    assert one.launch.env == {"HF_HOME": "/models", "NCCL_DEBUG": "WARN"}
    assert one.launch.outside == "given"
    assert one.notes == ()


def test_every_word_and_variable_has_its_place() -> None:
    one = launch(SHARED)
    assert one.spot == Spot(9, 7)
    assert one.words == (Spot(10, 7), Spot(10, 20), Spot(11, 7), Spot(11, 12))
    assert one.variables == {"HF_HOME": Spot(2, 12), "NCCL_DEBUG": Spot(14, 19)}


@pytest.mark.parametrize(
    ("lines", "argv"),
    [
        (['command: ["sglang", "serve", "--tp", "2"]'], ("--tp", "2")),
        (["entrypoint: python3 -m sglang.launch_server", "command: --tp 2"], ("--tp", "2")),
        (["entrypoint: [python3, -m]", 'command: [sglang.launch_server, --tp, "2"]'], ("--tp", "2")),
        (["command: >", """  sglang serve --x '{"a": "b c"}' "d e" """], ("--x", '{"a": "b c"}', "d e")),
        (["""command: sglang serve --x "it's" 'y'"""], ("--x", "it's", "y")),
        ([r"command: sglang serve a\ b"], ("a b",)),
        (["command: sglang serve --tp ''"], ("--tp", "")),
        (["command: tini -- env A=1 nohup sglang serve --tp 2"], ("--tp", "2")),
        (["command: !override [sglang, serve, --tp, '2']"], ("--tp", "2")),
    ],
)  # fmt: skip
def test_words_of_a_command(lines: list[str], argv: tuple[str, ...]) -> None:
    assert launch(service(*lines)).launch.argv == argv


@pytest.mark.parametrize(
    ("written", "given", "becomes"),
    [
        ("$TP", {"TP": "4"}, "4"),
        ("${TP}", {"TP": "4"}, "4"),
        ("${TP:-2}", {}, "2"),
        ("${TP:-2}", {"TP": ""}, "2"),
        ("${TP-2}", {}, "2"),
        ("x${TP-2}", {"TP": ""}, "x"),
        ("${TP:-${OTHER:-3}}", {}, "3"),
        ("${TP:-${OTHER:-3}}", {"OTHER": "5"}, "5"),
        ("x${TP:+6}", {}, "x"),
        ("x${TP:+6}", {"TP": "1"}, "x6"),
        ("x${TP:+6}", {"TP": ""}, "x"),
        ("x${TP+6}", {"TP": ""}, "x6"),
        ("${TP:?no TP}", {"TP": "4"}, "4"),
        ("$$TP", {"TP": "4"}, "$TP"),
        ("$${TP}", {"TP": "4"}, "${TP}"),
        ("$TP", {}, "\0$TP\0"),
        ("${TP}", {}, "\0${TP}\0"),
        ("${TP:?no TP}", {}, "\0${TP}\0"),
        ("${TP:?no TP}", {"TP": ""}, "\0${TP}\0"),
        ("a${TP}b", {}, "a\0${TP}\0b"),
    ],
)
def test_variables_as_compose_fills_them_in(written: str, given: dict[str, str], becomes: str) -> None:
    assert launch(service(f"command: [sglang, serve, --tp, '{written}']"), given).launch.argv == ("--tp", becomes)


def test_a_default_is_noted_and_a_stated_value_is_not() -> None:
    text = service("command: sglang serve --tp ${TP:-2}")
    (note,) = launch(text).notes
    assert note == "TP is taken as not set, so `${TP:-2}` is its default; give --env TP=... if it is set"
    assert launch(text, {"TP": "4"}).notes == ()


def test_a_value_is_filled_in_before_the_command_is_split() -> None:
    one = launch(service("command: sglang serve ${EXTRA} --port 1"), {"EXTRA": "--tp 2"})
    assert one.launch.argv == ("--tp", "2", "--port", "1")
    # Words that come from a variable stand where it does; the next one stands for itself.
    assert one.words == (Spot(4, 27), Spot(4, 27), Spot(4, 36), Spot(4, 43))


def test_the_file_beside_it_gives_values_that_the_user_does_not(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TP=8\nPORT=1\n")
    text = service("command: sglang serve --tp $TP --port $PORT")
    assert launch(text, {"PORT": "2"}, tmp_path).launch.argv == ("--tp", "8", "--port", "2")


def test_a_word_that_may_hide_flags_cannot_be_told() -> None:
    one = unread(service("command: sglang serve --tp 2 ${EXTRA}"))
    assert one.reason == "`${EXTRA}` may stand for any flags; give --env EXTRA=..."
    assert one.spot == Spot(4, 34)
    assert unread(service("command: sglang serve --${FLAG} 2")).reason.endswith("give --env FLAG=...")


def test_a_value_that_is_not_stated_stays_open_behind_its_flag() -> None:
    one = launch(service("command: sglang serve --model-path ${MODEL}"))
    assert one.launch.argv == ("--model-path", OPEN_MODEL)
    assert one.notes == ("${MODEL} is taken as the one value of --model-path",)
    # One word of a list, or one in quotes, stays one word.
    assert launch(service("command: [sglang, serve, --model-path, '${MODEL}']")).notes == ()
    assert launch(service("command: sglang serve --model-path '${MODEL}'")).notes == ()


@pytest.mark.parametrize(
    ("lines", "given", "env", "forwarded"),
    [
        (["environment: {A: 1, B: 'x', C: true, D: 1.5}"], {}, {"A": "1", "B": "x", "C": "true", "D": "1.5"}, set()),
        (["environment: ['A=1', 'B=x=y', 'C=']"], {}, {"A": "1", "B": "x=y", "C": ""}, set()),
        (["environment: [A]"], {}, {}, {"A"}),
        (["environment: [A]"], {"A": "2"}, {"A": "2"}, set()),
        (["environment:", "  A:"], {}, {}, {"A"}),
        (["environment: {A: '$X', B: '$$X'}"], {"X": "3"}, {"A": "3", "B": "$X"}, set()),
        (["environment: {A: '${X}'}"], {}, {"A": "\0${X}\0"}, set()),
        (["environment: {A: 010}"], {}, {"A": "\x00010\0"}, set()),
    ],
)
def test_variables_of_a_service(
    lines: list[str], given: dict[str, str], env: dict[str, str], forwarded: set[str]
) -> None:
    one = launch(service("command: sglang serve", *lines), given).launch
    assert (one.env, one.forwarded) == (env, frozenset(forwarded))


def test_environment_wins_over_later_env_file_over_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text("A=a\nB=a\nC=a\n")
    (tmp_path / "b.env").write_text("B=b\nC=b\n")
    lines = ("env_file: [a.env, {path: b.env, required: true}, {path: no.env, required: false}]", "environment: {C: c}")
    one = launch(service("command: sglang serve", *lines), {}, tmp_path)
    assert one.launch.env == {"A": "a", "B": "b", "C": "c"}
    assert one.variables == {"A": Spot(5, 16), "B": Spot(5, 30), "C": Spot(6, 22)}
    assert one.notes == ()


def test_a_file_of_variables_that_is_not_there_may_set_any(tmp_path: Path) -> None:
    unseen = launch(service("command: sglang serve", "env_file: no.env"), {}, tmp_path).launch.unseen
    assert unseen is not None and not unseen.replaces
    assert unseen.sources[0].startswith("the env_file no.env (no such file")


def test_a_service_that_is_extended_may_set_any_variable() -> None:
    unseen = launch(service("command: sglang serve", "extends: {service: base}")).launch.unseen
    assert unseen == Unseen(("the service that this one extends",))


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["command: sglang serve --tp 2 && echo"], "Compose reads command only up to `&& echo`, as no shell runs it"),
        (["command: [sglang, serve, --tp, 2]"], "`2` in command is no text, which Compose refuses; put it in quotes"),
        (["command: --model-path m"], "the image's entry point is taken to start the server"),
        (
            ["command: sglang serve", "command: sglang serve --tp 2"],
            "`command` stands twice in the service, which Compose refuses; the last counts",
        ),
        (
            ["command: |", "  sglang serve \\", "    --tp 2"],
            "a backslash in command continues no line: Compose keeps what follows it as part of a word",
        ),
    ],
)
def test_what_is_noted(lines: list[str], note: str) -> None:
    assert launch(service(*lines)).notes == (note,)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["extends: {service: base, file: sglang.yaml}"], "docker compose config"),
        (["command: sglang serve 'x"], "never closed"),
        (['command: sglang serve "x'], "never closed"),
        (["command: sglang serve $(nproc)"], "$$ for the character"),
        (["command: sglang serve (x)"], "quote it"),
        (["command: {sglang: serve}"], "write a list of words"),
        (["command: !python [sglang, serve]", "entrypoint: [sglang, serve]"], "give the value of !python"),
    ],
)
def test_what_cannot_be_told(lines: list[str], reason: str) -> None:
    assert reason in unread(service(*lines)).reason


@pytest.mark.parametrize(
    "text",
    [
        service(),
        service("command: bench --x"),
        service("command: python3 -m sglang_router.launch_router --port 1"),
        service("command: []"),
        service("command: !reset null"),
        "services: {}\n# sglang\n",
        "services: [sglang]\n",
        "sglang\n",
        "services:\n  a: {image: vllm, command: --model-path m}\n# sglang\n",
    ],
)
def test_what_starts_no_server(text: str) -> None:
    assert found(text) == []


def test_a_compose_file_is_told_by_its_services() -> None:
    (one,) = launches_in_yaml(SHARED, "x.yml", {}, None)
    assert one.name == "services.prefill"


def test_shell_text_in_a_command() -> None:
    lines = ("  - bash", "  - -c", "  - |", "    export A=1", "    sglang serve --tp 2 \\", "      --port $$B")
    one = launch(service("command:", *lines), {"B": "3"})
    assert one.launch.argv == ("--tp", "2", "--port", "3")
    assert one.launch.env == {"A": "1"}
    assert one.launch.outside == "given"
    assert one.words == (Spot(9, 22), Spot(9, 27), Spot(10, 11), Spot(10, 18))


def test_what_compose_does_not_fill_in_is_open_in_shell_text_too() -> None:
    one = launch(service("command: bash -c 'sglang serve --model-path ${MODEL}/x --tp 2'"))
    assert one.launch.argv == ("--model-path", "\0${MODEL}\0/x", "--tp", "2")
    assert one.words == (Spot(4, 36), Spot(4, 49), Spot(4, 60), Spot(4, 65))


def test_shell_text_in_quotes_and_over_lines() -> None:
    one = launch(service("command: >", "  bash -lc", "  'A=1", "  exec sglang serve", "  --tp 2'"))
    assert one.launch.argv == ("--tp", "2")
    assert one.spot == Spot(7, 7)
    assert one.words == (Spot(8, 7), Spot(8, 12))


def test_shell_text_that_is_no_shell_cannot_be_told() -> None:
    one = unread(service("command:", "  - bash", "  - -c", "  - |", "    sglang serve", "    echo 'x"))
    assert one.reason.startswith("is not shell that can be read")
    assert one.name == "services.llm"
