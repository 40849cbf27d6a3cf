"""Text: the answer first, then why, then what would change it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from pathtrace.reports.text_report import render_text
from pathtrace.tests.reports.answers import (
    ALL,
    FOUND,
    NONE,
    REFUSED,
    REFUSED_AT_PARSE,
    STORY,
    UNDECIDED,
    UNDECIDED_SHORT,
    UNMET,
)
from pathtrace.tests.reports.strategies import answers
from pathtrace.tracer.answer import Answer, Decision, Place, Refusal


def plain(answer: Answer) -> str:
    stream = io.StringIO()
    render_text(answer, stream)
    return stream.getvalue()


def on_terminal(answer: Answer, width: int) -> str:
    stream = io.StringIO()
    render_text(answer, stream, terminal=True, width=width)
    return stream.getvalue()


def first_line(answer: Answer) -> str:
    return plain(answer).splitlines()[0]


class TestTheFirstLineIsTheAnswer:
    def test_a_worker(self) -> None:
        assert first_line(STORY) == ("EAGLEWorker  sglang/srt/speculative/eagle_worker.py:88  synchronous event loop")

    def test_no_speculation(self) -> None:
        assert first_line(NONE) == "no speculative decoding  overlap event loop"

    def test_a_refusal_with_the_trees_own_message(self) -> None:
        assert first_line(REFUSED) == (
            "refused: ValueError: Spec v2 currently only supports topk = 1 for speculative decoding."
        )
        assert "fails while resolving the arguments  sglang/srt/server_args.py:2380" in plain(REFUSED)

    def test_undecided_on_one_line_where_it_fits(self) -> None:
        assert first_line(UNDECIDED_SHORT) == (
            "undecided: EAGLEWorkerV2, overlap if sm >= 90; EAGLEWorkerV2, synchronous if sm < 90;"
            " supply --assume sm=90"
        )

    def test_undecided_on_a_line_for_each_result_where_it_does_not(self) -> None:
        lines = plain(UNDECIDED).splitlines()
        assert lines[0] == (
            "undecided: FrozenKVMTPWorker, EAGLEWorkerV2 or refused; supply --draft-config FILE, --assume gpus=N"
        )
        assert lines[2] == "  EAGLEWorkerV2, overlap  if it is not"


def test_the_chain_is_numbered_and_says_where_each_value_came_from() -> None:
    text = plain(STORY)
    assert " 1. sglang/srt/server_args.py:2368  condition is false\n" in text
    assert "self.speculative_algorithm = 'EAGLE3'  from --speculative-algorithm EAGLE3\n" in text
    assert (
        "envs.SGLANG_ENABLE_SPEC_V2.get() = False  from default of SGLANG_ENABLE_SPEC_V2 at sglang/srt/environ.py:414\n"
    ) in text
    assert " 2. sglang/srt/server_args.py:2384  sets True\n" in text
    assert " 5. sglang/srt/speculative/spec_info.py:85  chooses EAGLEWorker\n" in text


def test_then_comes_what_would_change_it() -> None:
    text = plain(STORY)
    assert "  set SGLANG_ENABLE_SPEC_V2=1   ->  EAGLEWorkerV2, overlap\n" in text
    assert "  drop --speculative-algorithm  ->  no speculative decoding\n" in text
    assert text.index("chooses EAGLEWorker") < text.index("What would change it")


def test_an_unmet_expectation_says_what_would_meet_it() -> None:
    assert plain(UNMET).splitlines()[1] == ("expected EAGLEWorkerV2: no; this gives it: set SGLANG_ENABLE_SPEC_V2=1")


def test_the_resolved_fields_stand_on_one_line() -> None:
    resolved = next(each for each in plain(STORY).splitlines() if each.startswith("Resolved"))
    assert "speculative_algorithm=EAGLE3" in resolved
    assert resolved.endswith("max_running_requests=48")


def test_inputs_without_effect_come_with_the_line_that_does_it() -> None:
    text = plain(STORY)
    assert "  SGLANG_SPEC_MAGIC=1  nothing in this tree reads it\n" in text
    assert "  --disable-overlap-schedule  replaced by True  sglang/srt/server_args.py:2384  self." in text


def test_many_possible_refusals_are_counted_and_the_first_ones_shown() -> None:
    text = plain(STORY)
    assert "conditions not known here (5)" in text
    assert "needs 3 GPUs" in text
    assert "needs 4 GPUs" not in text
    assert "and 2 more" in text


def test_unknown_facts_say_how_to_give_them() -> None:
    assert "gpu_memory_mib unknown (--assume gpu_memory_mib=...)" in plain(STORY)


def test_hints_findings_and_notes_are_shown() -> None:
    assert "hint: the nearest flag of this tree is --speculative-algorithm" in plain(REFUSED_AT_PARSE)
    assert "PT101  eagle_worker_v2.py is changed" in plain(FOUND)
    assert "note: your shell sets SGLANG_ENABLE_SPEC_V2" in plain(STORY)


def test_a_long_message_follows_in_full_line_by_line() -> None:
    message = "usage: launch_server\n" + "\n".join(f"  --flag-{number}" for number in range(40))
    text = plain(replace(REFUSED, refusal=Refusal("parse", "SystemExit", message)))
    assert "the whole message:\n    usage: launch_server\n    --flag-0\n" in text
    assert "(29 more lines)" in text


class TestAwayFromATerminal:
    def test_there_is_no_colour_and_no_wrapping(self) -> None:
        text = plain(STORY)
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) > 120

    def test_no_line_ends_in_space(self) -> None:
        assert all(each == each.rstrip() for answer in ALL.values() for each in plain(answer).splitlines())


class TestOnATerminal:
    @pytest.mark.parametrize("width", [80, 120])
    @pytest.mark.parametrize("name", ALL)
    def test_lines_fit_the_width(self, name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        for each in on_terminal(ALL[name], width).splitlines():
            assert Text.from_ansi(each).cell_len <= width

    def test_wrapping_loses_nothing(self) -> None:
        wrapped = Text.from_ansi(on_terminal(STORY, 80)).plain
        assert wrapped.split() == plain(STORY).split()

    def test_there_is_colour(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        assert "\x1b[1;36mEAGLEWorker" in on_terminal(STORY, 80)

    def test_unless_the_user_wants_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        assert "\x1b[1;36m" not in on_terminal(STORY, 80)
        assert "[36m" not in on_terminal(STORY, 80)


class TestTextOfTheTreeIsOnlyText:
    def test_markup_stays_as_written(self) -> None:
        code = "x = a[bold] + [red]b[/red] + :smile:"
        answer = replace(STORY, decisions=(Decision("write", Place("a.py", 1, code), "1"),))
        assert code in plain(answer)
        assert code in Text.from_ansi(on_terminal(answer, 200)).plain

    def test_it_cannot_move_the_cursor_or_start_a_line(self) -> None:
        answer = replace(REFUSED, refusal=Refusal("resolve", "ValueError", "a\x1b[2Jb\u202ec\x07\nd"))
        assert "\x1b" not in plain(answer)
        assert first_line(answer) == "refused: ValueError: a\\x1b[2Jb\\u202ec\\x07 d"

    @given(answers, st.sampled_from([40, 80]))
    def test_any_answer_can_be_shown(self, answer: Answer, width: int) -> None:
        text = plain(answer)
        assert all(char.isprintable() or char == "\n" for char in text)
        assert on_terminal(answer, width)
