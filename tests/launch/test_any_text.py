"""Whatever the text is: a launch or one sentence, in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.parse import parse_launch

PIECES = st.sampled_from(
    """python -m sglang.launch_server sglang serve --model-path m env -i -u K=V export unset A=1; && || | & ; ' " \\
    $A ${A} ${A:-b} $( ) ` # \n \\\n << EOF > 2>&1 docker run -e image kubectl exec -- bash -c sudo -E numactl -N 0
    nice -n timeout uv nsys Engine( Engine(a=1) server_args=ServerArgs( server_args={ 'a': 1, a=1, ) } { if then fi
    for do done {a,b} $'x' -""".split(" ")  # noqa: SIM905
)


def outcome(words: list[str]) -> Launch | str:
    try:
        return parse_launch(words)
    except BadInput as error:
        return str(error)


@given(st.text())
def test_any_text(text: str) -> None:
    assert outcome([text])


@given(st.lists(st.text(max_size=12)))
def test_any_words(words: list[str]) -> None:
    assert outcome(words)


@given(st.lists(PIECES, max_size=25), st.sampled_from(["", " "]))
def test_any_mix_of_what_launches_are_made_of(pieces: list[str], glue: str) -> None:
    assert outcome([glue.join(pieces)])
    assert outcome(pieces)


@pytest.mark.parametrize(
    "piece",
    ["\n", "a\n", "'", "$(", "`", "{a,", "x=1;", "A=$A$A;", "-a\n", "export A;", "Engine(", "Engine ", "a.", "((",
     "server_args={", "[{", "python ", "uv run ", "env -i ", "docker run x ", "bash -c ", "<<a ", "\\", "#'"],
)  # fmt: skip
@pytest.mark.parametrize("head", ["", "A=aaaaaaaaaa;", "server_args=ServerArgs(a=", "Engine(a="])
def test_a_long_launch_takes_time_in_proportion(head: str, piece: str) -> None:
    def seconds(size: int) -> float:
        text = head + piece * ((size - len(head)) // len(piece))
        start = time.perf_counter()
        assert outcome([text])
        return time.perf_counter() - start

    # Quadratic work at this size would take minutes.
    assert seconds(300_000) < 15
