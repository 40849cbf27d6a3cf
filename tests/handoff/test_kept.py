"""Facts about a worker are kept while what they were read from stays as it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pathtrace.tracer.handoff import kept
from pathtrace.tracer.handoff.kept import WorkerFacts, worker_facts
from pathtrace.tracer.tree.open import open_tree

WORKER = "sglang/srt/speculative/eagle_worker_v2.py"
WANTED = frozenset({"mismatches", "missing"})


@pytest.fixture
def folder(mutable_tree: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = mutable_tree("0.5.9")
    monkeypatch.setenv("PATHTRACE_CACHE_DIR", str(tmp_path / "cache"))
    return made


def facts(folder: Path, wanted: frozenset[str] = WANTED) -> WorkerFacts:
    """As a new process would find them."""
    tree = open_tree(str(folder))
    return worker_facts(tree, "sglang.srt.speculative.eagle_worker_v2", "EAGLEWorkerV2", "overlap", wanted)


def test_facts_are_worked_out_again_only_when_a_file_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out: list[str] = []
    real = kept.missing_handoffs

    def counting(*given: object) -> object:
        worked_out.append("missing")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(kept, "missing_handoffs", counting)
    assert facts(folder) == facts(folder) == WorkerFacts()
    assert len(worked_out) == 1
    facts(folder, frozenset({"mismatches"}))
    assert len(worked_out) == 1

    path = folder / WORKER
    status, text = path.stat(), path.read_text("utf-8")
    early = "            batch_output = self.target_worker.forward_batch_generation("
    assert text.count(early) == 1
    lines = text[: text.index(early)].count("\n") + 1
    guard = "            if len(model_worker_batch.seq_lens) > 64:\n                return GenerationBatchResult()\n"
    path.write_text(text.replace(early, guard + early), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    changed, again = facts(folder), facts(folder)
    assert len(worked_out) == 2
    assert changed == again
    assert [(each.line, each.field) for each in changed.missing] == [(lines + 1, "next_draft_input")]

    path.write_text(text, "utf-8")
    assert facts(folder) == WorkerFacts()
