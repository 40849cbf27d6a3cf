"""Commands of the shell itself: ``set``, ``shift``, ``read``, ``exit``, ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from pathtrace.tracer.launch.open_text import opened
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.shell_arithmetic import integer
from pathtrace.tracer.manifests.shell_commands import assignment_in
from pathtrace.tracer.manifests.shell_conditions import decide_words
from pathtrace.tracer.manifests.shell_state import Field, Variable

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_walk import Outcome, Walker

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _true(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    return "yes"


def _false(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    return "no"


def _test(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    return walker.take_decision(decide_words(fields, walker.expander))


def _ending(kind: Literal["exit", "return", "break", "continue"]) -> Callable[..., Outcome]:
    def end(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
        walker.ended = kind
        return "yes"

    return end


def _set(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    for index, each in enumerate(fields):
        text = each.text
        if text == "--" or not text.startswith(("-", "+")) or each.any_words:
            walker.state.arguments = tuple(fields[index + (text == "--") :])
            break
        following = fields[index + 1].text if index + 1 < len(fields) else ""
        if "a" in text[1:] or (text[1:].endswith("o") and following == "allexport"):
            walker.state.export_all = text.startswith("-")
        if text[1:].endswith("o"):
            rest = fields[index + 2 :]
            return _set(walker, rest, spot) if rest else "yes"
    return "yes"


def _shift(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    arguments = walker.state.arguments
    number = integer(fields[0].text) if fields else 1
    if arguments is not None:
        known = number is not None and not any(each.any_words for each in arguments[:number])
        walker.state.arguments = arguments[number:] if known else None
    return "yes"


def _read(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    names = [each.text for each in fields if _NAME.fullmatch(each.text)]
    for name in names:
        cause = f"line {spot.line} reads it as the script runs"
        walker.state.assign(name, Variable(opened(f"${name}"), cause=cause, spot=spot))
    return "unknown"


def _read_list(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    for each in fields[-1:]:
        source = f"${{{each.text}[@]}}"
        cause = f"line {spot.line} reads it as the script runs"
        reason = f"{source} may hold any flags, and {cause}; write the flags in its place"
        element = Field(opened(source), spot, any_words=reason, listed=True)
        walker.state.assign(each.text, Variable("", (element,), spot=spot))
    return "assumed"


def _printf(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    return _read(walker, fields[1:2], spot) if fields and fields[0].text == "-v" else "yes"


def _let(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    names = [found.name for each in fields if (found := assignment_in(each.text.lstrip("+-"), 0)) is not None]
    names += [match.group() for each in fields if (match := _NAME.match(each.text.lstrip("+-")))]
    walker.state.open_up(names, "it is counted as the script runs")
    return "unknown"


BUILTINS: dict[str, Callable[[Walker, Sequence[Field], Spot], Outcome]] = {
    "true": _true,
    ":": _true,
    "false": _false,
    "test": _test,
    "exit": _ending("exit"),
    "return": _ending("return"),
    "break": _ending("break"),
    "continue": _ending("continue"),
    "set": _set,
    "shift": _shift,
    "read": _read,
    "getopts": _read,
    "mapfile": _read_list,
    "readarray": _read_list,
    "printf": _printf,
    "let": _let,
}
