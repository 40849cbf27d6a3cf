"""Many launches on one or more trees: what is asked for, and the answers in order.

Every launch is checked on every tree before the next launch begins. With more than one job the work
is spread over processes, each of which keeps its own trees open; the order of results stays.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launches_file import BadLine, LaunchId, LaunchLine

if TYPE_CHECKING:
    from pathtrace.tracer.tree.model import Tree


@dataclass(frozen=True)
class SweepSettings:
    """What holds for every launch of a sweep.

    Attributes:
        trees: trees as given with ``--sglang``.
        python: the interpreter whose ``installed`` tree is meant, and whose transformers is read.
        env: ``K=V`` for launches that do not set K themselves.
        env_file: a file of such lines.
        inherited: the shell's own environment, if it is to be used.
        shell: the shell's own environment, only to be mentioned.
        assume: facts given with ``--assume``.
        changes: whether to search what would change each answer.
        cache: whether the cache on disk may be used.
    """

    trees: tuple[str, ...]
    python: str | None = None
    env: tuple[str, ...] = ()
    env_file: Path | None = None
    inherited: Mapping[str, str] | None = None
    shell: Mapping[str, str] | None = None
    assume: Mapping[str, str] = field(default_factory=dict)
    changes: bool = False
    cache: bool = True


@dataclass(frozen=True)
class SweepResult:
    """One launch on one tree: an answer, or one sentence that says why there is none.

    ``tree`` is the tree as given; None where the line of the launches file is at fault.
    """

    id: LaunchId
    tree: str | None = None
    answer: Answer | None = None
    error: str | None = None


class _Sweeper:
    """Checks launches in one process and keeps the trees open between them."""

    def __init__(self, settings: SweepSettings) -> None:
        self.settings = settings
        self._trees: dict[str, Tree] = {}

    def open(self, given: str) -> Tree:
        """The tree, opened at first use."""
        from pathtrace.tracer.tree.open import open_tree

        if given not in self._trees:
            self._trees[given] = open_tree(given, python=self.settings.python)
        return self._trees[given]

    def result(self, line: LaunchLine, given: str) -> SweepResult:
        """The answer for one launch on one tree. Never raises for a launch that is at fault."""
        try:
            return SweepResult(line.id, given, answer=self._answer(line, given))
        except BadInput as error:
            return SweepResult(line.id, given, error=str(error))
        except Exception as error:
            if os.environ.get("PATHTRACE_DEBUG") == "1":
                traceback.print_exc(file=sys.stderr)
            return SweepResult(line.id, given, error=crash_sentence(error))

    def _answer(self, line: LaunchLine, given: str) -> Answer:
        from pathtrace.tracer.check import CheckRequest, check
        from pathtrace.tracer.launch.environment import merge_environment
        from pathtrace.tracer.launch.parse import parse_launch

        settings = self.settings
        launch = parse_launch(line.words)
        shared = [each for each in settings.env if each.partition("=")[0] not in line.env]
        env = [*shared, *(f"{name}={value}" for name, value in line.env.items())]
        environment = merge_environment(launch, env, settings.env_file, settings.inherited)
        request = CheckRequest(
            tree=self.open(given),
            launch=launch,
            environment=environment,
            model_config=line.model_config,
            draft_config=line.draft_config,
            assume=settings.assume,
            expect=None,
            changes=settings.changes,
            shell=settings.shell,
            cache=settings.cache,
            python=settings.python,
        )
        return check(request)


def sweep(lines: Sequence[LaunchLine | BadLine], settings: SweepSettings, jobs: int = 1) -> Iterator[SweepResult]:
    """Check every launch on every tree, in the order of the lines, then of the trees.

    Args:
        lines: the launches file, read.
        settings: what holds for all of them.
        jobs: how many processes work.

    Raises:
        BadInput: a tree cannot be opened; raised before anything is checked.
    """
    here = _Sweeper(settings)
    for given in settings.trees:
        here.open(given)
    if jobs <= 1:
        for each in lines:
            yield from _results(each, here)
        return
    yield from _parallel(lines, settings, jobs)


def _results(line: LaunchLine | BadLine, sweeper: _Sweeper) -> Iterator[SweepResult]:
    if isinstance(line, BadLine):
        yield SweepResult(line.id, error=line.error)
        return
    for given in sweeper.settings.trees:
        yield sweeper.result(line, given)


def _parallel(lines: Sequence[LaunchLine | BadLine], settings: SweepSettings, jobs: int) -> Iterator[SweepResult]:
    tasks: list[tuple[LaunchLine, str] | BadLine] = []
    for line in lines:
        if isinstance(line, BadLine):
            tasks.append(line)
        else:
            tasks.extend((line, given) for given in settings.trees)
    jobs = max(1, min(jobs, len(tasks)))
    with ProcessPoolExecutor(jobs, _context(), _start_process, (settings,)) as pool:
        try:
            yield from pool.map(_run_task, tasks)
        except BrokenProcessPool as error:
            raise BadInput("a process of the sweep died (out of memory?); try fewer --jobs") from error


def _context() -> BaseContext:
    """fork where there is one: a process then starts in milliseconds, with all modules imported."""
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if "fork" in methods else "spawn")


_process_sweeper: _Sweeper | None = None


def _start_process(settings: SweepSettings) -> None:
    global _process_sweeper
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _process_sweeper = _Sweeper(settings)


def _run_task(task: tuple[LaunchLine, str] | BadLine) -> SweepResult:
    if isinstance(task, BadLine):
        return SweepResult(task.id, error=task.error)
    assert _process_sweeper is not None
    return _process_sweeper.result(*task)


def crash_sentence(error: BaseException) -> str:
    """One sentence for a defect of pathtrace: what was raised, and where in pathtrace."""
    root = str(Path(__file__).resolve().parents[1]) + os.sep
    place = "an unknown place"
    for frame in traceback.extract_tb(error.__traceback__):
        file = os.path.realpath(frame.filename)
        inner = file.removeprefix(root).replace(os.sep, "/")
        if inner != file and "site-packages/" not in inner:
            place = f"{inner}:{frame.lineno}"
    words = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"internal error at {place}: {what}; please report it (PATHTRACE_DEBUG=1 prints the traceback)"
