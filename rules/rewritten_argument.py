"""PT105 silently-rewritten-argument."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ARGS, ignored, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place

_LIMIT = "max_running_requests"


class SilentlyRewrittenArgument(Rule):
    """## What it does
    Finds a flag of the launch whose value the server replaces, and a limit of running requests that the launch does not
    give and the server sets because it speculates.

    ## Why is this bad
    The server runs with other values than the launch says, and at most a line in its log tells.

    ## Example
    `--speculative-num-draft-tokens 8` with `--speculative-eagle-topk 1 --speculative-num-steps 3`: the server takes 4.
    Without `--max-running-requests`, a server of release 0.5.9 that speculates takes 48 requests at a time.

    ## Use instead
    Give the value that the server takes, or change what makes it replace yours. Give `--max-running-requests`.
    """

    code = "PT105"
    name = "silently-rewritten-argument"
    reads = ("limit_set_at",)
    VALID = (launch(), launch(ignored=(ignored(),)), launch(resolved={_LIMIT: 16}))
    INVALID = (
        (
            launch(ignored=(ignored(kind="flag", name="--topk", value="4", why="overwritten", became="1"),)),
            "--topk 4 is given, and the server takes 1",
        ),
        (
            launch(resolved={_LIMIT: 48}, limit_set_at=Place(ARGS, 2363)),
            f"max_running_requests is 48: the launch does not give it, and {ARGS}:2363 sets it with speculation",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such flag, and one for the limit."""
        for each in subject.answer.ignored:
            if each.kind == "flag" and each.why == "overwritten":
                text = f"{each.name} {each.value} is given, and the server takes {each.became}"
                yield Finding(self.code, text, each.place, each.name)
        place = subject.limit_set_at
        if place is not None:
            limit = subject.answer.resolved.get(_LIMIT)
            text = f"{_LIMIT} is {limit}: the launch does not give it, and {place} sets it with speculation"
            yield Finding(self.code, text, place, "--max-running-requests")
