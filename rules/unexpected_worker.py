"""PT107 unexpected-worker."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Expect, Finding


class UnexpectedWorker(Rule):
    """## What it does
    Finds a launch that loads another worker than the one that is expected.

    ## Why is this bad
    What is measured, patched or relied on is a class that does not run.

    ## Example
    `--expect EAGLEWorkerV2` with release 0.5.9 and no `SGLANG_ENABLE_SPEC_V2=1`: the server loads `EAGLEWorker`.

    ## Use instead
    The change that `pathtrace check --expect CLASS` names, or the expectation that is so.
    """

    code = "PT107"
    name = "unexpected-worker"
    VALID = (launch(), launch(expect=Expect("EAGLEWorker", True)))
    INVALID = (
        (launch(expect=Expect("EAGLEWorkerV2", False)), "EAGLEWorkerV2 is expected, and this launch loads EAGLEWorker"),
        (
            launch(expect=Expect("EAGLEWorkerV2", False), outcome="none", worker=None),
            "EAGLEWorkerV2 is expected, and this launch loads no worker",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding; what cannot be decided is another rule's."""
        answer = subject.answer
        if answer.expect is not None and not answer.expect.met and answer.outcome in ("worker", "none"):
            loads = "no worker" if answer.worker is None else answer.worker.cls
            yield Finding(self.code, f"{answer.expect.wanted} is expected, and this launch loads {loads}")
