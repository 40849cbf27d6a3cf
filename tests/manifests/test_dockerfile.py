"""Launches in Dockerfiles, rule by rule of the Dockerfile reference."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.dockerfile import launches_in_dockerfile
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch

CMD = 'CMD ["python3", "-m", "sglang.launch_server", "--model-path", "m"]\n'
OPEN = "\0{}\0".format


def read(text: str, **given_values: str) -> list[Found]:
    return launches_in_dockerfile(text, "Dockerfile", given_values)


def one(text: str, **given_values: str) -> FoundLaunch:
    found = read(text, **given_values)
    assert len(found) == 1, found
    assert isinstance(found[0], FoundLaunch), found[0]
    return found[0]


def unread(text: str) -> UnreadLaunch:
    found = read(text)
    assert len(found) == 1, found
    assert isinstance(found[0], UnreadLaunch), found[0]
    return found[0]


SERVING = """\
# syntax=docker/dockerfile:1
ARG SGLANG=lmsysorg/sglang:v0.5.9-cu126

FROM ${SGLANG} AS build
RUN python3 -m sglang.launch_server --help

FROM build AS serve
ARG MODEL=Qwen/Qwen3-8B
ENV MODEL_PATH=${MODEL} \\
    # more memory for the draft
    SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1
EXPOSE 30000
HEALTHCHECK CMD curl -f http://localhost:30000/health
ENTRYPOINT ["python3", "-m", "sglang.launch_server"]
CMD ["--model-path", "Qwen/Qwen3-8B", \\
     "--speculative-algorithm", "EAGLE3", \\
     # two GPUs
     "--tp", "2"]
