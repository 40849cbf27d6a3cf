"""The environment that the server gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.environment import merge_environment, read_env_file
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.parse import parse_launch

BARE = Launch(entry="bare")


def env_file(folder: Path, text: str | bytes) -> Path:
    path = folder / "server.env"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_launch_wins_over_env_over_env_file_over_inherited(tmp_path: Path) -> None:
    file = env_file(tmp_path, "# settings\nA=file\nB=file\nC=file\n")
    launch = Launch(entry="bare", env={"A": "launch"})
    inherited = {"A": "shell", "B": "shell", "C": "shell", "D": "shell"}
    environment = merge_environment(launch, ["A=given", "B=given"], file, inherited)
    assert environment.values == {"A": "launch", "B": "given", "C": "file", "D": "shell"}
    assert environment.sources == {
        "A": "launch",
        "B": "--env",
        "C": f"--env-file {file}:4",
        "D": "inherited",
    }


def test_nothing_is_inherited_unless_asked_for() -> None:
    assert merge_environment(BARE, [], None, None).values == {}


def test_a_variable_that_the_launch_removes_is_gone(tmp_path: Path) -> None:
    launch = Launch(entry="bare", unset=frozenset({"A", "B", "C"}), env={"C": "1"})
    merged = merge_environment(launch, ["A=1"], env_file(tmp_path, "B=2"), {"A": "3"})
    assert merged.values == {"C": "1"}
    assert merged.sources == {"C": "launch"}


def test_a_container_gets_what_is_given_and_forwarded_but_not_the_rest() -> None:
    launch = parse_launch(["docker run -e A -e B=2 image sglang serve m"])
    merged = merge_environment(launch, ["C=3"], None, {"A": "1", "Z": "9"})
    assert merged.values == {"A": "1", "B": "2", "C": "3"}


def test_env_i_drops_everything_from_outside() -> None:
    launch = parse_launch(["env -i B=2 sglang serve m"])
    assert merge_environment(launch, ["C=3"], None, {"A": "1"}).values == {"B": "2"}


def test_an_assignment_without_export_changes_only_what_was_exported_before() -> None:
    launch = parse_launch(["A=1; B=2; sglang serve m"])
    merged = merge_environment(launch, [], None, {"A": "0"})
    assert merged.values == {"A": "1"}
    assert merged.sources == {"A": "launch"}


def test_env_values_may_hold_equal_signs_and_be_empty() -> None:
    assert merge_environment(BARE, ["A=b=c", "B="], None, None).values == {"A": "b=c", "B": ""}


@pytest.mark.parametrize("text", ["A", "=1", "A B=1", "A=\0", ""])
def test_env_must_be_name_and_value(text: str) -> None:
    with pytest.raises(BadInput, match="write --env NAME=value"):
        merge_environment(BARE, [text], None, None)


def test_env_file_format(tmp_path: Path) -> None:
    text = (
        b"\xef\xbb\xbf# comment\r\n\r\nA=1\r\nexport B=2\r\nC='x # $y' # comment\r\n"
        b'D="a\\n\\"b\\" \\$c"\r\nE=x y # comment\r\nF=\r\nG=a#b\r\nH\r\nA=3\r\nI= # nothing'
    )
    assert read_env_file(env_file(tmp_path, text)) == [
        ("A", "1", 3),
        ("B", "2", 4),
        ("C", "x # $y", 5),
        ("D", 'a\n"b" $c', 6),
        ("E", "x y", 7),
        ("F", "", 8),
        ("G", "a#b", 9),
        ("H", None, 10),
        ("A", "3", 11),
        ("I", "", 12),
    ]


def test_a_name_alone_takes_the_callers_value_or_none(tmp_path: Path) -> None:
    file = env_file(tmp_path, "A\nB\n")
    assert merge_environment(BARE, [], file, {"A": "1"}).values == {"A": "1"}
    assert merge_environment(BARE, [], file, None).values == {}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("A = 1", "without blanks around ="),
        ("A= 1", "without blanks around ="),
        ("1A=1", "not a setting"),
        ("A: 1", "not a setting"),
        ("A='x", "quote of A is not closed"),
        ('A="x" y', "text after the quote"),
        ("A=${B}", "refers to another variable"),
        ('A="$B"', "refers to another variable"),
        ("A=$(b)", "refers to another variable"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    file = env_file(tmp_path, f"X=1\n{line}\n")
    with pytest.raises(BadInput, match=says) as caught:
        read_env_file(file)
    assert str(caught.value).startswith(f"{file}:2: ")


def test_a_secret_does_not_stand_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_env_file(env_file(tmp_path, "TOKEN=s3cret${X}"))
    assert "s3cret" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, says in [
        (tmp_path / "absent", "no such file"),
        (tmp_path, "no such file"),
        (env_file(tmp_path, "A=1\n\xff".encode("latin-1")), "not UTF-8"),
    ]:
        with pytest.raises(BadInput, match=says):
            read_env_file(path)


@given(st.binary(max_size=200))
def test_any_file(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = env_file(tmp_path_factory.getbasetemp(), data)
    try:
        settings = read_env_file(file)
    except BadInput as error:
        assert str(file) in str(error)
    else:
        assert all(name and line for name, _, line in settings)
