"""Make an answer: evaluate the launch, follow the chain, search for changes, list what was ignored."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import Any

from pathtrace.tracer.answer import Alternative, Answer, Assumption, Condition, Expect, LogLine, Place, Refusal, Scalar
from pathtrace.tracer.chain import Slice, deciding_variables
from pathtrace.tracer.changes import candidates, search
from pathtrace.tracer.check import CheckRequest
from pathtrace.tracer.dependencies import Dependencies
from pathtrace.tracer.errors import BadInput, UnreadableLaunch
from pathtrace.tracer.eval.operators import show
from pathtrace.tracer.eval.values import ABSENT, Instance
from pathtrace.tracer.evaluation import Evaluated, Evaluator, Inputs
from pathtrace.tracer.facts import FACTS, parse_facts
from pathtrace.tracer.ignored import ignored
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.open_text import is_open, waits_for
from pathtrace.tracer.launch_files import LaunchFiles
from pathtrace.tracer.stages import resolved_view_of
from pathtrace.tracer.unseen import evaluate_unseen
from pathtrace.tracer.verdict import condition

# `name=value` of a call, `'name': value` of a dictionary.
_ARGUMENT = re.compile(r"""\s*['"]?([A-Za-z_]\w*)['"]?\s*(?:=(?!=)|:)""")
_OTHER_FIELDS = ("enable_multi_layer_eagle", "disable_overlap_schedule", "max_running_requests")


def evaluator_for(request: CheckRequest) -> Evaluator:
    """An evaluator for the request's tree and facts.

    Raises:
        BadInput: the tree has no speculative decoding at all, or a fact is unknown.
    """
    tree = request.tree
    if not tree.is_dir("sglang/srt/speculative"):
        version = f" {tree.info.version}" if tree.info.version else ""
        raise BadInput(
            f"this SGLang tree{version} has no speculative decoding (no sglang/srt/speculative); "
            "give a later one with --sglang",
            tree.info.given,
        )
    return Evaluator(tree, parse_facts(request.assume), LaunchFiles(request))


_KEPT: dict[Any, Evaluator] = {}
_MOST_KEPT = 4


def kept_evaluator(request: CheckRequest) -> Evaluator:
    """An evaluator that earlier requests of this process have warmed, for the same tree and facts."""
    name = (id(request.tree), tuple(sorted(request.assume.items())))
    kept = _KEPT.get(name)
    if kept is not None and kept.tree is request.tree:
        kept.files = LaunchFiles(request)
        return kept
    while len(_KEPT) >= _MOST_KEPT:
        _KEPT.pop(next(iter(_KEPT)))
    _KEPT[name] = kept = evaluator_for(request)
    return kept


def inputs_of(request: CheckRequest) -> Inputs:
    """What the evaluation starts from.

    Raises:
        BadInput: a launch of diffusion models, or an ``Engine(...)`` call with values that are not literals.
    """
    launch = request.launch
    if launch.entry in ("engine", "server_args"):
        return Inputs((), request.environment.values, launch.kwargs, open_kwargs=_open_names(launch))
    return Inputs(launch.argv, request.environment.values, serve=launch.entry == "serve")


def _open_names(launch: Launch) -> tuple[str, ...]:
    """Arguments whose values are not written out.

    Raises:
        UnreadableLaunch: more than values is left out, so that any argument may have been given.
    """
    found = [(text, _ARGUMENT.match(text)) for text in launch.open_kwargs]
    for text, match in found:
        if match is None:
            raise UnreadableLaunch(f"the launch leaves arguments out ({text!r}), which may decide; give all of them")
    return tuple(match[1] for _text, match in found if match is not None)


def answer(request: CheckRequest) -> tuple[Answer, Dependencies]:
    """The answer, and the files it was made from."""
    evaluator = kept_evaluator(request)
    done = evaluate_unseen(evaluator, inputs_of(request), request)
    made = describe(request, evaluator, done)
    sources, entered = evaluator.sources, evaluator.entered
    unentered = {
        path: frozenset(sources.asked.get(path, set())) | request.environment.values.keys()
        for path, data in sources.probes.items()
        if data is not None and path not in entered
    }
    return made, Dependencies(sources.probes, frozenset(evaluator.files.read), unentered)


def describe(request: CheckRequest, evaluator: Evaluator, done: Evaluated) -> Answer:
    """Everything that is said of one evaluation. Changes come last: searching for them evaluates again."""
    found, m = done.verdict, done.machine
    m.pc = True
    if done.run.record is not None:
        m.external_state["view"] = resolved_view_of(m, done.run.record)
    chain = Slice(done)
    decisions = chain.decisions()
    resolved = resolved_fields(done)
    refusal = found.refusal
    if refusal is not None and refusal.phase == "parse":
        refusal = replace(refusal, hint=_hint(done, refusal))
    made = Answer(
        outcome=found.outcome,
        tree=request.tree.info,
        worker=found.worker if found.outcome == "worker" else None,
        event_loop=found.event_loop if found.outcome in ("worker", "none") else None,
        refusal=refusal if found.outcome == "refused" else None,
        alternatives=found.alternatives if found.outcome == "undecided" else (),
        possible_refusals=found.possible_refusals,
        resolved=resolved,
        decisions=decisions,
        warnings=_warnings(done),
        assumptions=_assumptions(request, done, evaluator.files),
        notes=_notes(request, evaluator, done),
    )
    made = _with_open_refusals(made, done)
    edits = candidates(done, decisions, chain.texts)
    deciding = frozenset(deciding_variables(decisions))
    made = replace(made, ignored=ignored(evaluator, done, request.environment.sources, deciding))
    if request.expect is not None:
        worker = made.worker
        met = worker is not None and request.expect in (worker.cls, f"{worker.module}.{worker.cls}")
        made = replace(made, expect=Expect(request.expect, met))
    wanted = None if made.expect is None or made.expect.met else request.expect
    if request.changes and (found.outcome in ("worker", "refused") or (found.outcome == "none" and wanted is not None)):
        changes, note = search(evaluator, edits, done, wanted)
        made = replace(made, changes=changes, changes_note=note)
    return made


