"""PT202 call-signature-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import SCHEDULER, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place
from pathtrace.tracer.handoff.signature import Mismatch

_CALL = Mismatch("pp_proxy_tensors", SCHEDULER, 4829, "UnoWorkerV2.forward_batch_generation", "uno_worker_v2.py:767")


class CallSignatureMismatch(Rule):
    """## What it does
    Finds a keyword that the scheduler gives the worker's step in this event loop, and that the step does not take.

    ## Why is this bad
    The server starts, and the first batch ends in a TypeError.

    ## Example
    `UnoWorkerV2` of release 0.5.23 in the synchronous loop: the scheduler passes `pp_proxy_tensors`.

    ## Use instead
    The other event loop, or a tree in which the worker takes the keyword.
    """

    code = "PT202"
    name = "call-signature-mismatch"
    reads = ("mismatches",)
    VALID = (launch(),)
    INVALID = (
        (
            launch(mismatches=(_CALL,)),
            "the scheduler calls UnoWorkerV2.forward_batch_generation with pp_proxy_tensors, which it does not take "
            "(uno_worker_v2.py:767)",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such keyword of each call."""
        for each in subject.mismatches:
            text = f"the scheduler calls {each.entry} with {each.keyword}, which it does not take ({each.entry_at})"
            yield Finding(self.code, text, Place(each.file, each.line, ""))
