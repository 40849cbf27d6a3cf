"""Launches in systemd units, rule by rule of systemd.syntax, systemd.service and systemd.exec."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch
from pathtrace.tracer.manifests.systemd import launches_in_unit

OPEN = "\0{}\0".format
START = "ExecStart=/usr/bin/python3 -m sglang.launch_server --model-path m"


def read(text: str, **given_values: str) -> list[Found]:
    return launches_in_unit(text, "deploy/sglang.service", given_values)


def one(text: str, **given_values: str) -> FoundLaunch:
    found = read(text, **given_values)
    assert len(found) == 1, found
    assert isinstance(found[0], FoundLaunch), found[0]
    return found[0]


SERVING = """\
[Unit]
Description=SGLang server
After=network-online.target

[Service]
Type=simple
User=sglang
Environment="SGLANG_NOTE=two words" CUDA_VISIBLE_DEVICES=0,1
Environment=TP=2
EnvironmentFile=-/etc/sglang/server.env
ExecStartPre=/usr/bin/python3 -m sglang.launch_server --help
ExecStart=/opt/venv/bin/python -m sglang.launch_server \\
    --model-path "Qwen/Qwen3-8B" \\
    # the draft
    ; and its size
    --speculative-algorithm EAGLE3 \\
    --tp ${TP} --host %H
Restart=always