def _with_open_refusals(made: Answer, done: Evaluated) -> Answer:
    """A refusal that hangs on a variable which nobody states is a possible result, not a remark."""
    environ = done.inputs.environ.values()
    needs = {f"--env {name}=..." for name in done.inputs.perhaps}
    needs |= {need for value in environ if is_open(value) for need in waits_for(value)}
    if made.outcome not in ("worker", "none") or not needs:
        return made
    open_ = [each for each in made.possible_refusals if not needs.isdisjoint(each.when.supply)]
    if not open_:
        return made
    supply = tuple(dict.fromkeys(need for each in open_ for need in each.when.supply if need in needs))
    otherwise = Alternative(Condition("otherwise", supply), made.outcome, made.worker, made.event_loop)
    return replace(
        made,
        outcome="undecided",
        worker=None,
        event_loop=None,
        alternatives=(
            otherwise,
            *(Alternative(replace(each.when, supply=supply), "refused", refusal=each.refusal) for each in open_),
        ),
        possible_refusals=tuple(each for each in made.possible_refusals if each not in open_),
    )


def resolved_fields(done: Evaluated) -> dict[str, Scalar]:
    """The resolved speculative fields; a value that is not decided is the text ``unknown``."""
    m, record = done.machine, done.run.record
    if not isinstance(record, Instance) or not getattr(record.cls, "fields", None):
        return {}
    view = m.external_state.get("view", record)
    found: dict[str, Scalar] = {}
    for name in [field.name for field in record.cls.fields]:
        if not (name.startswith("speculative_") or name in _OTHER_FIELDS):
            continue
        value = m.get_attr_or(view, name, ABSENT)
        value = m.conditions.restrict(value, done.run.pc)
        if value is None or isinstance(value, (bool, int, float, str)):
            found[name] = value
        elif value is not ABSENT:
            cases = m.conditions.terminals(value)
            known = all(case is None or isinstance(case, (bool, int, float, str)) for case in cases)
            found[name] = " or ".join(show(case) for case in cases) if known and len(cases) < 4 else "unknown"
    return found


def _hint(done: Evaluated, refusal: Refusal) -> str | None:
    """The nearest real flags for an unknown one."""
    parser = done.machine.external_state.get("parser")
    if parser is None or "unrecognized arguments" not in refusal.message:
        return None
    known = [flag for flag in parser._option_string_actions if flag.startswith("--")]
    hints = []
    for word in refusal.message.split(":", 1)[-1].split():
        near = difflib.get_close_matches(word.split("=")[0], known, 1, 0.6) if word.startswith("--") else []
        if near:
            hints.append(f"did you mean {near[0]}?")
    return " ".join(dict.fromkeys(hints)) or None


def _warnings(done: Evaluated) -> tuple[LogLine, ...]:
    m = done.machine
    lines: dict[LogLine, None] = {}
    for level, message, file, line, test in m.log:
        if m.conditions.both(done.run.pc, test) is False:
            continue  # only on the way to a refusal
        if m.conditions.implies(done.run.pc, test):
            test = True
        text = message if isinstance(message, str) else show(message)
        place = Place(file, line, m.sources.line(file, line))
        lines.setdefault(LogLine(level, text.strip(), place, None if test is True else condition(m, test)))
    return tuple(lines)


def _assumptions(request: CheckRequest, done: Evaluated, files: LaunchFiles) -> tuple[Assumption, ...]:
    used = done.machine.facts_used
    found = []
    for name in sorted(used):
        value = done.machine.facts.get(name, ABSENT)
        given = name in request.assume
        if value is ABSENT:
            found.append(Assumption(name, None, "unknown"))
        else:
            found.append(Assumption(name, str(value), "given" if given else "default"))
    if files.transformers_read is not None:
        found.append(Assumption("transformers", files.transformers_read, "installed"))
    return tuple(found)


def _notes(request: CheckRequest, evaluator: Evaluator, done: Evaluated) -> tuple[str, ...]:
    notes: list[str] = []
    if done.verdict.note:
        notes.append(done.verdict.note)
    for path, (text, line) in evaluator.sources.broken.items():
        notes.append(f"{path}:{line} is not Python that can be read here ({text}): what it defines is unknown")
    for label, data in evaluator.files.configs():
        if data is None:
            which, option = ("draft ", "--draft-config") if label == "draft" else ("", "--model-config")
            notes.append(f"no config.json was found for the {which}model: give {option} FILE")
    if evaluator.files.transformers_note is not None:
        notes.append(evaluator.files.transformers_note)
    reads = set(done.machine.env_reads)
    for name in sorted(request.shell or {}):
        if name in reads and name not in request.environment.values and name.startswith(("SGLANG_", "SGL_")):
            notes.append(
                f"your shell sets {name}, which this tree reads; it is not part of this answer "
                f"(--inherit-env or --env {name}=... makes it so)"
            )
    if done.inputs.perhaps and request.launch.unseen is not None:
        names, sources = ", ".join(done.inputs.perhaps), " or ".join(request.launch.unseen.sources)
        notes.append(f"{names} may be set by {sources}, which is not read: --env NAME=VALUE states it")
    for text in request.launch.unparsed:
        notes.append(f"not read from the launch: {text}")
    return tuple(dict.fromkeys(notes))


__all__ = ["FACTS", "answer", "describe", "evaluator_for", "inputs_of"]
