"""When a server is confirmed, when it is waited for, and when it has failed for good."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from pathtrace.instrument.assertion import Expected, Rank, judge
from pathtrace.instrument.confirmation import Built, Failed, Line, Live, Origin
from pathtrace.instrument.settings import Prediction

MODULE = "sglang.srt.speculative.eagle_worker_v2"
V2 = Prediction("EAGLEWorkerV2", MODULE, "overlap")


def built(tensor: int | None = 0, pipeline: int | None = 0, data: int | None = None, **fields: Any) -> Built:
    pid = fields.pop("pid", 100 + (tensor or 0) + 10 * (pipeline or 0) + 100 * (data or 0))
    origin = Origin(pid, fields.pop("run", None), tensor, pipeline, data)
    told = {"worker": "EAGLEWorkerV2", "module": MODULE, "loop": "overlap", "mechanism": "observe"}
    return Built(origin, **{**told, **fields})


def live(mode: str, tensor: int = 0, pipeline: int = 0, data: int | None = None, run: str | None = None) -> Live:
    return Live(Origin(100, run, tensor, pipeline, data), "EAGLEWorkerV2", mode, 1)


def both(**rank: int) -> list[Line]:
    return [live("prefill", **rank), live("decode", **rank)]


def test_one_rank_that_built_and_ran_both_modes_is_confirmed_in_any_order() -> None:
    for lines in itertools.permutations([built(), *both()]):
        standing = judge(Expected(worker="EAGLEWorkerV2", prediction=V2), lines)
        assert (standing.state, standing.reasons, standing.confirmed) == ("confirmed", (), frozenset({Rank()}))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "rank dp 0, pp 0, tp 0 has not said that it has built its worker"),
        (both(), "rank dp 0, pp 0, tp 0 has not said that it has built its worker"),
        ([built()], "rank dp 0, pp 0, tp 0: no decode and no prefill step has gone through the hook"),
        ([built(), live("prefill")], "rank dp 0, pp 0, tp 0: no decode step has gone through the hook"),
        ([built(), live("mixed")], "rank dp 0, pp 0, tp 0: no decode step has gone through the hook"),
        ([built(), live("decode")], "rank dp 0, pp 0, tp 0: no prefill step has gone through the hook"),
    ],
)
def test_what_can_still_come_is_waited_for(lines: list[Line], reason: str) -> None:
    standing = judge(Expected(), lines)
    assert (standing.state, standing.reasons, standing.confirmed) == ("waiting", (reason,), frozenset())


@pytest.mark.parametrize(
    ("modes", "lines"),
    [({"prefill"}, [live("prefill")]), ({"decode"}, [live("decode")]), (set(), []), ({"prefill"}, [live("mixed")])],
)
def test_a_server_that_runs_one_mode_is_asked_for_that_one(modes: set[str], lines: list[Line]) -> None:
    assert judge(Expected(modes=frozenset(modes)), [built(), *lines]).state == "confirmed"


@pytest.mark.parametrize(
    ("expected", "line", "reason"),
    [
        (
            Expected(worker="EAGLEWorkerV2"),
            built(worker="EAGLEWorker"),
            "rank dp 0, pp 0, tp 0: EAGLEWorker was built, EAGLEWorkerV2 is expected",
        ),
        (
            Expected(worker="EAGLEWorkerV2"),
            built(worker=None, module=None, algorithm=None),
            "rank dp 0, pp 0, tp 0: no worker was built, EAGLEWorkerV2 is expected",
        ),
        (
            Expected(prediction=V2),
            built(worker="EAGLEWorker", module="sglang.srt.speculative.eagle_worker", loop="synchronous"),
            "rank dp 0, pp 0, tp 0: EAGLEWorker of sglang.srt.speculative.eagle_worker (synchronous loop) was built, "
            "the static answer is EAGLEWorkerV2 of sglang.srt.speculative.eagle_worker_v2 (overlap loop)",
        ),
        (
            Expected(prediction=V2),
            built(loop="synchronous"),
            "rank dp 0, pp 0, tp 0: EAGLEWorkerV2 of sglang.srt.speculative.eagle_worker_v2 (synchronous loop) was "
            "built, the static answer is EAGLEWorkerV2 of sglang.srt.speculative.eagle_worker_v2 (overlap loop)",
        ),
        (
            Expected(prediction=V2),
            built(module="my.fork"),
            "rank dp 0, pp 0, tp 0: EAGLEWorkerV2 of my.fork (overlap loop) was built, the static answer is "
            "EAGLEWorkerV2 of sglang.srt.speculative.eagle_worker_v2 (overlap loop)",
        ),
        (
            Expected(),
            built(predicted=Prediction("EAGLEWorker"), agrees=False),
            "rank dp 0, pp 0, tp 0: EAGLEWorkerV2 of sglang.srt.speculative.eagle_worker_v2 (overlap loop) was built, "
            "the process was told EAGLEWorker",
        ),
        (
            Expected(),
            built(problem="EAGLEWorkerV2 does not let itself be changed: frozen"),
            "rank dp 0, pp 0, tp 0: EAGLEWorkerV2 is not hooked: EAGLEWorkerV2 does not let itself be changed: frozen",
        ),
        (
            Expected(),
            built(worker=None, module=None),
            "rank dp 0, pp 0, tp 0: no speculative worker in this server, rank pp 0, tp 0",
        ),
        (
            Expected(tensor=2),
            built(tensor=None),
            "process 100 does not say which rank it is: pp 0",
        ),
        (
            Expected(tensor=2),
            built(tensor=2),
            "process 102 says that it is rank dp 0, pp 0, tp 2, which the launch does not have",
        ),
        (Expected(), Failed(Origin(9), "wrapt cannot be imported"), "wrapt cannot be imported"),
    ],
)
def test_what_is_wrong_is_wrong_at_once_and_for_good(expected: Expected, line: Line, reason: str) -> None:
    for lines in ([line], [line, *both()]):
        standing = judge(expected, lines)
        assert (standing.state, standing.reasons) == ("failed", (reason,))


class TestManyRanks:
    def test_all_of_them_are_waited_for(self) -> None:
        expected = Expected(tensor=2, pipeline=2)
        ranks = [{"tensor": t, "pipeline": p} for t in (0, 1) for p in (0, 1)]
        lines = [line for rank in ranks for line in (built(**rank), *both(**rank))]
        assert judge(expected, lines).state == "confirmed"
        # The line of one rank is missing: the last three of all are the last rank's.
        standing = judge(expected, lines[:-3])
        assert standing.state == "waiting"
        assert standing.reasons == ("rank dp 0, pp 1, tp 1 has not said that it has built its worker",)
        assert len(standing.confirmed) == 3

    def test_with_pipeline_parallel_speculation_the_last_stage_alone_builds_a_worker(self) -> None:
        expected = Expected(tensor=2, pipeline=2, last_stage_only=True)
        first = [built(t, 0, worker=None, module=None, mechanism="none", algorithm="EAGLE") for t in (0, 1)]
        last = [line for t in (0, 1) for line in (built(t, 1), *both(tensor=t, pipeline=1))]
        assert judge(expected, [*first, *last]).state == "confirmed"
        assert judge(expected, last).state == "confirmed"
        assert judge(expected, first).state == "waiting"
        assert judge(replace(expected, last_stage_only=False), [*first, *last]).state == "failed"

    def test_plain_data_parallelism_multiplies_them(self) -> None:
        lines = [line for d in (0, 1) for line in (built(0, 0, d), *both(data=d))]
        assert judge(Expected(data=2), lines).state == "confirmed"
        assert judge(Expected(data=2), lines[:3]).state == "waiting"

    def test_attention_data_parallelism_adds_none(self) -> None:
        # Two processes, which are tensor ranks as well as attention data ranks.
        lines = [line for t in (0, 1) for line in (built(t, 0, t), *both(tensor=t, data=t))]
        assert judge(Expected(tensor=2), lines).state == "confirmed"

    def test_a_router_s_number_for_a_server_is_not_its_rank(self) -> None:
        assert judge(Expected(), [built(0, 0, 5), *both(data=5)]).state == "confirmed"

    def test_one_node_of_several_answers_for_its_own(self) -> None:
        here = frozenset({Rank(tensor=2), Rank(tensor=3)})
        lines = [line for t in (2, 3) for line in (built(t), *both(tensor=t))]
        standing = judge(Expected(tensor=4, ranks=here), lines)
        assert (standing.state, standing.confirmed) == ("confirmed", here)

    def test_another_node_s_ranks_are_not_waited_for_but_may_not_be_wrong(self) -> None:
        expected = Expected(tensor=2, ranks=frozenset({Rank()}), worker="EAGLEWorkerV2")
        lines = [built(0), *both()]
        assert judge(expected, [*lines, built(1)]).state == "confirmed"
        assert judge(expected, [*lines, built(1, worker="EAGLEWorker")]).state == "failed"

    def test_ranks_that_no_traffic_reaches_need_not_run(self) -> None:
        expected = Expected(tensor=2, live_ranks=frozenset({Rank()}))
        assert judge(expected, [built(0), built(1), *both()]).state == "confirmed"
        assert judge(expected, [built(0), built(1), *both(tensor=1)]).state == "waiting"

    @pytest.mark.parametrize(
        ("field", "other", "said"),
        [
            ("loop", "synchronous", "loop is overlap on rank dp 0, pp 0, tp 0; synchronous on rank dp 0, pp 0, tp 1"),
            ("threshold", 8, "threshold is None on rank dp 0, pp 0, tp 0; 8 on rank dp 0, pp 0, tp 1"),
            ("mechanism", "v2", "mechanism is observe on rank dp 0, pp 0, tp 0; v2 on rank dp 0, pp 0, tp 1"),
            ("module", "m", f"module is {MODULE} on rank dp 0, pp 0, tp 0; m on rank dp 0, pp 0, tp 1"),
        ],
    )
    def test_they_have_to_be_alike(self, field: str, other: object, said: str) -> None:
        standing = judge(Expected(tensor=2), [built(0), built(1, **{field: other})])
        assert (standing.state, standing.reasons) == ("failed", (f"the ranks are not alike: {said}",))

    def test_two_processes_cannot_be_the_same_one(self) -> None:
        standing = judge(Expected(), [built(pid=7), built(pid=9), *both()])
        assert standing.state == "failed"
        assert standing.reasons == ("rank dp 0, pp 0, tp 0: several processes say that they are it: 7, 9",)

    def test_a_process_may_say_the_same_twice(self) -> None:
        assert judge(Expected(), [built(), built(), *both()]).state == "confirmed"


class TestAServerWithoutSpeculation:
    none = built(worker=None, module=None, mechanism="none")

    def test_is_confirmed_by_every_rank_saying_so_where_that_is_the_static_answer(self) -> None:
        expected = Expected(prediction=Prediction(None))
        assert judge(expected, [self.none]).state == "confirmed"
        assert judge(expected, []).state == "waiting"

    def test_has_failed_where_a_worker_was_built_after_all(self) -> None:
        assert judge(Expected(prediction=Prediction(None)), [built()]).state == "failed"

    def test_has_failed_where_a_worker_is_expected(self) -> None:
        assert judge(Expected(prediction=V2), [self.none]).state == "failed"


class TestSeveralServersInOneLog:
    def test_lines_of_another_run_do_not_count(self) -> None:
        theirs = [built(run="b", worker="EAGLEWorker"), live("prefill", run="b"), Failed(Origin(1, "b"), "broken")]
        expected = Expected(worker="EAGLEWorkerV2", run="a")
        assert judge(expected, theirs).state == "waiting"
        ours = [built(run="a"), live("prefill", run="a"), live("decode", run="a")]
        assert judge(expected, [*theirs, *ours]).state == "confirmed"

    def test_lines_without_a_run_do_not_count_either_where_one_is_expected(self) -> None:
        assert judge(Expected(run="a"), [built(), *both()]).state == "waiting"