[Install]
WantedBy=multi-user.target
"""


def test_a_unit_as_people_write_it() -> None:
    found = one(SERVING)
    assert found.name == "sglang.service"
    assert found.file == "deploy/sglang.service"
    assert found.launch.entry == "launch_server"
    assert found.launch.argv == (
        "--model-path",
        "Qwen/Qwen3-8B",
        "--speculative-algorithm",
        "EAGLE3",
        "--tp",
        "2",
        "--host",
        OPEN("%H"),
    )
    assert found.launch.env == {"SGLANG_NOTE": "two words", "CUDA_VISIBLE_DEVICES": "0,1", "TP": "2"}
    assert found.launch.outside == "given"
    assert found.spot == Spot(12, 11)
    assert found.words == (
        Spot(13, 5),
        Spot(13, 18),
        Spot(16, 5),
        Spot(16, 29),
        Spot(17, 5),
        Spot(17, 10),
        Spot(17, 16),
        Spot(17, 23),
    )
    assert found.variables == {"SGLANG_NOTE": Spot(8, 13), "CUDA_VISIBLE_DEVICES": Spot(8, 37), "TP": Spot(9, 13)}
    assert found.launch.unseen == Unseen(("the file /etc/sglang/server.env",), replaces=True)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        ("'a \"b\"' c", ['a "b"', "c"]),
        ('"it\'s"', ["it's"]),
        ('x="a b"', ["x=a b"]),
        ('""', [""]),
        (r"a\tb \x41 \101 \u00e4 \U0001F600 \s", ["a\tb", "A", "A", "ä", "😀", " "]),
        (r"'\x41'", ["A"]),
        (r"\"a\" \\", ['"a"', "\\"]),
        (r"\q a\ b", [r"\q", r"a\ b"]),
        (r"\x00 \ud800", [r"\x00", r"\ud800"]),
        (r"\;", [";"]),
        ('";"', [";"]),
        ("a;b", ["a;b"]),
        ("50%%", ["50%"]),
        ("a%i.b", ["a" + OPEN("%i") + ".b"]),
        ("5%", ["5%"]),
        ("$$A", ["$A"]),
        ("${A}", ["x y"]),
        ("p${A}-${B}-", ["px y-" + OPEN("${B}") + "-"]),
        ('"${A}"', ["x y"]),
        ("$A", ["x", "y"]),
        ('"$A"', ["x", "y"]),
        ("$Q", ["a b", "c"]),
        ("$E", []),
        ("${E}", [""]),
        ("-$A", ["-$A"]),
        ("$A-b", []),
        ("${A:-z}", ["${A:-z}"]),
        ("~/a*", ["~/a*"]),
    ],
)
def test_words_of_a_command(written: str, words: list[str]) -> None:
    text = f'[Service]\nEnvironment="A=x y" E=\nEnvironment="Q=\'a b\' c"\n{START} --x {written}\n'
    assert one(text).launch.argv == ("--model-path", "m", "--x", *words)


@pytest.mark.parametrize(
    "program",
    [
        "-/usr/bin/sglang serve",
        "@/usr/bin/sglang shown-name serve",
        "+/usr/bin/sglang serve",
        "!/usr/bin/sglang serve",
        "!!/usr/bin/sglang serve",
        "-@/usr/bin/sglang shown-name serve",
        '"/usr/bin/sglang" serve',
        "sglang serve",
        "/usr/bin/env A=1 sglang serve",
    ],
)
def test_what_may_stand_in_front_of_the_program(program: str) -> None:
    found = one(f"[Service]\nExecStart={program} --model-path ${{M}}\nEnvironment=M=m\n")
    assert (found.launch.entry, found.launch.argv) == ("serve", ("--model-path", "m"))


def test_a_colon_leaves_variables_as_they_are() -> None:
    found = one("[Service]\nEnvironment=M=m\nExecStart=:/usr/bin/sglang serve --model-path ${M} $M $$ %%\n")
    assert found.launch.argv == ("--model-path", "${M}", "$M", "$$", "%")


def test_a_login_shell_is_not_known() -> None:
    found = read("[Service]\nExecStart=|sglang serve --model-path m\n")
    assert found == [
        UnreadLaunch(
            "sglang.service",
            "deploy/sglang.service",
            Spot(2, 12),
            "`|` hands the command to the login shell of the user, which is not known; leave `|` out",
        )
    ]


@pytest.mark.parametrize(
    ("lines", "env"),
    [
        ("Environment=A=1 B=2", {"A": "1", "B": "2"}),
        ("Environment=A=1\nEnvironment=A=2 B=$A", {"A": "2", "B": "$A"}),
        ("Environment=A=1\nEnvironment=\nEnvironment=B=2", {"B": "2"}),
        ("Environment='A=b c' \"D=e\\tf\"", {"A": "b c", "D": "e\tf"}),
        ("Environment = A=1", {"A": "1"}),
        ("Environment=A= B", {"A": ""}),
        ("Environment=1A=x A-B=y C=z", {"C": "z"}),
        ("Environment=A=%h/x B=5%%", {"A": OPEN("%h") + "/x", "B": "5%"}),
        ("Environment=A=1 \\\n  B=2", {"A": "1", "B": "2"}),
        ("Environment=A=1 B=2 C=3\nUnsetEnvironment=A B=2 C=4", {"C": "3"}),
        ("#Environment=A=1\n;Environment=A=1", {}),
        ("[Unit]\nEnvironment=A=1\n[Service]", {}),
        ("environment=A=1", {}),
    ],
)
def test_variables(lines: str, env: dict[str, str]) -> None:
    assert one(f"[Service]\n{lines}\n{START}\n").launch.env == env


def test_a_variable_that_the_unit_removes_reaches_the_server_from_nowhere() -> None:
    found = one(f"[Service]\nUnsetEnvironment=A\n{START} --x ${{A}}\n", A="1")
    assert found.launch.unset == {"A"}
    assert found.launch.argv == ("--model-path", "m", "--x", "")


def test_a_given_value_fills_a_variable_of_the_command() -> None:
    found = one(f"[Service]\nPassEnvironment=A\n{START} --x ${{A}}\n", A="1")
    assert found.launch.argv == ("--model-path", "m", "--x", "1")
    assert found.notes == ()


@pytest.mark.parametrize(
    ("lines", "notes"),
    [
        (
            "PassEnvironment=A B\nEnvironment=B=1",
            ["A comes from the environment of systemd, which is not known; --env A=... states it"],
        ),
    ],
)
def test_variables_from_elsewhere_are_noted(lines: str, notes: list[str]) -> None:
    assert list(one(f"[Service]\n{lines}\n{START}\n").notes) == notes


@pytest.mark.parametrize(
    ("lines", "sources"),
    [
        ("EnvironmentFile=/etc/a\nEnvironmentFile=-/etc/%i", ("the file /etc/a", "the file /etc/%i")),
        ("EnvironmentFile=/etc/a\nEnvironmentFile=", ()),
    ],
)
def test_files_of_variables_may_replace_those_of_the_unit(lines: str, sources: tuple[str, ...]) -> None:
    expected = Unseen(sources, replaces=True) if sources else None
    assert one(f"[Service]\n{lines}\n{START}\n").launch.unseen == expected


def test_a_variable_that_systemd_passes_on_is_forwarded() -> None:
    assert one(f"[Service]\nPassEnvironment=A B\nEnvironment=B=1\n{START}\n").launch.forwarded == frozenset({"A"})


def test_a_variable_that_nothing_states_may_stand_for_any_flags() -> None:
    found = read(f"[Service]\n{START} $OPTS\n")
    assert isinstance(found[0], UnreadLaunch)
    assert found[0].spot == Spot(2, len(START) + 2)
    assert "--env OPTS=..." in found[0].reason


@pytest.mark.parametrize(
    ("lines", "models"),
    [
        ("ExecStart=/bin/sglang serve --model-path a\nExecStart=/bin/sglang serve --model-path b", ["a", "b"]),
        ("ExecStart=/bin/true ; /bin/sglang serve --model-path a", ["a"]),
        ("ExecStart=/bin/sglang serve --model-path a ;\nExecStart=; ", ["a"]),
        ("ExecStart=/bin/sglang serve --model-path a\nExecStart=\nExecStart=/bin/sglang serve --model-path b", ["b"]),
        ("ExecStart=/bin/sglang serve --model-path a\nExecStart=", []),
        ("ExecStartPre=/bin/sglang serve --model-path a\nExecStop=/bin/sglang serve --model-path a", []),
        ("#ExecStart=/bin/sglang serve --model-path a", []),
        ("ExecStart=/opt/start.sh sglang", []),
        ("[Unit]\nExecStart=/bin/sglang serve --model-path a", []),
    ],
)
def test_which_commands_count(lines: str, models: list[str]) -> None:
    found = read(f"[Service]\nType=oneshot\n{lines}\n")
    assert [each.launch.argv[1] for each in found if isinstance(each, FoundLaunch)] == models
    assert all(isinstance(each, FoundLaunch) and each.notes == () for each in found)


def test_several_commands_are_refused_without_oneshot() -> None:
    found = one(f"[Service]\n{START}\nExecStart=/bin/true\n")
    assert "refuses this unit" in found.notes[0]


def test_text_for_a_shell_keeps_its_places() -> None:
    text = (
        "[Service]\n"
        "Environment=TP=2\n"
        "ExecStart=/bin/bash -lc 'source /opt/venv/bin/activate && \\\n"
        '  exec python -m sglang.launch_server --model-path \\"m\\" --tp ${TP} --port $PORT\'\n'
    )
    found = one(text)
    assert found.launch.argv == ("--model-path", "m", "--tp", "2", "--port", OPEN("$PORT"))
    assert found.launch.outside == "given"
    assert found.words[0] == Spot(4, 39)
    assert found.words[2] == Spot(4, 58)


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("--model-path /m/%i", ("--model-path", "/m/" + OPEN("%i"))),
        ("--model-path m --port ${PORT}", ("--model-path", "m", "--port", OPEN("${PORT}"))),
        ('--model-path "m ${PORT}"', ("--model-path", "m " + OPEN("${PORT}"))),
        ("--model-path \\'m ${PORT}\\'", ("--model-path", "m " + OPEN("${PORT}"))),
        ("--model-path m --tp $$TP", ("--model-path", "m", "--tp", OPEN("$TP"))),
    ],
)
def test_what_systemd_does_not_know_in_text_for_a_shell(text: str, argv: tuple[str, ...]) -> None:
    assert one(f"[Service]\nExecStart=/bin/bash -c 'sglang serve {text}'\n").launch.argv == argv


def test_flags_that_systemd_does_not_know_in_text_for_a_shell() -> None:
    (found,) = read("[Service]\nExecStart=/bin/bash -c 'sglang serve --model-path m ${OPTS} %i'\n")
    assert isinstance(found, UnreadLaunch)
    assert "${OPTS}" in found.reason and "--env OPTS=..." in found.reason
    assert "PIECE" not in found.reason


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    found = one("\ufeff[Service]\r\nExecStart=/bin/sglang serve \\\r\n --model-path m\r\n")
    assert found.words == (Spot(3, 2), Spot(3, 15))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (f'[Service]\n{START} "x\n', 2, "quote is not closed"),
        (f"[Service]\nEnvironment='A=1\n{START}\n", 2, "quote is not closed"),
        (f"[Service]\n{START} \0\n", None, "binary"),
        (f"[Service]\n{START} {'a ' * 20_000}\n", 2, "over 10,000 words"),
        (f"[Service]\n{START}\n{'#' * (1 << 19)}", None, "over 512 KB"),
    ],
)
def test_what_cannot_be_read(text: str, line: int | None, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        read(text)
    assert (caught.value.file, caught.value.line) == ("deploy/sglang.service", line)


def test_a_unit_of_another_program_is_not_read_further() -> None:
    assert read('[Service]\n# like sglang\nExecStart=/bin/echo "open\n') == []


@pytest.mark.parametrize(
    "text",
    [
        f"{START}\n" * 5_000 + "Environment=A=1\n" * 5_000,
        "".join(f"Environment=A{i}=1\n" for i in range(10_000)) + f"{START}\n" * 3_000,
        "Environment=A=" + "x" * 100_000 + f"\n{START} " + "${A}" * 50_000,
        f"{START} " + "\\x41" * 100_000,
        f"{START} " + "\\" * 400_000,
        f"{START}" + " \\\n#a" * 50_000,
        f"{START}" + " ; /bin/true" * 9_000,
    ],
    ids=["commands", "variables", "growing", "escapes", "backslashes", "comments", "semicolons"],
)
def test_hostile_units_end_soon(text: str) -> None:
    started = time.process_time()
    try:
        read(f"[Service]\n{text}\n")
    except BadInput as error:
        assert error.file == "deploy/sglang.service"
    assert time.process_time() - started < 3


PIECES = st.sampled_from(
    [
        "[Service]\n", "[Unit]\n", "ExecStart=", "Environment=", "UnsetEnvironment=", "A=1 ", "${A}", "$A ", "$", "%i",
        "%", "/bin/sglang serve --model-path m ", "/bin/sh -c '", '"', "'", "\\", "\\\n", "\\x41", "\\777", "\n", " ",
        ";", " ; ", "#", "@", "|", "\r\n", "\ud800", "😀", "\x0c", "Type=oneshot\n",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read("[Service]\n" + text)
    except BadInput:
        return
    lines = text.count("\n") + 2
    assert all(1 <= each.spot.line <= lines and each.spot.column >= 1 for each in found)
