"""What real releases did for real launches (recorded by executing them, see README.md) must be the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pathtrace.tracer.launches_file import LaunchLine, read_launches

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer
    from pathtrace.tracer.tree.model import Tree

HERE = Path(__file__).parent
LARGE = ("0.5.12.post1", "0.5.13", "0.5.18", "0.5.20", "0.5.23")
REGISTERED = ("mimo-eagle", "gptoss-e3")  # decided by hooks that some releases register by an import alone
BLOCK_SIZE_NOT_GIVEN = ("dflash", "dspark")
MACHINE = {"device": "cuda", "sm": "90", "gpus": "8", "gpu_memory_mib": "81559"}


@dataclass(frozen=True)
class Cell:
    """One launch on one release, and what that release did."""

    release: str
    launch: LaunchLine
    wanted: dict[str, Any]
    further: bool


def cells() -> Iterator[Cell]:
    launches = {
        line.id: line
        for file in ("launches.jsonl", "more_launches.jsonl")
        for line in read_launches(HERE / file)
        if isinstance(line, LaunchLine)
    }
    for file in ("truth.json", "more_truth.json"):
        for release, rows in json.loads((HERE / file).read_text("utf-8")).items():
            for launch_id, wanted in rows.items():
                yield Cell(release, launches[launch_id], wanted, file == "more_truth.json")


def ask(tree: Tree, line: LaunchLine, assume: dict[str, str] = MACHINE) -> Answer:
    from pathtrace.tracer.check import CheckRequest, check
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.parse import parse_launch

    launch = replace(parse_launch(line.words), env=line.env)
    return check(
        CheckRequest(
            tree=tree,
            launch=launch,
            environment=merge_environment(launch, (), None, None),
            model_config=line.model_config,
            draft_config=line.draft_config,
            assume=assume,
            expect=None,
            changes=False,
            shell=None,
            cache=False,
        )
    )


def seen(answer: Answer) -> dict[str, Any]:
    """The answer in the form of the records."""
    if answer.refusal is not None:
        refusal = answer.refusal
        return {
            "outcome": answer.outcome,
            "phase": refusal.phase,
            "exception": refusal.exception,
            # argparse words its errors differently from one Python to the next
            "message": None if refusal.phase == "parse" else refusal.message,
        }
    return {
        "outcome": answer.outcome,
        "worker": answer.worker and answer.worker.cls,
        "module": answer.worker and answer.worker.module,
        "loop": answer.event_loop,
        "topk": answer.resolved.get("speculative_eagle_topk"),
        "steps": answer.resolved.get("speculative_num_steps"),
        "draft_tokens": answer.resolved.get("speculative_num_draft_tokens"),
    }


def parameters() -> Iterator[Any]:
    """Cells as parameters; the further launches on the largest trees take minutes and are marked slow."""
    for cell in cells():
        slow = cell.further and cell.release in LARGE and cell.launch.id not in REGISTERED
        yield pytest.param(cell, id=f"{cell.release}-{cell.launch.id}", marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("cell", list(parameters()))
def test_answer_is_what_the_release_did(cell: Cell, tree: Callable[[str], Tree]) -> None:
    found, wanted = seen(ask(tree(cell.release), cell.launch)), dict(cell.wanted)
    if cell.launch.id in BLOCK_SIZE_NOT_GIVEN and wanted.get("draft_tokens") is not None:
        # The draft's config.json has no block size: a config class may supply it, so it is not decided.
        assert found.pop("draft_tokens") == "unknown"
        wanted.pop("draft_tokens")
    assert found == wanted


def without_configs(line: LaunchLine) -> LaunchLine:
    """The same launch, of models that are not on this machine."""
    words = list(line.words)
    for config, name in ((line.draft_config, "some/draft"), (line.model_config, "some/model")):
        if config is not None:
            words = [word.replace(str(Path(config).parent), name) for word in words]
    return replace(line, words=tuple(words), model_config=None, draft_config=None)


def allows(answer: Answer, wanted: dict[str, Any]) -> bool:
    """Whether what the release did is among what the answer leaves open."""
    did = (wanted["outcome"], wanted.get("worker"), wanted.get("loop"))
    if answer.outcome == "undecided":
        left = [(one.outcome, one.worker and one.worker.cls, one.event_loop) for one in answer.alternatives]
        unknown = ("undecided", None, wanted.get("loop"))
        return wanted["outcome"] == "refused" or did in left or unknown in left
    if wanted["outcome"] == "refused":
        raised = [each.refusal.exception for each in answer.possible_refusals]
        return wanted["exception"] in raised or answer.outcome == "refused"
    return did == (answer.outcome, answer.worker and answer.worker.cls, answer.event_loop)


def unsupplied() -> Iterator[Any]:
    """A small release whole; of a large one the models with hooks of their own. The others take an hour."""
    for cell in cells():
        registered = cell.release == "0.5.18" and cell.launch.id in REGISTERED
        quick = registered or (cell.release == "0.5.9" and not cell.further)
        yield pytest.param(cell, id=f"{cell.release}-{cell.launch.id}", marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize("cell", list(unsupplied()))
def test_less_that_is_given_leaves_more_open_and_nothing_wrong(cell: Cell, tree: Callable[[str], Tree]) -> None:
    answer = ask(tree(cell.release), without_configs(cell.launch), {})
    assert allows(answer, cell.wanted), (answer.outcome, answer.worker, answer.event_loop, answer.alternatives)
