"""YAML with the place of every value, and YAML that is made to do harm."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.yaml_document import Source, read_documents
from pathtrace.tracer.manifests.yaml_launches import launches_in_yaml
from pathtrace.tracer.manifests.yaml_nodes import Scalar, Table

MENTION = "# sglang\n"


def read(text: str) -> tuple[Source, Table]:
    source, (document,) = read_documents(text, "f.yaml")
    assert isinstance(document, Table)
    return source, document


def value(text: str) -> tuple[Source, Scalar]:
    """The value of ``a`` in a text whose second line starts with ``a:``."""
    source, document = read(MENTION + text)
    node = document.get("a")
    assert isinstance(node, Scalar)
    return source, node


@pytest.mark.parametrize(
    ("text", "word", "spot"),
    [
        ("a: one two\n", "two", Spot(2, 8)),
        ("a: 'one two'\n", "two", Spot(2, 9)),
        ("a: 'it''s two'\n", "two", Spot(2, 11)),
        ('a: "one two"\n', "two", Spot(2, 9)),
        ('a: "o\\tn\\x65 two"\n', "two", Spot(2, 14)),
        ('a: "one \\\n   two"\n', "two", Spot(3, 4)),
        ('a: "one\n\n   two"\n', "two", Spot(4, 4)),
        ("a: one\n   two\n", "two", Spot(3, 4)),
        ("a: |\n  one\n    two\n", "two", Spot(4, 5)),
        ("a: >-\n\n  one\n  two\n", "two", Spot(5, 3)),
        ("a: |2-\n   one\n  two\n", "two", Spot(4, 3)),
        ("a: &x !!str one two\n", "two", Spot(2, 17)),
        ("a: é two\n", "two", Spot(2, 6)),
        ("a: one\r\n  two\r\n", "two", Spot(3, 3)),
    ],
)
def test_where_a_word_of_a_value_stands(text: str, word: str, spot: Spot) -> None:
    source, node = value(text)
    assert source.written(node).at(node.text.index(word)) == spot


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        ("a: x\n", Spot(2, 4)),
        ("a: 'x'\n", Spot(2, 4)),
        ("a: &n x\n", Spot(2, 7)),
        ("a: !!str x\n", Spot(2, 10)),
        ("a: |\n\n   x\n", Spot(4, 4)),
        ("a:\n  x\n", Spot(3, 3)),
    ],
)
def test_where_a_value_starts(text: str, spot: Spot) -> None:
    assert value(text)[1].spot == spot


def test_lines_count_from_the_start_of_the_file_in_every_document() -> None:
    _, documents = read_documents("a: 1\n---\nb: sglang\n--- # third\nc: sglang\n", "f")
    assert [document.spot for document in documents] == [Spot(3, 1), Spot(5, 1)]


def test_merges_fill_in_what_is_not_set_and_earlier_ones_win() -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\na:\n  <<: [*x, *y]\n  a: 0\n"
    _, document = read(MENTION + text)
    merged = document.get("a")
    assert isinstance(merged, Table)
    assert {key: merged.text(key) for key in merged.entries} == {"a": "0", "b": "1", "c": "2"}


def test_the_last_of_equal_keys_counts() -> None:
    _, document = read(MENTION + "a: 1\na: 2\n")
    assert (document.text("a"), document.repeated) == ("2", ("a",))


@pytest.mark.parametrize(
    ("text", "is_text", "is_null"),
    [
        ("a: x", True, False),
        ("a: '8'", True, False),
        ("a: !!str 8", True, False),
        ("a: 8", False, False),
        ("a: 1.5e3", False, False),
        ("a: true", False, False),
        ("a: yes", True, False),
        ("a: 0.5.9", True, False),
        ("a: --tp", True, False),
    ],
)
def test_what_is_text(text: str, is_text: bool, is_null: bool) -> None:
    node = value(text)[1]
    assert (node.is_text, node.is_null) == (is_text, is_null)


@pytest.mark.parametrize("text", ["a:", "a: ~", "a: null", "a: !!null x"])
def test_what_is_no_value(text: str) -> None:
    assert read(MENTION + text)[1].get("a") is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a: !Ref Model", "\0!Ref Model\0"),
        ("a: !reference [.base, script]", "\0!reference [.base, script]\0"),
        ("a: !!python/object/apply:os.system ['exit 1']",
         "\0!!python/object/apply:os.system ['exit 1']\0"),
        ("a: {{ model }}", "\0{{ model }}\0"),
    ],
)  # fmt: skip
def test_what_a_tag_makes_of_a_value_is_open(text: str, shown: str) -> None:
    assert value(text)[1].text == shown


def test_a_file_that_does_not_mention_sglang_is_not_parsed() -> None:
    assert launches_in_yaml("a: [\n", "f", {}, None) == []
    assert launches_in_yaml("a: [\n--- \nb: sglang\n", "f", {}, None) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [\n", "f:3: is not YAML (expected the node content, but found '<stream end>'); correct it"),
        ("a:\n\t- b\n", "f:3: is not YAML (found character '\\t' that cannot start any token); correct it"),
        ("a: \0\n", "f:2: is binary, not YAML; give a text file"),
        ("a: \ud800\n", "f:2: is binary, not YAML; give a text file"),
        ("a: b\nc: \x01\n", "f:3: holds a character that YAML does not allow; remove it"),
        ("a: &a [*a]\n", "f:2: *a stands inside of what it names; write the value out"),
        ("a: *b\n", "f:2: *b names no anchor above it; add &b"),
        ("{% if x %}\na: 1\n", "f:2: is a template of YAML; render it first (`helm template`) and give the result"),
        ("a: {{- x }}\n {{ y }}\n",
         "f:2: is a template of YAML; render it first (`helm template`) and give the result"),
        ("[" * 100_000, "f:2: is nested over 64 deep; flatten it"),
        ("{a: " * 100_000, "f:2: is nested over 64 deep; flatten it"),
        ("- " * 100_000, "f:2: is nested over 64 deep; flatten it"),
        ("a: " + "x" * (2 << 20), "f: is over 2 MB; give the part that starts the server"),
        ("a: " + "x" * (1 << 20), "f:1: holds over 512 KB that mention SGLang; give the part that starts the server"),
    ],
)  # fmt: skip
def test_what_is_not_read(text: str, sentence: str) -> None:
    start = time.process_time()
    with pytest.raises(BadInput) as error:
        launches_in_yaml(MENTION + text, "f", {}, None)
    assert str(error.value) == sentence
    assert time.process_time() - start < 10


LEVELS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 15)
)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\n" + LEVELS,
        LEVELS + "services:\n  a:\n    labels: *a14\n    image: sglang\n",
        "a0: &a0 {" + ", ".join(f"k{key}: 1" for key in range(1000)) + "}\n"
        + "".join(f"a{level}: &a{level} {{<<: *a{level - 1}}}\n" for level in range(1, 1000)),
    ],
)  # fmt: skip
def test_aliases_that_stand_for_a_huge_file(text: str) -> None:
    start = time.process_time()
    with pytest.raises(BadInput, match="over 100000 values when its aliases are filled in"):
        launches_in_yaml(MENTION + text, "f", {}, None)
    assert time.process_time() - start < 10


SERVICES = "services:\n  a:\n    command: sglang serve "


@pytest.mark.parametrize(
    "text",
    [
        MENTION + "".join(f"k{number}: v\n" for number in range(100_000)),
        "---\na: b\n" * 50_000 + "---\nsglang: 1\n",
        "--- sglang\n" * 100_000,
        SERVICES + "$A " * 100_000,
        SERVICES + "${A:-" * 80_000,
        SERVICES + "'a' \"b\" c " * 40_000,
        SERVICES + "\\\n     x " * 40_000,
        SERVICES + '"' + "x\\\n     " * 40_000,
        "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - command: [sglang, serve, '" + "$(A) " * 80_000 + "']",
        "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - command: [sglang, serve, '" + "{{a " * 80_000 + "']",
    ],
)
def test_a_long_file_takes_time_in_proportion(text: str) -> None:
    start = time.process_time()
    outcome(text)
    # Quadratic work at this size would take minutes.
    assert time.process_time() - start < 15


def outcome(text: str) -> object:
    try:
        return launches_in_yaml(text, "f", {"A": "1"}, None)
    except BadInput as error:
        assert str(error).startswith("f")
        return str(error)


PIECES = st.sampled_from(
    """services: command: entrypoint: environment: env_file: image: sglang serve a: b: &a *a <<: - ? | > |2 >- [ ] { }
    , : ' " \\ # % %YAML --- ... !x !!str !!python/name:os !<x> ! @ ` $A ${A} ${A:-b} ${ $( $(A) $$ {{ }} {% kind: Pod
    apiVersion: v1 spec: containers: args: env: name: value: valueFrom: configMapKeyRef: ~ null 1 true -- --tp \t é
    \U0001f600 \x85 \u2028 \ufeff \r""".split(" ")  # noqa: SIM905
)
GLUE = st.sampled_from([" ", "\n", "\n  ", "\n    ", ""])


@given(st.text())
@example("%YAML 1.1\n---\n")
@example("? - sglang")
@settings(deadline=None)
def test_any_text(text: str) -> None:
    outcome(text + "\n# sglang")
    outcome("services:\n  a:\n    command: sglang serve " + text)


@given(st.lists(st.tuples(PIECES, GLUE), max_size=30))
@settings(deadline=None)
def test_any_mix_of_what_manifests_are_made_of(pieces: list[tuple[str, str]]) -> None:
    mix = "".join(piece + glue for piece, glue in pieces)
    outcome(mix + "\n# sglang")
    outcome("services:\n  a:\n    image: sglang\n    command: " + mix)
    outcome("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: sglang\n    args: " + mix)
