"""PT108 worker-undecided."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Alternative, Condition, Finding

_NEEDS = Condition("the model is a MiMo", ("--model-config FILE",))


class WorkerUndecided(Rule):
    """## What it does
    Finds a launch whose worker or event loop hangs on something that is not known.

    ## Why is this bad
    Nothing can be said of a deployment whose worker is not known.

    ## Example
    Release 0.5.9 with EAGLE and no config of the model: a hook for MiMo models chooses another worker.

    ## Use instead
    Give what the finding names, such as `--model-config FILE` or `--assume sm=90`.
    """

    code = "PT108"
    name = "worker-undecided"
    VALID = (launch(),)
    INVALID = (
        (
            launch(outcome="undecided", worker=None, event_loop=None, alternatives=(Alternative(_NEEDS, "none"),)),
            "which worker this launch loads is not decided; give --model-config FILE",
        ),
        (
            launch(
                outcome="undecided",
                worker=None,
                event_loop=None,
                alternatives=(Alternative(Condition("$EXTRA may hold any flags"), "undecided"),),
            ),
            "which worker this launch loads is not decided: $EXTRA may hold any flags",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding, with what would decide."""
        answer = subject.answer
        if answer.outcome == "undecided":
            supplies = dict.fromkeys(supply for each in answer.alternatives for supply in each.when.supply)
            need = f"; give {', '.join(supplies)}" if supplies else "".join(map(_reason, answer.alternatives[:1]))
            yield Finding(self.code, f"which worker this launch loads is not decided{need}")


def _reason(only: Alternative) -> str:
    """Why nothing at all is known of a launch, where that is so."""
    return f": {only.when.text}" if only.outcome == "undecided" and only.when.text else ""
