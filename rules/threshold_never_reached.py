"""PT301 threshold-never-reached."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ARGS, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place

FIELD = "max_running_requests"
_FLAG = "--max-running-requests"
_SET = Place(ARGS, 2363, "self.max_running_requests = 48")
_LIMIT = {FIELD: 48}


class ThresholdNeverReached(Rule):
    """## What it does
    Finds a threshold, above which speculation is to be off, that no batch of this launch can go beyond.

    ## Why is this bad
    The server never runs more requests at once than `max_running_requests`. With the threshold at or above that,
    speculation is never turned off, and nothing says so.

    ## Example
    A threshold of 64 with release 0.5.9 and no `--max-running-requests`: with speculation the server takes 48.

    ## Use instead
    A lower threshold, or a higher `--max-running-requests`.
    """

    code = "PT301"
    name = "threshold-never-reached"
    reads = ("limit_set_at",)
    VALID = (
        launch(),
        launch(threshold=32, resolved=_LIMIT),
        launch(threshold=64, resolved={FIELD: None}),
        launch(threshold=64, resolved={FIELD: "unknown"}),
        launch(threshold=64, resolved=_LIMIT, outcome="none", worker=None),
        launch(resolved=_LIMIT),
    )
    INVALID = (
        (
            launch(threshold=64, resolved=_LIMIT),
            "the threshold is 64, and max_running_requests is 48: speculation is never turned off",
        ),
        (
            launch(threshold=48, resolved=_LIMIT, limit_set_at=_SET),
            f"the threshold is 48, and max_running_requests is 48 ({ARGS}:2363 sets it): "
            "speculation is never turned off",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding; none where the limit is not decided."""
        limit, threshold = subject.answer.resolved.get(FIELD), subject.threshold
        if threshold is None or subject.answer.outcome != "worker" or isinstance(limit, bool):
            return
        if isinstance(limit, int) and threshold >= limit:
            place = subject.limit_set_at
            source = "" if place is None else f" ({place} sets it)"
            text = f"the threshold is {threshold}, and {FIELD} is {limit}{source}: speculation is never turned off"
            yield Finding(self.code, text, place, _FLAG)
