"""``--nnodes``, ``--node-rank`` and ``--confirm-dir``: each node confirms its own ranks, node 0 all of them."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pathtrace.instrument.assertion import Rank
from pathtrace.instrument.confirmation import Built, Line, Live, Origin
from pathtrace.supervisor.confirm_dir import ConfirmFolder
from pathtrace.supervisor.shape import Shape
from pathtrace.supervisor.verdict import Assertion
from pathtrace.supervisor.watch import Watch
from pathtrace.tests.supervisor.running import own_lines, read_until, run, running

FOREVER = ["sleep", 300]


def steps_of(tensor: int, **more: Any) -> list[list[Any]]:
    return [["built", {"tensor": tensor, **more}], ["both", {"tensor": tensor}]]


def of_node(node: int) -> list[str]:
    return ["--tp", "2", "--nnodes", "2", "--node-rank", str(node)]


def test_a_node_confirms_its_own_ranks_and_says_which() -> None:
    done = run([*steps_of(1), ["sleep", 0.3]], *of_node(1))
    assert done.returncode == 0
    assert own_lines(done.stderr) == [
        "pathtrace: confirmed: EAGLEWorker eagle_worker.py:78 on 1 rank; prefill and decode seen; "
        "node 1 of 2, ranks (dp 0, pp 0, tp 1)"
    ]


def test_node_0_waits_for_the_other_one(tmp_path: Path) -> None:
    folder = ["--confirm-dir", str(tmp_path / "shared")]
    with ExitStack() as stack:
        first = stack.enter_context(running([*steps_of(0), FOREVER], *of_node(0), options=folder))
        second = stack.enter_context(running([*steps_of(1), FOREVER], *of_node(1), options=folder))
        assert first.stderr is not None and second.stderr is not None
        assert "node 1 of 2" in read_until(second.stderr, "confirmed: ")
        said = read_until(first.stderr, "confirmed: ")
    assert said.splitlines()[-1] == (
        "pathtrace: confirmed: EAGLEWorker eagle_worker.py:78 on 2 ranks; prefill and decode seen; all 2 nodes"
    )


def test_a_node_that_never_comes_is_named(tmp_path: Path) -> None:
    options = ["--confirm-dir", str(tmp_path), "--confirm-timeout", "3"]
    done = run([*steps_of(0), FOREVER], *of_node(0), options=options)
    assert done.returncode == 97
    assert f"pathtrace:   node 1 has not confirmed in {tmp_path}" in own_lines(done.stderr)


def test_a_folder_that_cannot_be_made_is_pathtraces_own_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run([*steps_of(0), FOREVER], *of_node(0), options=["--confirm-dir", str(tmp_path / "file" / "sub")])
    assert done.returncode == 98
    assert done.stdout == b""


# Without processes: two views of one folder.


def lines(tensor: int, token: str, worker: str = "W") -> list[Line]:
    # Two machines may give the same number to their processes.
    origin = Origin(7, token, tensor, 0)
    found: list[Line] = [Built(origin, worker=worker, module="m", mechanism="observe")]
    return found + [Live(origin, worker, mode, 1) for mode in ("prefill", "decode")]


def node(folder: Path, number: int, token: str, *said: Line) -> Watch:
    shape = Shape(tp_size=2, nnodes=2, node_rank=number)
    watch = Watch(Assertion(shape, run=token), 100.0, ConfirmFolder(folder, number, 2, token), began=0.0)
    assert watch.folder is not None
    watch.folder.start()
    for line in said:
        watch.hear(line)
    return watch


@pytest.mark.parametrize("first_to_start", [0, 1])
def test_whichever_node_starts_first_both_confirm(tmp_path: Path, first_to_start: int) -> None:
    watches: dict[int, Watch] = {}
    for number in (first_to_start, 1 - first_to_start):
        watches[number] = node(tmp_path, number, f"t{number}", *lines(number, f"t{number}"))
        watches[number].decide(1.0)
    # Node 1 may have spoken before node 0 began; it is asked again and again.
    watches[1].keep_published()
    decision = watches[0].decide(2.0)
    assert decision is not None and decision.confirmed
    assert decision.sentence.endswith("all 2 nodes")


def test_what_an_earlier_run_left_confirms_nothing(tmp_path: Path) -> None:
    node(tmp_path, 0, "old0", *lines(0, "old0")).decide(1.0)
    node(tmp_path, 1, "old1", *lines(1, "old1")).decide(1.0)
    again = node(tmp_path, 0, "new0", *lines(0, "new0"))
    assert again.decide(1.0) is None


def test_two_nodes_that_built_different_workers_are_not_confirmed(tmp_path: Path) -> None:
    first = node(tmp_path, 0, "t0", *lines(0, "t0", "V1"))
    node(tmp_path, 1, "t1", *lines(1, "t1", "V2")).decide(1.0)
    decision = first.decide(2.0)
    assert decision is not None and not decision.confirmed
    assert decision.sentence == (
        "the ranks are not alike: worker is V1 on rank dp 0, pp 0, tp 0; V2 on rank dp 0, pp 0, tp 1"
    )


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"token": 3}', b"\xff" * 100, b"[" * 100_000])
def test_a_file_that_is_not_ours_counts_as_none(tmp_path: Path, content: bytes) -> None:
    first = node(tmp_path, 0, "t0", *lines(0, "t0"))
    (tmp_path / "pathtrace-node1.json").write_bytes(content)
    assert first.decide(2.0) is None


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    node(tmp_path, 0, "t0", *lines(0, "t0")).decide(1.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pathtrace-node0.json", "pathtrace-run.json"]
    said = json.loads((tmp_path / "pathtrace-node0.json").read_text())
    assert (said["token"], said["node"], said["nodes"], said["state"], len(said["lines"])) == (
        "t0",
        0,
        2,
        "confirmed",
        3,
    )


@pytest.mark.parametrize(
    ("shape", "ranks"),
    [
        # As the trees lay them out: stages over nodes first, then the parts of a stage.
        (Shape(tp_size=4, nnodes=2, node_rank=0), {(0, 0, 0), (0, 0, 1)}),
        (Shape(tp_size=4, nnodes=2, node_rank=1), {(0, 0, 2), (0, 0, 3)}),
        (Shape(tp_size=2, pp_size=2, nnodes=2, node_rank=0), set()),
        (Shape(tp_size=2, pp_size=2, nnodes=2, node_rank=1), {(0, 1, 0), (0, 1, 1)}),
        (Shape(tp_size=2, pp_size=2, nnodes=4, node_rank=3), {(0, 1, 1)}),
        (Shape(tp_size=2, pp_size=4, nnodes=2, node_rank=1), {(0, 3, 0), (0, 3, 1)}),
        (Shape(tp_size=4, dp_size=4, enable_dp_attention=True, nnodes=2, node_rank=1), {(0, 0, 2), (0, 0, 3)}),
    ],
)
def test_the_ranks_of_a_node(shape: Shape, ranks: set[tuple[int, int, int]]) -> None:
    assert shape.local_ranks() == {Rank(*each) for each in ranks}
