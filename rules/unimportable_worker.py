"""PT203 unimportable-worker."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pathtrace.rules.examples import launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Condition, Finding, Place, PossibleRefusal, Refusal

_MULTI = "sglang/srt/speculative/multi_layer_eagle_worker.py"
_NO_NAME = Refusal("dispatch", "NameError", "name 'ModelRunner' is not defined", _MULTI, 236)
_QUOTED = re.compile(r"'([\w.]+)'")
_UNKNOWN_NAME = "NameError"


class UnimportableWorker(Rule):
    """## What it does
    Finds a worker whose module cannot be imported, because it uses a name that it does not have by then.

    ## Why is this bad
    The server chooses the worker, imports its module, and stops there. The arguments look right, and no other value of
    them helps as long as they lead to this worker.

    ## Example
    `--enable-multi-layer-eagle` with release 0.5.9 and without `SGLANG_ENABLE_SPEC_V2=1`: `ModelRunner` is imported for
    type checking only, and stands in an annotation that is evaluated.

    ## Use instead
    Another worker, by what `pathtrace check` says would change the answer; or a tree whose module has the name.
    """

    code = "PT203"
    name = "unimportable-worker"
    VALID = (
        launch(),
        launch(outcome="refused", worker=None, refusal=Refusal("resolve", "NameError", "name 'x' is not defined")),
        launch(outcome="refused", worker=None, refusal=Refusal("dispatch", "ValueError", "no overlap")),
        launch(possible_refusals=(PossibleRefusal(Condition("sm == 100"), _NO_NAME),)),
    )
    INVALID = (
        (
            launch(outcome="refused", worker=None, event_loop=None, refusal=_NO_NAME),
            f"the chosen worker cannot be imported: {_MULTI}:236 uses ModelRunner, which its module does not have",
        ),
        (
            launch(possible_refusals=(PossibleRefusal(Condition("always"), _NO_NAME),)),
            f"the chosen worker cannot be imported: {_MULTI}:236 uses ModelRunner, which its module does not have",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each name; a refusal that hangs on something unknown is none."""
        answer = subject.answer
        certain = [each.refusal for each in answer.possible_refusals if each.when.text == "always"]
        for refusal in dict.fromkeys((*((answer.refusal,) if answer.refusal is not None else ()), *certain)):
            name = _QUOTED.search(refusal.message)
            if refusal.phase == "dispatch" and refusal.exception == _UNKNOWN_NAME and refusal.file and name is not None:
                place = Place(refusal.file, refusal.line or 1)
                text = f"the chosen worker cannot be imported: {place} uses {name[1]}, which its module does not have"
                yield Finding(self.code, text, place)
