"""PT401 unused-suppression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pathtrace.rules.examples import launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.rules.suppressions import Suppression
from pathtrace.tracer.answer import Finding, Site

_COMMENT = Suppression("run.sh", 3, ("PT102",), "kept for the old cluster", frozenset({3, 4}))
_CODE = re.compile(r"PT\d{3}")
_ASKED = frozenset({"PT102", "PT401"})


class UnusedSuppression(Rule):
    """## What it does
    Finds a `# pathtrace: ignore[...]` comment that lets nothing pass.

    ## Why is this bad
    It says that something is wrong where nothing is, and hides the finding that comes there next.

    ## Example
    `# pathtrace: ignore[PT102] kept for the old cluster` above a launch whose dead variable was taken out since. A
    comment that names no rule suppresses nothing, and is found, too.

    ## Use instead
    Take the comment out, or the code that is not needed. Write the codes: `# pathtrace: ignore[PT102]`.
    """

    code = "PT401"
    name = "unused-suppression"
    VALID = (
        launch(),
        launch(comments=(_COMMENT,), asked=frozenset({"PT101", "PT401"})),
    )
    INVALID = (
        (launch(comments=(_COMMENT,), asked=_ASKED), "this comment suppresses PT102, which is not found here"),
        (
            launch(comments=(replace(_COMMENT, codes=("DEAD-VARIABLE",)),), asked=_ASKED),
            "this comment names DEAD-VARIABLE, which is no rule: write its code, as in ignore[PT101]",
        ),
        (
            launch(comments=(replace(_COMMENT, codes=()),), asked=_ASKED),
            "this comment names no rule, and suppresses nothing: write ignore[PT101]",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each comment, unless it is for rules that were not asked for."""
        for each in subject.comments:
            at = Site(each.file, each.line)
            if not each.codes:
                text = "this comment names no rule, and suppresses nothing: write ignore[PT101]"
                yield Finding(self.code, text, at=at)
                continue
            unheard = [code for code in each.codes if not _CODE.fullmatch(code)]
            if unheard:
                text = f"this comment names {', '.join(unheard)}, which is no rule: write its code, as in ignore[PT101]"
                yield Finding(self.code, text, at=at)
            elif subject.asked.issuperset(each.codes):
                text = f"this comment suppresses {', '.join(each.codes)}, which is not found here"
                yield Finding(self.code, text, at=at)
