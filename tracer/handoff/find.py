"""The hand-off of one worker of a tree: followed, with who reads it and what only looks like it."""

from __future__ import annotations

import ast
import sys

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.consumers import consumers
from pathtrace.tracer.handoff.definitions import Definition, Definitions
from pathtrace.tracer.handoff.look_alikes import look_alikes, same_names
from pathtrace.tracer.handoff.model import Call, FunctionRole, Handoff, SiteKind
from pathtrace.tracer.handoff.statements import functions_of
from pathtrace.tracer.handoff.worker import FIELD, ROLE, WorkerStep, entry_of, follow_worker
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.python_files import python_files

WORKERS = "sglang/srt/speculative"
RECURSION = 20_000
_SERVER = "sglang/srt"
_MANAGERS = "sglang/srt/managers"


def worker_class(tree: Tree, name: str) -> tuple[str, str]:
    """Module and name of a worker class that is given by its name, or by module and name.

    Raises:
        BadInput: the tree has no such worker; the sentence names those that it has.
    """
    module, _, cls = name.rpartition(".")
    if module:
        return module, cls
    found = workers(tree)
    if cls not in found:
        known = ", ".join(sorted(found)) or "none"
        raise BadInput(f"no such worker in {WORKERS}: {cls}; its workers are {known}", tree.info.given)
    return found[cls], cls


def workers(tree: Tree, definitions: Definitions | None = None) -> dict[str, str]:
    """The workers of a tree: class and module. Of two with one name, the last in the order of files.

    Args:
        tree: the tree.
        definitions: its names, where they are at hand: then nothing is parsed twice.
    """
    found: dict[str, str] = {}
    definitions = definitions or Definitions(Sources(tree))
    for path, _data in python_files(tree, WORKERS):
        module = path[:-3].replace("/", ".")
        for item in definitions.sources.body(module) or []:
            if isinstance(item, ast.ClassDef) and _is_worker(definitions, Definition(item, module, path)):
                found[item.name] = module
    return found


def _is_worker(definitions: Definitions, cls: Definition) -> bool:
    """Whether the scheduler could call a class: its entry method has a body of its own among the workers."""
    entry = entry_of(definitions, cls)
    if entry is None or not entry.file.startswith(WORKERS + "/"):
        return False
    return not any("abstractmethod" in ast.unparse(each) for each in entry.node.decorator_list)


def find_handoff(tree: Tree, module: str, name: str, field: str = FIELD) -> Handoff:
    """Where a worker's hand-off is made, filled, stored and read.

    Args:
        tree: the tree.
        module: dotted name of the worker's module.
        name: the worker's class.
        field: the attribute that carries the hand-off in a result.

    Raises:
        BadInput: there is no such class, or it has no step that the scheduler calls.
    """
    sources = Sources(tree)
    definitions = Definitions(sources)
    cls = definitions.find(module, name)
    if cls is None or not isinstance(cls.node, ast.ClassDef):
        raise BadInput(f"no class {name} in {module}", tree.info.given)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        step = follow_worker(sources, definitions, cls, field)
    except RecursionError as error:
        raise BadInput(f"the step of {name} is nested too deeply to be followed", cls.file, cls.node.lineno) from error
    finally:
        sys.setrecursionlimit(limit)
    if step is None:
        raise BadInput(f"{name} has no step that a scheduler calls", cls.file, cls.node.lineno)
    shown = step.field or field
    calls = tuple(
        Call(caller.name, f"{caller.file}:{caller.node.lineno}", callee.name, f"{callee.file}:{callee.node.lineno}")
        for caller, callee in step.flow.edges
    )
    run = {(each.file, each.node.lineno) for edge in step.flow.edges for each in edge}
    run.add((step.entry.file, step.entry.node.lineno))
    files: dict[str, ast.Module] = {}
    lines: dict[str, list[str]] = {}
    for path, data in python_files(tree, WORKERS):
        body = sources.body(path[:-3].replace("/", "."))
        if body is not None:
            files[path] = ast.Module(body, [])
            lines[path] = data.decode("utf-8", "replace").split("\n")
    roles = _roles(step, files)
    names = {role.name.rpartition(".")[2] for role in roles} - {step.entry.node.name, "__init__"}
    where = _SERVER if shown != ROLE else _MANAGERS
    return Handoff(
        worker=name,
        file=cls.file,
        line=cls.node.lineno,
        entry=step.entry.name,
        field=step.field,
        named=step.named,
        sites=step.sites,
        functions=(*roles, *same_names(files, names, run)),
        look_alikes=look_alikes(files, lines, shown, run),
        returns=step.returns,
        consumers=tuple(consumers(tree, where, shown, WORKERS)),
        calls=calls,
    )


def _roles(step: WorkerStep, files: dict[str, ast.Module]) -> tuple[FunctionRole, ...]:
    """The functions that the sites stand in."""
    lines = {
        (path, function.name): function.node.lineno
        for path, module in files.items()
        for function in functions_of(module)
    }
    kinds: dict[tuple[str, str], dict[SiteKind, None]] = {}
    for site in step.sites:
        kinds.setdefault((site.file, site.function), {})[site.kind] = None
    found = []
    for (file, name), roles in kinds.items():
        line = lines.get((file, name), 0)
        called = {
            f"{spot.file}:{spot.line}": None
            for (_caller, callee), spots in step.flow.edges.items()
            if (callee.file, callee.node.lineno) == (file, line)
            for spot in spots
        }
        found.append(FunctionRole(name, file, line, tuple(roles), tuple(called)))
    return tuple(found)
