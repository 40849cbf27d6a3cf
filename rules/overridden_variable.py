"""PT103 overridden-variable."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ignored, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding


class OverriddenVariable(Rule):
    """## What it does
    Finds an environment variable of the launch that the tree itself sets to something else.

    ## Why is this bad
    Hooks for some models set variables. What the launch says is then not what the server reads.

    ## Example
    `SGLANG_ENABLE_SPEC_V2=0` with release 0.5.9 and a MiMo model with EAGLE: a hook sets it to true.

    ## Use instead
    Leave the variable out, or set what the hook sets, so that the launch says what happens.
    """

    code = "PT103"
    name = "overridden-variable"
    VALID = (launch(), launch(ignored=(ignored(),)))
    INVALID = (
        (
            launch(ignored=(ignored(why="overwritten", became="True"),)),
            "SGLANG_X=1 is set, and the tree sets it to True",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such variable."""
        for each in subject.answer.ignored:
            if each.kind == "variable" and each.why == "overwritten":
                text = f"{each.name}={each.value} is set, and the tree sets it to {each.became}"
                yield Finding(self.code, text, each.place, each.name)
