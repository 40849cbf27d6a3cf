"""PT101 dead-patch."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pathtrace.rules.examples import V1, V2, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place, Site
from pathtrace.tracer.change.judge import JudgedChange, Twin


class DeadPatch(Rule):
    """## What it does
    Finds a changed function of a speculative worker that the launch never runs.

    ## Why is this bad
    SGLang has several workers that look alike, and chooses one at start. A change to another one has no effect: it is
    measured, reviewed and deployed, and nothing happens.

    ## Example
    The patch changes `EAGLEWorkerV2.verify` in `eagle_worker_v2.py`. The server of release 0.5.9 is started without
    `SGLANG_ENABLE_SPEC_V2=1`, and loads `EAGLEWorker` from `eagle_worker.py`.

    ## Use instead
    Change the function that runs: the finding names it. Or change the launch so that the other worker loads: `pathtrace
    check --expect CLASS` says how.
    """

    code = "PT101"
    name = "dead-patch"
    VALID = (
        launch(),
        launch(JudgedChange("EAGLEWorker.verify", V1, 691, True)),
    )
    INVALID = (
        (
            launch(JudgedChange("EAGLEWorkerV2.verify", V2, 705, False, Twin("EAGLEWorker.verify", V1, 691))),
            "EAGLEWorkerV2.verify is changed, and this launch never runs it: it loads EAGLEWorker. "
            f"What runs is EAGLEWorker.verify, {V1}:691",
        ),
        (
            launch(JudgedChange("EagleDraftWorker.draft", V2, 300, False)),
            "EagleDraftWorker.draft is changed, and this launch never runs it: it loads EAGLEWorker",
        ),
        (
            launch(JudgedChange("EAGLEWorkerV2.verify", V2, 705, False), outcome="none", worker=None),
            "EAGLEWorkerV2.verify is changed, and this launch never runs it: it does not speculate",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each changed function that is never run."""
        for change in subject.changes:
            if not change.runs:
                text = f"{change.name} is changed, and this launch never runs it: {loads(subject)}"
                if change.twin is not None:
                    text += f". What runs is {change.twin.name}, {change.twin.file}:{change.twin.line}"
                yield Finding(self.code, text, Place(change.file, change.line, ""), at=_site(subject, change))


def _site(subject: Subject, change: JudgedChange) -> Site | None:
    """The changed line, where the tree is a folder that someone edits."""
    tree = subject.answer.tree
    return Site(os.path.join(tree.path, change.file), change.line) if tree.kind in ("directory", "installed") else None


def loads(subject: Subject) -> str:
    """What a launch loads, as the end of a sentence about it."""
    answer = subject.answer
    if answer.worker is not None:
        return f"it loads {answer.worker.cls}"
    found = dict.fromkeys(each.worker.cls for each in answer.alternatives if each.worker is not None)
    return f"it loads {' or '.join(found)}" if found else "it does not speculate"
