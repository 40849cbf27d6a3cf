"""PT302 native-switch-ignored."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.examples import ARGS, ignored, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, LogLine, Place

FLAG = "--speculative-adaptive"
FIELD = "speculative_adaptive"
_SHORTEST = len("--speculative-ada")
_OFF = ignored(kind="flag", name=FLAG, value="True", why="overwritten", became="False")
_SAYS = LogLine("warning", f"{FIELD} disabled: topk is 4.", Place(ARGS, 3915))


class NativeSwitchIgnored(Rule):
    """## What it does
    Finds `--speculative-adaptive` in a launch where the tree turns it off again.

    ## Why is this bad
    The server starts and speculates at every batch size, as if the flag were not there. One line of its log says so.

    ## Example
    `--speculative-adaptive --speculative-eagle-topk 4` with release 0.5.14: only a topk of 1 is supported.

    ## Use instead
    A combination that the switch works with: the finding names the tree's own reason. Or leave the flag out, and turn
    speculation off above a batch size with `pathtrace run`.
    """

    code = "PT302"
    name = "native-switch-ignored"
    VALID = (
        launch(),
        launch(resolved={FIELD: True}),
        launch(resolved={FIELD: False}),
        launch(ignored=(ignored(kind="flag", name=FLAG + "-config", why="overwritten", became="None"),)),
    )
    INVALID = (
        (launch(ignored=(_OFF,)), "--speculative-adaptive is given, and the tree turns it off"),
        (
            launch(ignored=(_OFF,), warnings=(_SAYS,)),
            "--speculative-adaptive is given, and the tree turns it off: speculative_adaptive disabled: topk is 4.",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding, at the line that turns the switch off, with what the server logs about it."""
        answer = subject.answer
        off = [each for each in answer.ignored if each.kind == "flag" and _is_flag(each.name) and each.value == "True"]
        said = {each.message: each.place for each in answer.warnings if FIELD in each.message}
        reason, at = next(iter(said.items())) if len(said) == 1 else ("", None)
        for each in off[:1]:
            text = f"{FLAG} is given, and the tree turns it off"
            yield Finding(self.code, f"{text}: {reason}" if reason else text, each.place or at, FLAG)


def _is_flag(name: str) -> bool:
    """Whether a flag is the one, or a beginning of it that argparse takes for it."""
    return len(name) >= _SHORTEST and FLAG.startswith(name)
