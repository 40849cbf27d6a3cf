"""From what a user calls a tree to a tree that can be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.model import Tree

INSTALLED = "installed"


def say_on_stderr(sentence: str) -> None:
    """Tell the user something that is not part of the report."""
    print(f"pathtrace: {sentence}", file=sys.stderr)


def open_tree(given: str, *, python: str | None = None, say: Callable[[str], None] = say_on_stderr) -> Tree:
    """Open a tree: a directory, a wheel, ``installed``, a release (``0.5.9``) or ``PATH@REV``.

    Something that exists under the given name wins over a release or a revision of that name;
    ``installed`` always means the installed one (``./installed`` is a directory). Nothing of the tree is
    imported or executed.

    Args:
        given: the tree as the user wrote it.
        python: the interpreter for ``installed``; this one by default.
        say: told, in a sentence, about a download.

    Raises:
        BadInput: there is no such tree, or it cannot be read; the sentence says what to do next.
    """
    # Each kind brings its own imports, so that a launch pays only for the kind it uses.
    if not given.strip() or "\0" in given:
        raise BadInput("no tree named; give a directory, a wheel, installed, a release or PATH@REV")
    if given == INSTALLED:
        from pathtrace.tracer.tree.installed import open_installed

        return open_installed(python, given)
    path = os.path.expanduser(given)
    try:
        os.stat(path)
    except PermissionError as error:
        raise BadInput("no permission to read it", given) from error
    except (OSError, ValueError):
        return _open_named(given, say)
    if os.path.isdir(path):
        from pathtrace.tracer.tree.directory import open_directory

        return open_directory(path, given)
    if not os.path.isfile(path):
        raise BadInput("neither a directory nor a file", given)
    from pathtrace.tracer.tree.wheel import WheelTree

    return WheelTree(path, given=given, kind="wheel")


def has_speculative(tree: Tree) -> bool:
    """Whether the tree has speculative decoding at all (0.4.0 has none)."""
    return tree.is_dir("sglang/srt/speculative")


def _open_named(given: str, say: Callable[[str], None]) -> Tree:
    """A revision or a release: something that is not a file of that name."""
    if "@" in given:
        from pathtrace.tracer.tree.git import open_git, split_revision

        parts = split_revision(given)
        if parts is None:
            raise BadInput("no directory before the @; PATH@REV wants a git repository", given)
        return open_git(*parts, given)
    from pathtrace.tracer.tree.release import open_release, release_version

    version = release_version(given)
    if version is not None:
        return open_release(version, given, say)
    raise BadInput("no such directory, wheel or release; give one of them, installed, or PATH@REV", given)
