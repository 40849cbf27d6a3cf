"""PT201 missing-handoff."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import SCHEDULER, V2, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place
from pathtrace.tracer.handoff.missing import MissingHandoff
from pathtrace.tracer.handoff.model import Consumer

_READER = Consumer(SCHEDULER, 2347, "batch.spec_info = batch_result.next_draft_input", "Scheduler.run_batch", "overlap")
_STEP = "EAGLEWorkerV2.forward_batch_generation"
_EARLY = MissingHandoff(_STEP, V2, 661, "return batch_output", "self.is_off(batch)", "next_draft_input", _READER)


class StepWithoutHandoff(Rule):
    """## What it does
    Finds a way out of the worker's step, in the overlap event loop, that returns a result without `next_draft_input`.

    ## Why is this bad
    The loop goes on to use it in the same step. The server starts, and fails at the first batch that leaves there.

    ## Example
    An early `return batch_output` behind the target's forward pass in `EAGLEWorkerV2.forward_batch_generation` of
    release 0.5.9, put in to leave speculation out above a batch size.

    ## Use instead
    Give the result a `next_draft_input` on that path, too: `pathtrace handoff` shows who makes it on the others. What
    only the first stages of a pipeline run is not found: they hand nothing on.
    """

    code = "PT201"
    name = "missing-handoff"
    reads = ("missing",)
    VALID = (launch(), launch(event_loop="overlap"))
    INVALID = (
        (
            launch(event_loop="overlap", missing=(_EARLY,)),
            "EAGLEWorkerV2.forward_batch_generation returns without next_draft_input where self.is_off(batch), "
            f"and the overlap loop uses it ({SCHEDULER}:2347)",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such way out, at its ``return``."""
        for each in subject.missing:
            where = f" where {each.when}" if each.when else ""
            reader = f"{each.reader.file}:{each.reader.line}"
            text = f"{each.function} returns without {each.field}{where}, and the overlap loop uses it ({reader})"
            yield Finding(self.code, text, Place(each.file, each.line, each.text))
