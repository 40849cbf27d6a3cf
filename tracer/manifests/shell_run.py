"""What a simple command does: sets variables, calls a function, ends the script, starts a server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.containers import CLUSTERS, ENGINES
from pathtrace.tracer.launch.prefixes import PREFIXES, RUNNERS, SHELLS, strip_prefixes
from pathtrace.tracer.launch.program import basename, scan
from pathtrace.tracer.manifests.model import Spot, UnreadLaunch
from pathtrace.tracer.manifests.shell_builtins import BUILTINS
from pathtrace.tracer.manifests.shell_commands import Assigned, Fed, read_simple
from pathtrace.tracer.manifests.shell_nested import function_of, run_eval, run_shell, run_source
from pathtrace.tracer.manifests.shell_search import Context, find_in_program, surroundings_of
from pathtrace.tracer.manifests.shell_state import Field, Function, joined, names_a_server
from pathtrace.tracer.manifests.shell_variables import assign, declare, variable_of

if TYPE_CHECKING:
    from pathtrace.tracer.manifests.shell_walk import Outcome, Walker

_MOST_SHELLS = 8
_PRINTS = frozenset(
    ["echo", "printf", "sleep", "wait", "kill", "pkill", "killall", "trap", "cd", "mkdir", "cat", "tee"]
)
_ASKS = frozenset(
    """
    grep egrep fgrep command which type hash pgrep pidof diff cmp expr read getopts curl nc kill ps ls docker kubectl
    lsof ss netstat systemctl
    """.split()  # noqa: SIM905
)
_DECLARES = frozenset(["export", "declare", "typeset", "local", "readonly"])
_STARTS_OTHERS = frozenset([*PREFIXES, *RUNNERS, *ENGINES, *CLUSTERS, *SHELLS])
_PLAIN_NAME = re.compile(r"[\w./+:][\w./+:-]*")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def run_command(walker: Walker, node: Node, redirects: list[Node]) -> Outcome:
    """Run a ``command`` node, with what follows it in the first line of its here-document."""
    simple = read_simple(node, redirects, walker.source)
    outcome = _run(walker, simple.assigned, simple.words, simple.fed, node, piped=bool(simple.piped))
    if simple.piped and simple.fed is not None:
        is_cat = [word for word, _ in simple.words] in (["cat"], ["cat", "-"])
        for number, stage in enumerate(simple.piped):
            walker.state.begin()
            if number == 0 and is_cat and stage.type in ("command", "redirected_statement"):
                _run_stage(walker, stage, simple.fed)
            else:
                walker.block([stage])
            walker.state.take_back()
            walker.ended = ""
    before = [node]
    for operator, following in simple.follows:
        if walker.ended:
            break
        outcome = walker.follow(outcome, operator, [following], before)
        before = [following]
    return outcome


def _run_stage(walker: Walker, stage: Node, fed: Fed) -> None:
    body = stage.child_by_field_name("body") if stage.type == "redirected_statement" else stage
    if body is None or body.type != "command":
        walker.block([stage])
        return
    simple = read_simple(body, stage.children_by_field_name("redirect"), walker.source)
    _run(walker, simple.assigned, simple.words, simple.fed or fed, body, piped=True)


def _run(
    walker: Walker,
    assigned: Sequence[Assigned],
    written: Sequence[tuple[str, int]],
    fed: Fed | None,
    node: Node,
    *,
    piped: bool,
) -> Outcome:
    if not written:
        for each in assigned:
            assign(walker, each)
        return "yes"
    first = written[0][0]
    if first in ("echo", "printf") and not any(word == "-v" for word, _ in written[1:2]):
        return "yes"
    if _cannot_matter(walker, first, written, fed):
        return "unknown" if first in _ASKS else "assumed"
    walker.expander.vanished = ()
    fields = [field for text, offset in written for field in walker.expander.fields(text, offset)]
    if fields and walker.expander.vanished:
        fields[0] = replace(fields[0], notes=joined(fields[0].notes, walker.expander.vanished))
    if not fields:
        for each in assigned:
            assign(walker, each)
        return "yes"
    spot = walker.source.spot(written[0][1])
    name = fields[0].text
    functions = walker.state.functions(name)
    if functions:
        return _call(walker, functions, assigned, fields, spot)
    builtin = BUILTINS.get(name)
    if builtin is not None:
        return builtin(walker, fields[1:], spot)
    if name in _DECLARES or name == "unset":
        declare(walker, name, [(each, None) for each in fields[1:]])
        return "yes"
    if name in ("eval", "source", "."):
        return run_eval(walker, fields, written, spot) if name == "eval" else run_source(walker, fields, spot)
    _program(walker, assigned, fields, written, fed, spot, piped=piped)
    if name == "exec" and len(fields) > 1:
        walker.ended = "exit"
    return "unknown" if name in _ASKS else "assumed"


def _cannot_matter(walker: Walker, first: str, written: Sequence[tuple[str, int]], fed: Fed | None) -> bool:
    """Whether a command is known to start no server and to change nothing, without filling it in."""
    if fed is not None or first in _SPECIAL or not _PLAIN_NAME.fullmatch(first) or walker.state.functions(first):
        return False
    if basename(first) in _STARTS_OTHERS:
        return False
    filled = walker.state.carries
    for text, _ in written:
        if names_a_server((text,)) or ("$" in text and (filled or "=" in text)) or basename(text) in SHELLS:
            return False
    return True


def _call(
    walker: Walker,
    functions: Sequence[Function | None],
    assigned: Sequence[Assigned],
    fields: Sequence[Field],
    spot: Spot,
) -> Outcome:
    before = {each.name: walker.state.variable(each.name) for each in assigned}
    for each in assigned:
        assign(walker, each, export=True)
    walker.call(functions, fields[1:], spot.line)
    for name, variable in before.items():
        walker.state.put(name, variable)
    return "unknown"


def _program(
    walker: Walker,
    assigned: Sequence[Assigned],
    fields: Sequence[Field],
    written: Sequence[tuple[str, int]],
    fed: Fed | None,
    spot: Spot,
    *,
    piped: bool,
) -> None:
    texts = [each.text for each in fields]
    if not _worth_reading(fields, texts, fed):
        return
    around, spots, notes = surroundings_of(walker.state, walker.base)
    for each in assigned:
        variable = variable_of(walker, each)
        around.put(each.name, variable.text or "")
        around.unexported.pop(each.name, None)
        notes = joined(notes, variable.notes)
        if variable.spot is not None:
            spots[each.name] = variable.spot
    context = Context(function_of(walker), spot, joined(walker.notes, notes), tuple(walker.conditions), spots)
    try:
        rest = strip_prefixes(texts, around)
    except BadInput as error:
        if scan(["", *texts]) is not None or (names_a_server(texts) and _runs_shell(texts)):
            hidden = next((each for each in fields if each.any_words), None)
            reason = error.message if hidden is None else hidden.any_words
            walker.search.add(UnreadLaunch(context.name, walker.search.file, hidden.spot if hidden else spot, reason))
        return
    if rest and basename(rest[0]) in SHELLS:
        run_shell(walker, fields, rest, written, fed, around, context)
        return
    text = None
    if fed is not None:
        text = fed.text if not fed.expands else walker.expander.value(fed.text, quoted=not fed.word).as_text()
    find_in_program(walker.search, fields, rest, around, context, text)


def _worth_reading(fields: Sequence[Field], texts: Sequence[str], fed: Fed | None) -> bool:
    if texts[0] in _PRINTS:
        return False
    if names_a_server(texts) or any(each.may_launch for each in fields) or texts[0].startswith("--"):
        return True
    if fed is not None:
        return True
    return _runs_shell(texts)


def _runs_shell(texts: Sequence[str]) -> bool:
    return any(basename(text) in SHELLS for text in texts[:200])


_SPECIAL = frozenset([*BUILTINS, *_DECLARES, "unset", "eval", "source", ".", "exec"])
