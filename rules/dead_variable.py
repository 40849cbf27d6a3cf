"""PT102 dead-variable."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ignored, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding


class DeadVariable(Rule):
    """## What it does
    Finds an environment variable of the launch that the tree does not read, or reads only to warn about it.

    ## Why is this bad
    The launch says something that the server does not hear. Variables come and go between releases: what switched the
    newer worker on in one is gone in the next.

    ## Example
    `SGLANG_ENABLE_SPEC_V2=0` with release 0.5.18, which has nothing but the newer worker and only warns.

    ## Use instead
    Leave the variable out. `pathtrace check` says what would change the answer.
    """

    code = "PT102"
    name = "dead-variable"
    VALID = (launch(), launch(ignored=(ignored(why="overwritten", became="0"),)))
    INVALID = (
        (launch(ignored=(ignored(place=None),)), "SGLANG_X=1 is set, and this tree does not read it"),
        (launch(ignored=(ignored(why="warned"),)), "SGLANG_X=1 is set, and this tree reads it only to warn"),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such variable."""
        for each in subject.answer.ignored:
            if each.kind == "variable" and each.why in ("unread", "warned"):
                what = "does not read it" if each.why == "unread" else "reads it only to warn"
                yield Finding(
                    self.code, f"{each.name}={each.value} is set, and this tree {what}", each.place, each.name
                )
