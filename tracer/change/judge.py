"""Whether a launch's worker ever runs the functions that a patch changes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pathtrace.tracer.change.patch import PatchedFile
from pathtrace.tracer.change.reach import WORKERS, Place, Reach, Reached
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.handoff.statements import SourceFunction, functions_of
from pathtrace.tracer.tree.model import Tree


@dataclass(frozen=True)
class Twin:
    """The function of the same name that does run: ``Class.method``, file and line."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class JudgedChange:
    """A changed function, and whether the loaded worker can run it.

    Attributes:
        name: ``Class.method`` or function.
        file: path in the tree.
        line: the first changed line in it.
        runs: False only where nothing but other workers uses it.
        twin: where the loaded worker has a function of that name.
    """

    name: str
    file: str
    line: int
    runs: bool
    twin: Twin | None = None


def judge(tree: Tree, files: Iterable[PatchedFile], workers: Iterable[tuple[str, str]]) -> tuple[JudgedChange, ...]:
    """Judge the functions of the workers' package that a patch changes.

    Args:
        tree: the tree.
        files: what the patch changes.
        workers: module and name of every class that the launch may load; none where it does not speculate.
    """
    touched = [file for file in files if file.path.startswith(WORKERS + "/")]
    if not touched:
        return ()
    reach = Reach(tree, workers)
    own = reach.of_loaded
    found: list[JudgedChange] = []
    for file in touched:
        for function, line in _functions(tree, file):
            place = (file.path, function.node.lineno)
            dead = place not in own and place in reach.of_others and place not in reach.of_server
            twin = _twin(function, own, reach.files_of_loaded) if dead else None
            found.append(JudgedChange(function.name, file.path, line, not dead, twin))
    reach.outlines.save()
    return tuple(found)


def _functions(tree: Tree, file: PatchedFile) -> Iterator[tuple[SourceFunction, int]]:
    """The functions that changed lines stand in, each with the first of these lines.

    Raises:
        BadInput: the file is no Python any more.
    """
    try:
        module = ast.parse(tree.read(file.path) or b"")
    except SyntaxError as error:
        raise BadInput(f"is no Python: {error.msg}; mend it before it is judged", file.path, error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is no Python that can be read: {error}", file.path) from None
    for function in functions_of(module):
        start = min([function.node.lineno, *(each.lineno for each in function.node.decorator_list)])
        inside = [line for line in file.lines if start <= line <= (function.node.end_lineno or start)]
        if inside:
            yield function, inside[0]


def _twin(function: SourceFunction, own: dict[Place, Reached], files: tuple[str, ...]) -> Twin | None:
    """A function of the same name that the loaded worker has; one in a class for one in a class.

    Args:
        own: everything that the loaded worker may use, methods of abstract bases among it.
        files: the files of the worker's class and its bases, nearest first: what stands there is its own for sure.
    """
    alike = [
        reached
        for reached in own.values()
        if reached.name == function.node.name
        and not reached.is_class
        and (reached.owner is None) is ("." not in function.name)
    ]
    if not alike:
        return None

    def rank(each: Reached) -> tuple[int, bool, str, int]:
        nearness = files.index(each.file) if each.file in files else len(files)
        return nearness, "Worker" not in each.full_name, each.file, each.line

    first = min(alike, key=rank)
    return Twin(first.full_name, first.file, first.line)
