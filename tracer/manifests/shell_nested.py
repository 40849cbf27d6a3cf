"""Shells in a shell: ``bash -c CODE``, ``bash <<EOF``, ``eval``, and what ``source`` leaves unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import is_open, shown
from pathtrace.tracer.launch.surroundings import Surroundings
from pathtrace.tracer.manifests.model import Spot, UnreadLaunch
from pathtrace.tracer.manifests.shell_commands import Fed
from pathtrace.tracer.manifests.shell_search import Context
from pathtrace.tracer.manifests.shell_source import Source
from pathtrace.tracer.manifests.shell_state import Field, State, Variable, joined, names_a_server
from pathtrace.tracer.manifests.shell_words import is_literal, read_word

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_walk import Outcome, Walker

_MOST_SHELLS = 8


def run_shell(
    walker: Walker,
    fields: Sequence[Field],
    rest: Sequence[str],
    written: Sequence[tuple[str, int]],
    fed: Fed | None,
    around: Surroundings,
    context: Context,
) -> None:
    """``bash -c CODE`` and ``bash <<EOF``; a script in another file is not followed."""
    own = list(fields[len(fields) - len(rest) :]) if len(rest) <= len(fields) else []
    index, code_at, reads_input = 1, -1, False
    while index < len(rest) and rest[index].startswith(("-", "+")):
        option = rest[index]
        index += 1
        if option in ("--", "-"):
            break
        if option.startswith("--"):
            index += option in ("--rcfile", "--init-file")
            continue
        index += option[-1] in "oO"
        if "c" in option:
            code_at = index
            break
        reads_input = reads_input or "s" in option
    source: Source | None = None
    arguments: Sequence[Field] = own[index:]
    if code_at >= 0:
        if code_at >= len(rest) or code_at >= len(own):
            return
        field = own[code_at]
        arguments = own[code_at + 2 :]
        if field.any_words or re.fullmatch("(?:\0[^\0]*\0)+", field.text):
            if field.may_launch:
                walker.search.add(
                    UnreadLaunch(context.name, walker.search.file, field.spot, field.any_words or _OPEN_CODE)
                )
            return
        same = next((each for each in written if walker.source.spot(each[1]) == field.spot), None)
        source = source_of(walker, field.text, same, field.spot)
    elif fed is not None and (reads_input or index >= len(rest)):
        if fed.word:
            source = source_of(
                walker,
                walker.expander.value(fed.text).as_text(),
                (fed.text, fed.offset),
                walker.source.spot(fed.offset),
            )
        else:
            text = fed.stripped(fed.text)
            answer = walker.expander.value(text, quoted=True) if fed.expands else None
            text = answer.as_text() if answer is not None else walker.source.marked(text)
            at = walker.source.spot(fed.offset)
            source = Source(
                text, walker.search.file, at.line, at.column, fixed=walker.source.fixed, indents=fed.indents()
            )
    if source is not None:
        _innerrun_shell(walker, source, arguments, around, context)


def _innerrun_shell(
    walker: Walker, source: Source, arguments: Sequence[Field], around: Surroundings, context: Context
) -> None:
    from pathtrace.tracer.manifests.shell_walk import Walker as Shell

    if walker.shells >= _MOST_SHELLS:
        raise BadInput("nests too many shells; give the innermost command", walker.search.file, context.spot.line)
    given = walker.search.given if around.outside != "none" else {}
    state = starting_state(given, around, context.variables)
    state.arguments = tuple(arguments)
    inner = Shell(walker.search, source, state, around)
    inner.shells = walker.shells + 1
    inner.depth = walker.depth
    inner.conditions = list(walker.conditions)
    inner.notes = context.notes
    inner.names = list(walker.names)
    inner.dry = walker.dry
    try:
        inner.read(source)
    except BadInput as error:
        if "is not shell" not in error.message:
            raise
        _unreadable(walker, source.data.decode("utf-8", "surrogatepass"), context.spot, error)


def starting_state(given: Mapping[str, str], around: Surroundings, spots: Mapping[str, Spot]) -> State:
    """The variables that a shell finds in its environment."""
    state = State()
    for name, value in given.items():
        state.put(name, Variable(value, exported=True, outside=True))
    for name, value in around.env.items():
        stated = state.variable(name)
        if is_open(value) and stated is not None:
            continue
        state.put(name, Variable(value, exported=True, spot=spots.get(name)))
    for name in around.unset:
        state.put(name, Variable(None))
    return state


def run_source(walker: Walker, fields: Sequence[Field], spot: Spot) -> Outcome:
    what = " ".join(shown(each.text) for each in fields)[:80]
    walker.state.source()
    if not what.endswith("bin/activate"):  # sets PATH, and nothing of SGLang
        walker.search.unseen.append(f"`{what}` in line {spot.line}")
    walker.notes = joined(
        walker.notes, (f"line {spot.line} runs `{what}`, which is not followed: it may set variables otherwise",)
    )
    return "assumed"


def run_eval(walker: Walker, fields: Sequence[Field], written: Sequence[tuple[str, int]], spot: Spot) -> Outcome:
    code = " ".join(each.text for each in fields[1:])
    known = not any(each.any_words for each in fields[1:]) and not re.fullmatch("(?:\0[^\0]*\0|\\s)+", code)
    if not known or walker.shells >= _MOST_SHELLS:
        for each in fields[1:]:
            if each.may_launch or names_a_server([each.text]):
                walker.search.add(
                    UnreadLaunch(function_of(walker), walker.search.file, each.spot, each.any_words or _OPEN_CODE)
                )
                break
        return run_source(walker, fields, spot)
    walker.shells += 1
    depth = walker.depth
    source = source_of(
        walker, code, written[1] if len(written) == 2 else None, fields[1].spot if len(fields) > 1 else spot
    )
    try:
        walker.read(source)
    except BadInput as error:
        if error.line is None or "is not shell" not in error.message:
            raise
        _unreadable(walker, code, spot, error)
    walker.depth = depth
    walker.shells -= 1
    return "unknown"


_OPEN_CODE = "the command is put together as the script runs; write it in its place"


def _unreadable(walker: Walker, code: str, spot: Spot, error: BadInput) -> None:
    if names_a_server([code]):
        walker.search.add(UnreadLaunch(function_of(walker), walker.search.file, spot, f"the command {error.message}"))


def source_of(walker: Walker, code: str, written: tuple[str, int] | None, place: Spot) -> Source:
    """The text of a shell in a shell, with its place in the file as far as it can be told."""
    file = walker.search.file
    if walker.source.fixed is not None:
        return Source(code, file, fixed=walker.source.fixed)
    if written is not None:
        text, offset = written
        word = read_word(text)
        quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
        if quoted and (text[1:-1] == code or (not is_literal(word) and text.count("\n") == code.count("\n"))):
            at = walker.source.spot(offset + 1)
            return Source(code, file, at.line, at.column)
    return Source(code, file, fixed=place)


def function_of(walker: Walker) -> str:
    return walker.names[-1] if walker.names else ""