"""


def test_a_file_as_people_write_it() -> None:
    found = one(SERVING)
    assert found.name == "stage serve"
    assert found.file == "Dockerfile"
    assert found.launch.entry == "launch_server"
    assert found.launch.argv == (
        "--model-path",
        "Qwen/Qwen3-8B",
        "--speculative-algorithm",
        "EAGLE3",
        "--tp",
        "2",
    )
    assert found.launch.env == {"MODEL_PATH": "Qwen/Qwen3-8B", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    assert found.launch.outside == "given"
    assert found.spot == Spot(14, 13)
    assert found.words == (Spot(15, 6), Spot(15, 22), Spot(16, 6), Spot(16, 33), Spot(18, 6), Spot(18, 14))
    assert found.variables == {
        "MODEL_PATH": Spot(9, 5),
        "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": Spot(11, 5),
    }
    assert found.notes == (
        "the variables of the base image lmsysorg/sglang:v0.5.9-cu126 are not known",
        "ARG SGLANG is taken as its default 'lmsysorg/sglang:v0.5.9-cu126'; --env SGLANG=... says otherwise",
        "ARG MODEL is taken as its default 'Qwen/Qwen3-8B'; --env MODEL=... says otherwise",
    )


def test_the_shell_form_keeps_the_places_of_its_words() -> None:
    text = (
        "FROM lmsysorg/sglang\n"
        "ENV TP=4\n"
        "CMD SGLANG_X=1 python3 -m sglang.launch_server \\\n"
        "    --model-path m \\\n"
        "# a comment\n"
        "    --tp $TP\n"
    )
    found = one(text)
    assert found.launch.argv == ("--model-path", "m", "--tp", "4")
    assert found.launch.env == {"TP": "4", "SGLANG_X": "1"}
    assert found.words == (Spot(4, 5), Spot(4, 18), Spot(6, 5), Spot(6, 10))
    assert found.variables == {"TP": Spot(2, 5), "SGLANG_X": Spot(3, 5)}
    assert found.launch.outside == "given"


def test_a_shell_in_the_exec_form_keeps_the_places_behind_json_escapes() -> None:
    text = 'FROM a\nCMD ["bash", "-lc", "A=\\"x\\" sglang serve --model-path \\u006d"]\n'
    found = one(text)
    assert found.launch.entry == "serve"
    assert found.launch.argv == ("--model-path", "m")
    assert found.words == (Spot(2, 43), Spot(2, 56))


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ('CMD ["sglang", "serve", "--model-path", "$M"]', ("--model-path", "$M")),
        ('CMD [ "sglang" ,\t"serve","--model-path","a b" ] ', ("--model-path", "a b")),
        ('CMD ["sglang", "serve", "--model-path", "\\ud83d\\ude00\\/"]', ("--model-path", "😀/")),
        ('cmd ["sglang", "serve", "--model-path", "m"]', ("--model-path", "m")),
        ('\tCMD\t["sglang", "serve", "--model-path", "m"]', ("--model-path", "m")),
        ('CMD ["sglang", "serve", "--model-path", "m\\ud800"]', ("--model-path", "m\ufffd")),
    ],
    ids=["no expansion", "blanks", "escapes", "lower case", "tabs", "half a character"],
)
def test_the_exec_form_is_a_json_list(line: str, argv: tuple[str, ...]) -> None:
    assert one(f"FROM a\n{line}\n").launch.argv == argv


@pytest.mark.parametrize(
    "line",
    [
        "CMD ['python3', '-m', 'sglang.launch_server', '--model-path', 'm']",
        'CMD ["python3", "-m", "sglang.launch_server", "--model-path", "m",]',
        'CMD ["python3", "-m", "sglang.launch_server", "--model-path", "m"] # serve',
    ],
    ids=["single quotes", "comma at the end", "comment behind"],
)
def test_a_list_that_is_no_json_goes_to_a_shell(line: str) -> None:
    found = unread(f"FROM a\n{line}\n")
    assert found.spot == Spot(2, 5)
    assert "no valid JSON" in found.reason
    assert "double quotes" in found.reason


def test_a_list_of_other_things_than_strings_is_refused() -> None:
    with pytest.raises(BadInput, match="double quotes") as caught:
        read('FROM a\n\nCMD ["sglang", "serve", 1]\n')
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ENV V=x", "x"),
        ('ENV V="a b"', "a b"),
        ("ENV V='a $B'", "a $B"),
        (r"ENV V=a\ b", "a b"),
        (r"ENV V=\$B", "$B"),
        (r'ENV V="\$B \" \n"', r"$B \" \n".replace(r"\"", '"')),
        ("ENV V a  b ", "a  b"),
        ('ENV V "a" b', "a b"),
        ("ENV V=1 V=2", "2"),
        ("ENV V=1\nENV V=2", "2"),
        ("ENV B=1\nENV V=${B}x$B", "1x1"),
        ("ENV B=old\nENV B=new V=$B", "old"),
        ("ENV V=$B", OPEN("$B")),
        ("ENV V=a${B}c", "a" + OPEN("${B}") + "c"),
        ("ENV B=1\nENV V=${B:-w}", "1"),
        ("ENV B=\nENV V=${B:-w}", "w"),
        ("ENV B=\nENV V=${B-w}", ""),
        ("ENV V=${B:-w}", "w"),
        ("ENV C=c\nENV V=${B:-$C}", "c"),
        ("ENV V=${B:-${C:-${D:-w}}}", "w"),
        ("ENV B=1\nENV V=${B:+w}", "w"),
        ("ENV B=\nENV V=${B:+w}", ""),
        ("ENV B=\nENV V=${B+w}", "w"),
        ("ENV V=/x${B:+:$B}", "/x" + OPEN("${B:+:$B}")),
        ("ENV B=1\nENV V=${B:?no}", "1"),
        ("ENV B=a.b\nENV V=${B%.*}", OPEN("${B%.*}")),
        ("ENV V=$", "$"),
        ("ENV V=a$/b", "a$/b"),
        ("ARG A=1\nENV V=$A", "1"),
        ("ARG A='x y' B=$A\nENV V=$A", "x y"),
        ("ARG A\nENV V=$A", OPEN("$A")),
        ("ARG A=1\nENV A=2\nENV V=$A", "2"),
        ("ENV A=2\nARG A=1\nENV V=$A", "2"),
        ("ENV V=a\\\n# comment\n\n  b", None),
        ("ENV V=a\\ \t\nb", "ab"),
    ],
)
def test_values_of_env(text: str, value: str | None) -> None:
    if value is None:
        with pytest.raises(BadInput, match="no `=`"):
            read(f"FROM a\n{text}\n{CMD}")
    else:
        assert one(f"FROM a\n{text}\n{CMD}").launch.env["V"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ARG G=1\nFROM a\nARG G\nENV V=$G\n", "1"),
        ("ARG G=1\nFROM a\nENV V=$G\n", OPEN("$G")),
        ("ARG G=1\nFROM a\nARG G=2\nENV V=$G\n", "2"),
        ("ARG G=1\nARG H=${G}2\nFROM a\nARG H\nENV V=$H\n", "12"),
        ("FROM a AS x\nARG A=1\nFROM x\nENV V=$A\n", "1"),
        ("FROM a AS x\nARG A=1\nFROM a\nENV V=$A\n", OPEN("$A")),
    ],
    ids=["taken over", "not taken over", "own default", "from another", "of the parent", "of a stranger"],
)
def test_where_a_build_argument_holds(text: str, value: str) -> None:
    assert one(text + CMD).launch.env["V"] == value


def test_a_given_value_stands_for_a_build_argument_without_a_note() -> None:
    found = one(f"FROM a\nARG A=1\nARG B\nENV V=$A$B$C\n{CMD}", A="x", B="y", C="z")
    assert found.launch.env["V"] == "xyz"
    assert found.notes == ("the variables and the entry point of the base image a are not known",)


def test_a_default_in_braces_is_noted() -> None:
    found = one(f"FROM a\nENV V=${{B:-w}}\n{CMD}")
    assert "`${B:-w}` is taken as 'w'; --env B=... says otherwise" in found.notes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"FROM a\n{CMD}", [""]),
        (f"FROM a AS Serve\n{CMD}", ["stage Serve"]),
        (f"FROM a AS x\n{CMD}FROM b\n{CMD}", ["stage x", ""]),
        (f"FROM a\n{CMD}FROM b\n{CMD}", ["stage 0", ""]),
        (f"FROM a AS x\n{CMD}FROM b\n", ["stage x"]),
        (f"FROM a AS x\n{CMD}FROM x as Y\n", ["stage x", "stage Y"]),
        (f"FROM a AS x\n{CMD}FROM X\n", ["stage x", ""]),
        (f"FROM a AS x\n{CMD}FROM x AS y\nFROM y\n", ["stage x", ""]),
        (f"FROM --platform=linux/amd64 a AS x\n{CMD}", ["stage x"]),
        (f"FROM a\n{CMD}CMD []\n", []),
        (f"FROM a\nONBUILD {CMD}", []),
        (f"FROM a\nHEALTHCHECK {CMD}", []),
        ("FROM a\nRUN python3 -m sglang.launch_server --model-path m\n", []),
        ('FROM lmsysorg/sglang\nCOPY start.sh /\nCMD ["/start.sh"]\n', []),
        (f"# {CMD}", []),
        (CMD, []),
        ("", []),
    ],
)
def test_which_stages_are_launches(text: str, names: list[str]) -> None:
    assert [found.name for found in read(text)] == names


def test_the_last_command_of_a_stage_counts() -> None:
    assert one(f'FROM a\n{CMD}CMD ["sglang", "serve", "--model-path", "n"]\n').launch.argv == ("--model-path", "n")


def test_a_stage_takes_over_what_its_parent_sets() -> None:
    found = read(f"FROM a AS x\nENV A=1 B=1\n{CMD}FROM x AS y\nENV B=2\n")
    assert [each.launch.env for each in found if isinstance(each, FoundLaunch)] == [
        {"A": "1", "B": "1"},
        {"A": "1", "B": "2"},
    ]
    assert "the variables and the entry point of the base image a are not known" in found[1].notes  # type: ignore[union-attr]


ENTRY = 'ENTRYPOINT ["sglang", "serve", "--model-path", "m"]\n'


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        (f'FROM a\n{ENTRY}CMD ["--tp", "2"]\n', ("--model-path", "m", "--tp", "2")),
        (f'FROM a\nCMD ["--tp", "2"]\n{ENTRY}', ("--model-path", "m", "--tp", "2")),
        (f"FROM a\n{ENTRY}", ("--model-path", "m")),
        (f'FROM a AS x\nCMD ["--tp", "2"]\nFROM x\n{ENTRY}', ("--model-path", "m")),
        (f'FROM a AS x\n{ENTRY}FROM x\nCMD ["--tp", "2"]\n', ("--model-path", "m", "--tp", "2")),
        (f"FROM a\n{ENTRY}CMD --tp 2\n", ("--model-path", "m", "/bin/sh", "-c", "--tp 2")),
        ('FROM a\nENTRYPOINT sglang serve --model-path m\nCMD ["--tp", "2"]\n', ("--model-path", "m")),
        (
            'FROM a\nENTRYPOINT ["env", "A=1"]\nCMD ["sglang", "serve", "--model-path", "m"]\n',
            ("--model-path", "m"),
        ),
    ],
    ids=[
        "joined",
        "in any order",
        "alone",
        "resets the parent's CMD",
        "of the parent",
        "CMD in shell form is one word",
        "shell form ignores CMD",
        "a prefix",
    ],
)
def test_entry_point_and_command(text: str, argv: tuple[str, ...]) -> None:
    found = read(text)[-1]
    assert isinstance(found, FoundLaunch)
    assert found.launch.argv == argv


def test_an_entry_point_without_a_model_waits_for_docker_run() -> None:
    found = unread('FROM a\nENTRYPOINT ["python3", "-m", "sglang.launch_server"]\n')
    assert found.spot == Spot(2, 13)
    assert "docker run" in found.reason


def test_flags_alone_go_to_an_entry_point_that_is_not_known() -> None:
    found = unread('FROM lmsysorg/sglang:v0.5.9\nCMD ["--model-path", "m"]\n')
    assert found.spot == Spot(2, 6)
    assert "entry point of lmsysorg/sglang:v0.5.9" in found.reason


def test_flags_alone_for_another_image_are_no_launch() -> None:
    assert read('FROM redis\nCMD ["--save", "60"]\n') == []


def test_a_program_in_front_that_is_not_known() -> None:
    found = unread(f'FROM a\nENTRYPOINT ["/entry.sh"]\n{CMD}')
    assert found.spot == Spot(2, 13)
    assert "/entry.sh" in found.reason


def test_a_shell_of_the_files_own() -> None:
    text = 'FROM a\nSHELL ["/bin/bash", "-o", "pipefail", "-c"]\nCMD exec sglang serve --model-path m\n'
    found = one(text)
    assert found.launch.argv == ("--model-path", "m")
    assert found.words == (Spot(3, 23), Spot(3, 36))


def test_a_build_argument_is_no_variable_at_run_time() -> None:
    found = one("FROM a\nARG TP=2\nCMD sglang serve --model-path m --tp $TP\n")
    assert found.launch.argv == ("--model-path", "m", "--tp", OPEN("$TP"))


@pytest.mark.parametrize(
    "hidden",
    [
        f"RUN cat <<EOF\n{CMD}EOF\n",
        f"RUN <<-EOF cat\n{CMD}\t\tEOF\n",
        f"RUN cat <<'EOF' && cat <<\"OTHER\"\n{CMD}EOF\n{CMD}OTHER\n",
        f"COPY <<a.sh <<b.sh /\n{CMD}a.sh\n{CMD}b.sh\n",
        f"ADD <<A /x\nFROM b\n{CMD}A\n",
        f"ONBUILD RUN cat <<EOF\n{CMD}EOF\n",
        f"RUN echo \\\n{CMD}",
        f"# comment \\\n# {CMD}",
    ],
)
def test_what_other_instructions_hold_is_no_command(hidden: str) -> None:
    found = one('FROM a\nCMD ["sglang", "serve", "--model-path", "first"]\n' + hidden)
    assert found.launch.argv == ("--model-path", "first")


@pytest.mark.parametrize(
    "line",
    [
        'RUN cat <<<"x"',
        "RUN echo $((1<<2))",
        'RUN echo "<<EOF"',
        'RUN ["sh", "-c", "cat <<EOF"]',
        "ENV A=<<EOF",
        "RUN echo a\\\\",
    ],
)
def test_what_starts_no_here_document_and_continues_no_line(line: str) -> None:
    assert one(f"FROM a\n{line}\n{CMD}").launch.argv == ("--model-path", "m")


def test_the_escape_character_can_be_a_backtick() -> None:
    text = (
        "# escape=`\n"
        "FROM a\n"
        "ENV P=C:\\x V=a` b\n"
        "CMD [\"sglang\", \"serve\", `\n"
        "  \"--model-path\", \"m\"]\n"
    )  # fmt: skip
    found = one(text)
    assert found.launch.env == {"P": "C:\\x", "V": "a b"}
    assert found.words == (Spot(5, 3), Spot(5, 19))


def test_a_directive_behind_a_comment_is_a_comment() -> None:
    text = f"# hello\n# escape=`\nFROM a\n{CMD}RUN echo \\\nCMD sglang serve --model-path n\n"
    assert one(text).launch.argv == ("--model-path", "m")


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    text = '\ufeffFROM a\r\nENV V=1\r\nCMD ["sglang", "serve", \\\r\n "--model-path", "m"]\r\n'
    found = one(text)
    assert found.launch.env == {"V": "1"}
    assert found.words == (Spot(4, 2), Spot(4, 18))


def test_columns_count_characters() -> None:
    assert one('FROM a\nCMD ["env", "Ä=ü€😀", "sglang", "serve", "--model-path", "m"]\n').words == (
        Spot(2, 41),
        Spot(2, 57),
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("FROM a\nRUN cat <<EOF\nx\n", 2, "'EOF' has no end"),
        ("FROM a\nENV A=1 B\n", 2, "no `=`"),
        ("FROM a\nENV A\n", 2, "no value"),
        ("FROM a\nENV A='x\n", 2, "quote is not closed"),
        ("FROM a\nENV A=${B\n", 2, "operator"),
        ("FROM a\nENV A=${B:-\n", 2, "not closed"),
        ("FROM a\nENV A=${}\n", 2, "no name"),
        ("FROM a\nENV A=${B!x}\n", 2, "operator"),
        ("FROM a\nENV B=\nENV A=${B:?x}\n", 3, "B is empty"),
        ("FROM\n", 1, "names no image"),
        ("FROM a\nSHELL bash\n", 2, "SHELL takes a list"),
        ("# escape=x\nFROM a\n", 1, "escape character"),
        ("FROM a\nENV A=\0\n", None, "binary"),
    ],
)
def test_what_docker_refuses(text: str, line: int | None, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        read(text)
    assert (caught.value.file, caught.value.line) == ("Dockerfile", line)


MIXED = "".join(
    f"RUN echo {i} && \\\n    true\nENV A{i}=${{A{i - 1}:-x}}\n# note\nCOPY a /b{i}\n" for i in range(10_000)
)


@pytest.mark.parametrize(
    "text",
    [
        f"FROM a\n{MIXED}{CMD}",
        "FROM a\nENV A=xx\n" + "ENV A=$A$A\n" * 100,
        "FROM a\nENV A=" + "${B:-" * 50_000,
        "FROM a\nENV A=" + "x" * 100_000 + "\n" + "ENV B=$A C=$A\n" * 10_000,
        "FROM a\nCMD " + "[" * 500_000,
        "FROM a AS b\n" * 50_000,
        "FROM a\nRUN " + "<<A " * 50_000,
        "FROM a\nENV " + "A=$A " * 100_000,
        "FROM a\nRUN x" + " \\\n" * 50_000,
    ],
    ids=["long", "doubling", "nesting", "growing", "brackets", "stages", "here-documents", "settings", "continued"],
)
def test_hostile_files_end_soon(text: str) -> None:
    started = time.process_time()
    try:
        read(text)
    except BadInput as error:
        assert error.file == "Dockerfile"
    assert time.process_time() - started < 2


PIECES = st.sampled_from(
    [
        "FROM a AS b\n", "FROM b\n", "ENV ", "ARG ", "CMD ", "ENTRYPOINT ", "SHELL ", "RUN <<E\n", "E\n", "A=1 ", "$A",
        "${A:-", "${A:+", "}", '"', "'", "\\", "\\\n", "`", "# escape=`\n", '["sglang","serve"', ',"--model-path","m"]',
        "sglang serve --model-path m ", "\n", " ", "\r\n", "\t", "[", "]", "\ud800", "😀", "\x0c", "#",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read(text)
    except BadInput:
        return
    lines = text.count("\n") + 1
    assert all(1 <= each.spot.line <= lines and each.spot.column >= 1 for each in found)
