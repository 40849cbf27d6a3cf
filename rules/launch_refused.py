"""PT104 launch-refused."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ARGS, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place, Refusal


class LaunchRefused(Rule):
    """## What it does
    Finds a launch that the server refuses: while it parses the words, resolves or validates the arguments, or imports
    the worker.

    ## Why is this bad
    The server does not start.

    ## Example
    Release 0.5.9 with `SGLANG_ENABLE_SPEC_V2=1` and `--speculative-eagle-topk 4`.

    ## Use instead
    What the message of the refusal asks for; `pathtrace check` shows changes that lead to a worker.
    """

    code = "PT104"
    name = "launch-refused"
    VALID = (launch(),)
    INVALID = (
        (
            launch(
                outcome="refused",
                worker=None,
                event_loop=None,
                refusal=Refusal("resolve", "ValueError", "Spec v2 currently only supports topk = 1", ARGS, 2380),
            ),
            "the server refuses this launch: ValueError: Spec v2 currently only supports topk = 1",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding, at the line that refuses."""
        refusal = subject.answer.refusal
        if refusal is not None:
            text = f"the server refuses this launch: {refusal.exception}: {refusal.message}"
            place = None if refusal.file is None else Place(refusal.file, refusal.line or 1, "")
            yield Finding(self.code, text, place)
