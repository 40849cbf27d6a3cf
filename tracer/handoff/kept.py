"""What rules ask of a worker's code, kept on disk while every file that was read for it reads the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from pathtrace import __version__
from pathtrace.tracer.answer import TreeInfo
from pathtrace.tracer.cache import digest, own_digest
from pathtrace.tracer.entries import entries_folder, read_entry, write_entry
from pathtrace.tracer.handoff.loop import unmet_reader
from pathtrace.tracer.handoff.missing import MissingHandoff, missing_handoffs
from pathtrace.tracer.handoff.model import Consumer
from pathtrace.tracer.handoff.signature import Mismatch, mismatches
from pathtrace.tracer.tree.model import Tree

FORMAT = 1


@dataclass(frozen=True)
class WorkerFacts:
    """What the rules read of a worker in one event loop.

    Attributes:
        mismatches: keywords that the scheduler gives the worker and that it does not take.
        unmet_reader: the statement of the overlap loop that reads what the worker never sets, if there is one.
        missing: ways out of the worker's step without what the overlap loop uses.
    """

    mismatches: tuple[Mismatch, ...] = ()
    unmet_reader: Consumer | None = None
    missing: tuple[MissingHandoff, ...] = ()


@dataclass
class _Recording:
    """A tree that notes what is asked of it."""

    tree: Tree
    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, list[str] | bool] = field(default_factory=dict)

    @property
    def info(self) -> TreeInfo:
        return self.tree.info

    def read(self, path: str) -> bytes | None:
        data = self.tree.read(path)
        self.files[path] = digest(data)
        return data

    def is_dir(self, path: str) -> bool:
        found = self.tree.is_dir(path)
        self.folders.setdefault(f"is {path}", found)
        return found

    def listdir(self, path: str) -> tuple[str, ...]:
        found = self.tree.listdir(path)
        self.folders[f"in {path}"] = list(found)
        return found


def worker_facts(tree: Tree, module: str, name: str, loop: str, wanted: frozenset[str]) -> WorkerFacts:
    """The facts that are wanted, by their names; the others are empty.

    Args:
        tree: the tree.
        module: dotted name of the worker's module.
        name: the worker's class.
        loop: ``overlap`` or ``synchronous``.
        wanted: names of fields of ``WorkerFacts``.
    """
    asked = [FORMAT, __version__, own_digest(), tree.info.path, tree.info.given, module, name, loop, sorted(wanted)]
    entry = hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).hexdigest()
    place = entries_folder("workers") / entry
    kept = read_entry(place)
    if kept is not None:
        files, folders, facts = json.loads(kept)
        if _unchanged(tree, files, folders):
            return _facts(facts)
    recording = _Recording(tree)
    overlap = loop == "overlap"

    def found(fact: str, holds: bool, read: Callable[[], Any], nothing: Any) -> Any:
        return read() if fact in wanted and holds else nothing

    made = WorkerFacts(
        found("mismatches", True, lambda: mismatches(recording, module, name, loop), ()),
        found("unmet_reader", overlap, lambda: unmet_reader(recording, module, name), None),
        found("missing", overlap, lambda: missing_handoffs(recording, module, name), ()),
    )
    write_entry(place, json.dumps([recording.files, recording.folders, asdict(made)]).encode())
    return made


def _unchanged(tree: Tree, files: dict[str, str], folders: dict[str, list[str] | bool]) -> bool:
    for asked, known in folders.items():
        kind, _, path = asked.partition(" ")
        if (tree.is_dir(path) if kind == "is" else list(tree.listdir(path))) != known:
            return False
    return all(digest(tree.read(path)) == known for path, known in files.items())


def _facts(plain: dict[str, Any]) -> WorkerFacts:
    reader = plain["unmet_reader"]
    return WorkerFacts(
        tuple(Mismatch(**each) for each in plain["mismatches"]),
        None if reader is None else Consumer(**reader),
        tuple(MissingHandoff(**{**each, "reader": Consumer(**each["reader"])}) for each in plain["missing"]),
    )
