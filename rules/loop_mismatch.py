"""PT106 worker-loop-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import SCHEDULER, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place
from pathtrace.tracer.handoff.model import Consumer

_READER = Consumer(SCHEDULER, 2347, "batch.spec_info = batch_result.next_draft_input", "Scheduler.run_batch", "overlap")


class WorkerLoopMismatch(Rule):
    """## What it does
    Finds a worker of the older kind in the overlap event loop.

    ## Why is this bad
    The overlap loop reads `next_draft_input` of every result. A worker that never sets it makes the server fail at its
    first batch, after a start that looked healthy.

    ## Example
    `STANDALONE` with `SGLANG_ENABLE_SPEC_V2=1` on release 0.5.5, which has no newer worker for it.

    ## Use instead
    Leave out what turns the overlap loop on, or choose an algorithm that has a worker for it.
    """

    code = "PT106"
    name = "worker-loop-mismatch"
    reads = ("unmet_reader",)
    VALID = (launch(), launch(event_loop="overlap"))
    INVALID = (
        (
            launch(event_loop="overlap", unmet_reader=_READER),
            "EAGLEWorker runs in the overlap loop, which reads next_draft_input of its results; it never sets that",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding, at the line that reads."""
        worker, reader = subject.answer.worker, subject.unmet_reader
        if worker is not None and reader is not None and subject.answer.event_loop == "overlap":
            reads = "runs in the overlap loop, which reads next_draft_input of its results; it never sets that"
            yield Finding(self.code, f"{worker.cls} {reads}", Place(reader.file, reader.line, reader.text))
