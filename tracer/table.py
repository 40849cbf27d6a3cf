"""A tree's truth table: every algorithm with every input that matters to the choice.

For each algorithm the launches are explored as a tree: from a launch, each input that its evaluation
points to is changed alone; an input that changes the result splits the launches, and each part is
explored further, with the inputs that its own evaluation points to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathtrace.tracer.answering import evaluator_for, inputs_of
from pathtrace.tracer.check import CheckRequest
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.evaluation import Evaluated
from pathtrace.tracer.facts import FACTS
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.launch_files import LaunchFiles
from pathtrace.tracer.table_algorithms import NAME, Algorithms
from pathtrace.tracer.table_inputs import UNSET, Finder, Found, Input, given_flags
from pathtrace.tracer.table_model import TableRequest, TruthTable
from pathtrace.tracer.table_plain import PLAIN_DRAFT, PLAIN_MODEL
from pathtrace.tracer.table_rows import Box, Result, merged, result_of, rows_of

MODEL, DRAFT = "--model-path", "--speculative-draft-model-path"
MADE_UP = {MODEL: "some/model", DRAFT: "some/draft-model"}
NUMBERS = ("--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4")

Settings = frozenset[tuple[Input, str]]
Dead = Mapping[Input, frozenset[tuple[str, int, str]]]


class LimitReached(Exception):
    """No evaluation is left."""


@dataclass(frozen=True)
class Point:
    """One evaluated launch: its result, and the inputs that its evaluation points to."""

    result: Result
    inputs: Found
    trace: int


def truth_table(request: TableRequest) -> TruthTable:
    """Make the table.

    Raises:
        BadInput: a tree without speculative decoding, a launch that is no command, an unknown fact.
    """
    explorer = Explorer(request)
    tables: dict[str, list[Box]] = {}
    bounded = False
    try:
        explorer.start()
    except LimitReached:
        bounded = True
    for algorithm in explorer.bases:
        boxes = explorer.explore(algorithm)
        tables[algorithm] = merged(boxes, explorer.domains[algorithm])
    columns, rows = rows_of(tables, explorer.domains)
    return TruthTable(columns, rows, explorer.count, bounded or explorer.bounded, tuple(explorer.notes(columns)))


class Explorer:
    """Evaluates the launches of one table and remembers them."""

    def __init__(self, request: TableRequest) -> None:
        self.request = request
        launch = parse_launch(request.launch) if request.launch else Launch(entry="bare")
        if launch.kwargs:
            raise BadInput(
                "a table starts from a command, not from Engine(...) or a ServerArgs line; give the flags instead"
            )
        checked = CheckRequest(
            request.tree,
            launch,
            request.environment,
            request.model_config,
            request.draft_config,
            request.assume,
            changes=False,
            cache=False,
            python=request.python,
        )
        self.inputs = inputs_of(checked)
        self.own = self.inputs.argv
        named = LaunchFiles(checked)
        model, draft = self.folder(request.model_config, MODEL), self.folder(request.draft_config, DRAFT)
        self.model = () if named.model else (MODEL, model)
        self.draft = () if named.draft else (DRAFT, draft)
        given = any(word.startswith(("--speculative-num", "--speculative-eagle")) for word in self.own)
        self.numbers = () if given else NUMBERS
        self.evaluator = evaluator_for(checked)
        self.evaluator.files.model = named.model or model
        self.evaluator.files.draft = named.draft or draft
        self.plain = not (named.model or named.draft or request.model_config or request.draft_config)
        if self.plain:
            self.evaluator.files.plain = {MADE_UP[MODEL]: PLAIN_MODEL, MADE_UP[DRAFT]: PLAIN_DRAFT}
        self.finder: Finder | None = None
        self.bases: dict[str, tuple[str, ...]] = {}
        self.added: dict[str, tuple[str, ...]] = {}
        self.domains: dict[str, dict[Input, tuple[str, ...]]] = {}
        self.points: dict[tuple[str, Settings], Point] = {}
        self.synonyms: set[tuple[str, Input, str]] = set()
        self.unclear: dict[Input, str] = {}
        self.unreached: list[str] = []
        self.bounded = False

    def folder(self, config: str | None, flag: str) -> str:
        """A model path for a given config: its folder; made up where none is given, or where both are in one."""
        both = self.request.model_config and self.request.draft_config
        if config is None or (
            both and flag == DRAFT and Path(config).parent == Path(str(self.request.model_config)).parent
        ):
            return MADE_UP[flag]
        return str(Path(config).parent)

    @property
    def count(self) -> int:
        """How many launches were evaluated."""
        return self.evaluator.count

    def evaluate(self, words: tuple[str, ...], settings: Settings = frozenset()) -> Evaluated:
        """Evaluate a launch: the words, and the settings on top of them."""
        if self.count >= self.request.limit:
            raise LimitReached
        environ = dict(self.request.environment.values)
        environ.update((item.name, value) for item, value in settings if item.kind == "variable")
        extra = [word for item, value in sorted(settings, key=_order) for word in item.words(value)]
        if any(item.name in NUMBERS for item, _value in settings):
            extra = [*self.numbers, *extra]  # argparse takes the last of each
        return self.evaluator.evaluate(
            replace(self.inputs, argv=(*self.own, *self.model, *words, *extra), environ=environ), whole=False
        )

    # ------------------------------------------------------------------ where each algorithm starts
    def start(self) -> None:
        """Find the algorithms, and for each a launch that the tree takes, if there is one."""
        algorithms = Algorithms()
        algorithms.first(self.evaluate(()))
        while (name := algorithms.next()) is not None:
            try:
                self.base(name, algorithms)
            except LimitReached:
                self.unreached = [each for each in (name, *algorithms.waiting) if each not in self.bases]
                raise

    def base(self, name: str, algorithms: Algorithms) -> None:
        """The launch that an algorithm's rows start from: with as little added as the tree demands."""
        tries = list(dict.fromkeys(self.additions()))
        kept: tuple[tuple[str, ...], Point] | None = None
        for added in tries:
            try:
                done = self.evaluate((*added, NAME, name))
            except LimitReached:
                if kept is None:
                    raise
                self.bounded = True
                break
            algorithms.compared(done)
            if algorithms.rejected(done, name):
                return
            refused = done.verdict.outcome == "refused"
            if kept is None or not refused or len(added) < len(kept[0]):
                kept = (added, self.point_of(done))
            if not refused:
                break
        assert kept is not None
        self.bases[name] = (*kept[0], NAME, name)
        self.added[name] = kept[0]
        self.domains[name] = {}
        self.points[name, frozenset()] = kept[1]

    def additions(self) -> Iterator[tuple[str, ...]]:
        """What may be added to a launch, the least first; a draft model is used where one is given."""
        if self.request.draft_config is None:
            yield ()
        yield self.draft
        yield (*self.draft, *self.numbers)
        yield ()

    # ------------------------------------------------------------------ points
    def point_of(self, done: Evaluated) -> Point:
        """What is kept of an evaluation."""
        parser = done.machine.external_state.get("parser")
        if self.finder is None and parser is not None:
            algorithm = parser._option_string_actions.get(NAME)
            fixed = given_flags(parser, (*self.own, MODEL, DRAFT)) | {fact.name for fact in FACTS}
            variables = frozenset(self.request.environment.values)
            self.finder = Finder("speculative_algorithm" if algorithm is None else algorithm.dest, fixed, variables)
        trace = hash(tuple((branch.file, branch.line, str(branch.result)) for branch in done.machine.branches))
        return Point(result_of(done.verdict), {} if self.finder is None else self.finder.inputs(done), trace)

    def point(self, algorithm: str, settings: Settings) -> Point:
        """The evaluated launch for an algorithm with these settings."""
        known = self.points.get((algorithm, settings))
        if known is None:
            known = self.points[algorithm, settings] = self.point_of(self.evaluate(self.bases[algorithm], settings))
        return known

    # ------------------------------------------------------------------ exploring
    def explore(self, algorithm: str) -> list[Box]:
        """All launches of an algorithm, by result."""
        return self.grow(algorithm, frozenset(), {}, {})

    def grow(self, algorithm: str, settings: Settings, cells: Mapping[Input, frozenset[str]], dead: Dead) -> list[Box]:
        """The launches that have these cells, explored from the one with these settings.

        ``dead`` holds inputs that had no effect before, with the conditions that read them then: they are
        tried again only where other conditions read them, or the same ones go another way.
        """
        here = self.point(algorithm, settings)
        splits: dict[Input, dict[Result, list[str]]] = {}
        dead = dict(dead)
        try:
            for item, lead in here.inputs.items():
                if item in cells or item in self.unclear or dead.get(item) == lead.conditions:
                    continue
                groups = self.effects(algorithm, settings, item, lead.values)
                if len(groups) > 1:
                    splits[item] = groups
                else:
                    dead[item] = lead.conditions
        except LimitReached:
            self.bounded = True
            exact = {
                item: frozenset(self.domain(algorithm, item, lead.values)[:1])
                for item, lead in here.inputs.items()
                if item not in cells
            }
            return [Box({**cells, **exact}, here.result)]
        if not splits:
            return [Box(cells, here.result)]
        item = min(splits, key=lambda each: not all(result.refused for result in list(splits[each])[1:]))
        boxes: list[Box] = []
        for index, values in enumerate(splits[item].values()):
            after = settings | {(item, values[0])} if index else settings
            boxes += self.grow(algorithm, after, {**cells, item: frozenset(values)}, dead)
        return boxes

    def effects(
        self, algorithm: str, settings: Settings, item: Input, values: tuple[str, ...]
    ) -> dict[Result, list[str]]:
        """What each value of an input comes to when it alone is changed; the start's own value first."""
        here = self.point(algorithm, settings)
        domain = self.domain(algorithm, item, values)
        groups = {here.result: [domain[0]]}
        for value in domain[1:]:
            if (algorithm, item, value) in self.synonyms:
                groups[here.result].append(value)
                continue
            there = self.point(algorithm, settings | {(item, value)})
            if there.result.undecided and not here.result.undecided:
                self.unclear[item] = f"{item.name} {value}: {there.result.note}"
                return {here.result: [domain[0]]}
            if item.kind == "variable" and there.result == here.result and there.trace == here.trace:
                self.synonyms.add((algorithm, item, value))  # read, and nothing went another way
            groups.setdefault(there.result, []).append(value)
        return groups

    def start_value(self, algorithm: str, item: Input) -> str:
        """The value of an input in the launch that the algorithm's rows start from."""
        words = self.added[algorithm]
        return words[words.index(item.name) + 1] if item.name in words else UNSET

    def domain(self, algorithm: str, item: Input, values: tuple[str, ...]) -> tuple[str, ...]:
        """All values of an input, that of the start first."""
        known = self.domains[algorithm].get(item, (self.start_value(algorithm, item),))
        full = self.domains[algorithm][item] = tuple(dict.fromkeys((*known, *values)))
        return full

    # ------------------------------------------------------------------ notes
    def notes(self, columns: tuple[str, ...]) -> Iterator[str]:
        """What the reader should know."""
        if self.plain:
            yield (
                f"for a {PLAIN_MODEL['architectures'][0]} with a {PLAIN_DRAFT['architectures'][0]} draft: a model "
                "with a hook of its own may give other rows (--model-config FILE, --draft-config FILE)"
            )
        added: dict[tuple[str, ...], list[str]] = {}
        for name, words in self.added.items():
            added.setdefault(words, []).append(name)
        for words, names in added.items():
            if words:
                yield f"rows of {', '.join(names)} start from a launch with {' '.join(words)}"
        inputs = {item: values for domain in self.domains.values() for item, values in domain.items()}
        tried = [item.name for item in inputs if item.name not in columns and item not in self.unclear]
        if tried:
            yield f"tried alone, without effect: {', '.join(tried)}"
        if self.unclear:
            yield f"left out, as the answer is then undecided: {'; '.join(self.unclear.values())}"
        shown = {item: values for item, values in inputs.items() if item.kind == "option" and item.name in columns}
        if any(value.isdigit() for values in shown.values() for value in values):
            yield "numbers are those on either side of the limits that the code compares with"
        if self.numbers and any(item.name in NUMBERS for item in shown):
            yield f"where one of {' '.join(self.numbers)} is given, so are the others"
        if self.unreached:
            yield f"not reached: {', '.join(self.unreached)}"


def _order(setting: tuple[Input, str]) -> tuple[str, Any]:
    return setting[0].name, setting[1]


__all__ = ["truth_table"]
