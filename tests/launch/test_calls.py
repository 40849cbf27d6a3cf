"""``Engine(...)`` calls and ``server_args=`` log lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.parse import parse_launch

CALL = 'model_path="x", tp_size=2, speculative_algorithm="EAGLE"'
KWARGS = {"model_path": "x", "tp_size": 2, "speculative_algorithm": "EAGLE"}


@pytest.mark.parametrize(
    "text",
    [
        f"Engine({CALL})",
        f"sgl.Engine({CALL})",
        f"sglang.Engine({CALL},)",
        f"llm = sgl.Engine({CALL})\nprint(llm)",
        f"import sglang as sgl\nwith sgl.Engine({CALL}) as llm:\n    pass",
        'Engine(\n    model_path="x",  # the model, (\n    tp_size=2,\n    speculative_algorithm="EAGLE",\n)',
        f"sgl.Engine(server_args=ServerArgs({CALL}))",
        f"python -c 'import sglang as sgl; sgl.Engine({CALL})'",
    ],
)
def test_engine_keywords(text: str) -> None:
    assert parse_launch([text]) == Launch(entry="engine", kwargs=KWARGS)


def test_engine_in_python_c_gets_the_variables_of_the_command() -> None:
    launch = parse_launch(["A=1 python3 -c 'import sglang; sglang.Engine(model_path=\"x\")'"])
    assert (launch.entry, launch.env) == ("engine", {"A": "1"})


def test_what_is_no_literal_is_named_as_written() -> None:
    launch = parse_launch(["Engine('é', model_path='x', tp_size=n + 1, dp=f(\n1), **more)"])
    assert launch.kwargs == {"model_path": "x"}
    assert launch.unparsed == launch.open_kwargs == ("'é'", "tp_size=n + 1", "dp=f(\n1)", "**more")


def test_log_line_with_prefix_and_values_that_are_no_literals() -> None:
    launch = parse_launch(
        [
            "[2025-01-01 10:00:00 TP0] server_args=ServerArgs(model_path='a, b(\\'', tp_size=8, chat=None, "
            "mode=<Mode.NULL: 'null'>, sizes=[1, 2], x={'a': (1,)}, cfg=Cfg(a=1, b=2)) done\nnext line"
        ]
    )
    assert launch.entry == "server_args"
    assert launch.kwargs == {
        "model_path": "a, b('",
        "tp_size": 8,
        "chat": None,
        "sizes": [1, 2],
        "x": {"a": (1,)},
    }
    assert launch.unparsed == ("mode=<Mode.NULL: 'null'>", "cfg=Cfg(a=1, b=2)")


def test_log_line_of_later_releases_is_a_dict() -> None:
    launch = parse_launch(["INFO server_args={'model_path': 'x', 'tp_size': 8}"])
    assert launch == Launch(entry="server_args", kwargs={"model_path": "x", "tp_size": 8})


@pytest.mark.parametrize("tail", ["", "6", "\nother=1)", "'"])
def test_the_cut_field_of_a_cut_line_is_not_believed(tail: str) -> None:
    launch = parse_launch([f"server_args=ServerArgs(model_path='x', tp_size=1{tail}"])
    assert launch.kwargs == {"model_path": "x"}
    assert len(launch.unparsed) == 2 and launch.unparsed[-1] == "..."


def test_a_line_cut_between_fields_says_so() -> None:
    assert parse_launch(["server_args=ServerArgs(model_path='x', "]).unparsed == ("...",)


def test_the_same_line_from_several_ranks_is_one_launch() -> None:
    line = "server_args=ServerArgs(model_path='x')\n"
    assert parse_launch([line * 3]).kwargs == {"model_path": "x"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Engine(model_path='x'", "never closed"),
        ("Engine(model_path='x' y)", "not valid Python"),
        ("Engine(a=1, a=2)", "twice"),
        ("a = Engine(a=1)\nb = Engine(a=1)", "2 Engine(...) calls"),
        ("os.environ['A'] = '1'\nEngine(a=1)", "environment variables"),
        ("ServerArgs(model_path='x')", "may be Python or a log line"),
        ("server_args=ServerArgs(a=1)\nserver_args=ServerArgs(a=2)", "differ"),
        ("server_args=ServerArgs(a=1, a=1)", "twice"),
        ("server_args=ServerArgs(", "no field"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says.replace("(", r"\(").replace(")", r"\)").replace(".", r"\.")):
        parse_launch([text])


def test_a_call_in_several_words_has_lost_its_quotes() -> None:
    with pytest.raises(BadInput, match="single quotes"):
        parse_launch(["Engine(model_path=x,", "tp_size=8)"])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).map(lambda name: f"x_{name}")


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=6))
def test_every_literal_survives(kwargs: dict[str, Any]) -> None:
    inside = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
    assert parse_launch([f"x server_args=ServerArgs({inside}) y"]).kwargs == kwargs
    assert parse_launch([f"server_args={kwargs!r}"]).kwargs == kwargs
    assert parse_launch([f"sgl.Engine({inside})"]).kwargs == kwargs
