"""Where each worker's hand-off is made, filled, stored and read: real releases, every class that they can choose.

``expected/`` was written by reading the source of each release, before the tool existed; every entry is the
line that was read. ``perhaps`` are lines that are reached only in configurations that the source alone does
not decide (a pipeline's last stage drafting ahead, an idle batch); a return among them may come out as open.
Of a worker without the field, fills are not listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.handoff.find import find_handoff, worker_class
from pathtrace.tracer.handoff.model import Handoff
from pathtrace.tracer.tree.model import Tree

EXPECTED = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "expected").glob("*.json")}
QUICK = ("0.5.4", "0.5.9", "0.5.12.post1", "0.5.14")
V2 = "sglang/srt/speculative/eagle_worker_v2.py"
MULTI = "sglang/srt/speculative/multi_layer_eagle_worker_v2.py"


def cells() -> Iterator[Any]:
    for release, expected in sorted(EXPECTED.items()):
        for worker in expected["workers"]:
            yield pytest.param(release, worker, marks=() if release in QUICK else pytest.mark.slow)


WORKERS = list(cells())
RELEASES = [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in sorted(EXPECTED)]


@pytest.fixture(scope="module")
def traced(tree: Callable[[str], Tree]) -> Callable[[str, str], Handoff]:
    return cache(lambda release, worker: find_handoff(tree(release), *worker_class(tree(release), worker)))


def at(file: str, line: int) -> str:
    return f"{file.removeprefix('sglang/srt/')}:{line}"


@pytest.mark.parametrize(("release", "worker"), WORKERS)
def test_every_site_is_where_it_was_read(release: str, worker: str, traced: Callable[[str, str], Handoff]) -> None:
    wanted, found = EXPECTED[release]["workers"][worker], traced(release, worker)
    assert (found.file, found.field) == (wanted["file"], wanted["field"])
    kinds = {"creates", "stores"} if found.field == "spec_info" else {
        "creates", "fills", "stores", "fetches", "consumes", "returns",
    }  # fmt: skip
    sites = {f"{site.kind} {at(site.file, site.line)}" for site in found.sites if site.kind in kinds}
    assert set(wanted["sites"]) - sites == set(), "missing"
    assert {site for site in sites - set(wanted["sites"]) if site.split()[1] not in wanted["perhaps"]} == set()
    assert all(site.on_path for site in found.sites)


@pytest.mark.parametrize(("release", "worker"), WORKERS)
def test_every_way_out_is_known_to_carry_it_or_not(
    release: str, worker: str, traced: Callable[[str, str], Handoff]
) -> None:
    wanted, found = EXPECTED[release]["workers"][worker], traced(release, worker)
    if found.field is None:
        assert {each.carries for each in found.returns} == {False}
        return
    returns = {at(each.file, each.line): each.carries for each in found.returns}
    assert set(returns) == set(wanted["returns"])
    for place, carries in wanted["returns"].items():
        assert returns[place] is carries or (returns[place] is None and place in wanted["perhaps"]), place


@pytest.mark.parametrize(("release", "worker"), WORKERS)
def test_prefill_and_decode_have_their_producers(
    release: str, worker: str, traced: Callable[[str, str], Handoff]
) -> None:
    wanted, found = EXPECTED[release]["workers"][worker], traced(release, worker)
    assert sorted(found.producers("prefill")) == sorted(wanted["prefill"])
    assert sorted(found.producers("decode")) == sorted(wanted["decode"])


@pytest.mark.parametrize(("release", "worker"), WORKERS)
def test_other_workers_look_alikes_are_off_the_path(
    release: str, worker: str, traced: Callable[[str, str], Handoff], tree: Callable[[str], Tree]
) -> None:
    wanted, found = EXPECTED[release]["workers"][worker], traced(release, worker)
    alike = {at(site.file, site.line) for site in found.look_alikes}
    assert alike.isdisjoint({at(site.file, site.line) for site in found.sites})
    speaks = {place for place in wanted["off_path"] if b"next_draft_input" in line_of(tree(release), place)}
    assert speaks - alike == set()


def line_of(tree: Tree, place: str) -> bytes:
    file, _, line = place.rpartition(":")
    return (tree.read(f"sglang/srt/{file}") or b"").split(b"\n")[int(line) - 1]


@pytest.mark.parametrize(
    "release", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in EXPECTED]
)
def test_who_reads_it_outside_of_the_workers(release: str, traced: Callable[[str, str], Handoff]) -> None:
    wanted = EXPECTED[release]["consumers"]
    found = {at(each.file, each.line): each.loop for each in traced(release, "EAGLEWorkerV2").consumers}
    assert set(found) == set(wanted)
    assert {place: loop for place, loop in found.items() if wanted[place] != "any"} == {
        place: loop for place, loop in wanted.items() if loop != "any"
    }


def test_the_four_lines_that_a_person_would_grep_have_their_roles(traced: Callable[[str, str], Handoff]) -> None:
    """``grep _draft_extend_for``, release 0.5.9: two definitions and two calls, and the same four elsewhere."""
    functions = {(each.file, each.line): each for each in traced("0.5.9", "EAGLEWorkerV2").functions}
    prefill, decode = functions[V2, 463], functions[V2, 511]
    assert (prefill.on_path, prefill.called_at) == (True, (f"{V2}:667",)) and "creates" in prefill.roles
    assert (decode.on_path, decode.called_at) == (True, (f"{V2}:695",)) and decode.roles == ("fetches", "fills")
    for line, called in ((340, 610), (412, 630)):
        twin = functions[MULTI, line]
        assert (twin.on_path, twin.roles, twin.called_at) == (False, (), (f"{MULTI}:{called}",))


def test_a_worker_that_inherits_its_step_runs_the_step_of_its_base(traced: Callable[[str, str], Handoff]) -> None:
    found = traced("0.5.9", "StandaloneWorkerV2")
    assert found.entry == "EAGLEWorkerV2.forward_batch_generation"
    assert found.sites == traced("0.5.9", "EAGLEWorkerV2").sites


def test_a_class_that_is_no_worker_is_bad_input(tree: Callable[[str], Tree]) -> None:
    with pytest.raises(BadInput, match=r"no such worker .*EAGLEWorkerV2"):
        worker_class(tree("0.5.9"), "EagleDraftWorker")
