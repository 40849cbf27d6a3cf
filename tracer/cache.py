"""Answers kept on disk, keyed by everything that they depend on.

A key is the request (launch, variables, facts) and the tree's place. An entry holds a digest of every
file that the answer was made from, files that were looked for and not there included; it counts only
while all of them still read the same. A damaged or half-written entry is no entry.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathtrace import __version__
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.configs.find import cache_folder
from pathtrace.tracer.entries import entries_folder, read_entry, write_entry
from pathtrace.tracer.tree.interpreter import package_folders

if TYPE_CHECKING:
    from pathtrace.tracer.check import CheckRequest
    from pathtrace.tracer.dependencies import Dependencies
    from pathtrace.tracer.tree.model import Tree

FORMAT = 2


def folder() -> Path:
    """Where answers are kept."""
    return entries_folder("answers")


def digest(data: bytes | None) -> str:
    """A short digest of a file's content; of a file that is not there, a word."""
    return "absent" if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()


def own_digest() -> str:
    """A digest of pathtrace's own tracer: another version may answer differently."""
    hasher = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        status = path.stat()
        hasher.update(f"{path.name}:{status.st_size}:{status.st_mtime_ns}".encode())
    return hasher.hexdigest()


def key(request: CheckRequest) -> str:
    """The name of an entry."""
    launch = request.launch
    environment = request.environment
    parts: tuple[Any, ...] = (
        (FORMAT, __version__, own_digest(), request.tree.info, os.getcwd()),
        (launch.entry, launch.argv, sorted(launch.kwargs.items(), key=str), launch.unparsed),
        (sorted(environment.values.items()), sorted(environment.sources.items()), _shell_names(request)),
        (launch.unseen, sorted(environment.passed_on)),
        (request.model_config, request.draft_config, sorted(request.assume.items())),
        (str(cache_folder({**os.environ, **environment.values})),),
        (request.expect, request.changes, request.python, package_folders(request.python, "transformers")),
    )
    return hashlib.blake2b(repr(parts).encode(), digest_size=20).hexdigest()


def _shell_names(request: CheckRequest) -> list[str]:
    """Shell variables that an answer may mention: SGLang's own."""
    return sorted(name for name in request.shell or {} if name.startswith(("SGLANG_", "SGL_")))


class _Reader(pickle.Unpickler):
    """Reads answers and nothing else: a foreign file in the cache folder can run no code."""

    def find_class(self, module: str, name: str) -> Any:
        """Classes of the answer only."""
        if module == "pathtrace.tracer.answer":
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in an answer")


# Of these files what is written without the bodies of its functions is worked out at once: they are what people edit.
WORKERS = "sglang/srt/speculative/"
# Of others once they have changed: file names, by the name of the entry.
_edited: dict[str, set[str]] = {}


def load_answer(request: CheckRequest) -> Answer | None:
    """The kept answer, if every file it was made from is unchanged."""
    name = key(request)
    body = read_entry(folder() / name)
    if body is None:
        return None
    try:
        answer, tree_files, other_files, skeletons = _Reader(io.BytesIO(body)).load()
    except (ValueError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, IndexError, TypeError):
        return None
    if not isinstance(answer, Answer):
        return None
    if any(digest(read_file(path)) != kept for path, kept in other_files.items()):
        return None
    _edited[name] = set(skeletons)
    changed = [path for path, kept in tree_files.items() if digest(request.tree.read(path)) != kept]
    _edited[name].update(changed)
    return answer if all(_same_skeleton(request.tree, path, skeletons.get(path)) for path in changed) else None


def _same_skeleton(tree: Tree, path: str, kept: tuple[str, tuple[int, ...], tuple[str, ...]] | None) -> bool:
    if kept is None:
        return False
    from pathtrace.tracer.dependencies import Shown, skeleton

    before, lines, names = kept
    return skeleton(tree.read(path), Shown(lines, names)) == before


def read_file(path: str) -> bytes | None:
    """A file outside the tree, or None."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def store_answer(request: CheckRequest, answer: Answer, dependencies: Dependencies) -> None:
    """Keep an answer; a cache that cannot be written is no error."""
    from pathtrace.tracer.dependencies import Shown, shown_lines, skeleton

    skeletons = {}
    name = key(request)
    edited = _edited.pop(name, set())
    for path, names in dependencies.unentered.items():
        if not path.startswith(WORKERS) and path not in edited:
            continue
        shown = Shown(shown_lines(answer, path), tuple(sorted(names)))
        made = skeleton(dependencies.tree_files[path], shown)
        if made is not None:
            skeletons[path] = (made, shown.lines, shown.names)
    entry = (
        answer,
        {path: digest(data) for path, data in dependencies.tree_files.items()},
        {path: digest(read_file(path)) for path in dependencies.other_files},
        skeletons,
    )
    write_entry(folder() / name, pickle.dumps(entry))
