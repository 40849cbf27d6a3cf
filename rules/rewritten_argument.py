"""PT105 silently-rewritten-argument."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ignored, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding


class SilentlyRewrittenArgument(Rule):
    """## What it does
    Finds a flag of the launch whose value the server replaces.

    ## Why is this bad
    The server runs with other values than the launch says, and at most a line in its log tells.

    ## Example
    `--speculative-num-draft-tokens 8` with `--speculative-eagle-topk 1 --speculative-num-steps 3`: the server takes 4.

    ## Use instead
    Give the value that the server takes, or change what makes it replace yours.
    """

    code = "PT105"
    name = "silently-rewritten-argument"
    VALID = (launch(), launch(ignored=(ignored(),)))
    INVALID = (
        (
            launch(ignored=(ignored(kind="flag", name="--topk", value="4", why="overwritten", became="1"),)),
            "--topk 4 is given, and the server takes 1",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such flag."""
        for each in subject.answer.ignored:
            if each.kind == "flag" and each.why == "overwritten":
                text = f"{each.name} {each.value} is given, and the server takes {each.became}"
                yield Finding(self.code, text, each.place)
