"""A tree in a git revision (``PATH@REV``), read without a checkout."""

from __future__ import annotations

import os
import posixpath

from pathtrace.tracer.answer import TreeInfo
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.tree.git_objects import Blobs, run_git
from pathtrace.tracer.tree.listing import Listing
from pathtrace.tracer.tree.package import find_package, no_tree
from pathtrace.tracer.tree.paths import PACKAGE
from pathtrace.tracer.tree.version import stated_version

_LINK = "120000"
_FILES = ("100644", "100755", "100664")
_MAX_LINKS = 40


class GitTree:
    """The package in one revision. ``files`` maps paths of the tree to blobs; nothing is written.

    Args:
        repository: a folder of the repository.
        commit: the full object name of the revision.
        files: ``sglang/...`` paths and the blobs that hold them.
        given: the tree as the user wrote it.
    """

    def __init__(self, repository: str, commit: str, files: dict[str, str], given: str) -> None:
        self._files = files
        self._listing = Listing(files)
        self._blobs = Blobs(repository)
        path = f"{os.path.abspath(repository)}@{commit}"
        version = stated_version(self.read, lambda: None)
        self._info = TreeInfo(given=given, kind="git", path=path, version=version)

    @property
    def info(self) -> TreeInfo:
        """What was given and found; ``path`` names the commit in full."""
        return self._info

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where there is no such file.

        Raises:
            BadInput: the repository does not hold the contents, or the file is too large.
        """
        blob = self._files.get(path)
        return None if blob is None else self._blobs.read(blob, path)

    def is_dir(self, path: str) -> bool:
        """Whether the path is a folder of the tree."""
        return self._listing.is_dir(path)

    def listdir(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty where there is no such folder."""
        return self._listing.listdir(path)


def split_revision(given: str) -> tuple[str, str] | None:
    """``PATH@REV`` as its two parts, or None where no part before an ``@`` is a directory.

    Both may hold an ``@`` themselves (``repo@stash@{0}``): the longest directory wins.
    """
    at = given.rfind("@")
    while at > 0:
        path = os.path.expanduser(given[:at])
        if os.path.isdir(path):
            return path, given[at + 1 :]
        at = given.rfind("@", 0, at)
    return None


def open_git(path: str, revision: str, given: str) -> GitTree:
    """The tree in a revision of the repository that holds a folder.

    Args:
        path: a folder in the repository (or a bare repository); the package is sought below it.
        revision: anything git resolves to a commit.
        given: the tree as the user wrote it.

    Raises:
        BadInput: no git, no repository, no such revision, or no SGLang in it.
    """
    if not revision or revision.startswith("-") or "\0" in revision:
        raise BadInput("no git revision after the @", given)
    prefix, reason = run_git(path, "rev-parse", "--show-prefix")
    if prefix is None:
        raise BadInput(f"git cannot read this repository: {reason}", given)
    found, _ = run_git(path, "rev-parse", "--verify", "--quiet", revision + "^{commit}")
    if found is None:
        raise BadInput(f"no revision {revision!r} in this repository; is it fetched?", given)
    commit = found.decode().strip()
    listed, reason = run_git(path, "ls-tree", "-r", "-z", "--full-tree", commit)
    if listed is None:
        raise BadInput(f"git cannot list revision {revision!r}: {reason}", given)
    blobs, links = _parse(listed)
    base = prefix.decode("utf-8", "surrogateescape").rstrip("\n")
    folders = {folder for file in blobs for folder in _above(file)}

    def is_package(place: str) -> bool:
        root = posixpath.join(base, place).rstrip("/")
        return posixpath.join(root, "srt") in folders and posixpath.join(root, "__init__.py") in blobs

    place = find_package(is_package)
    if place is None:
        raise no_tree(given)
    root = posixpath.join(base, place).rstrip("/")
    if links:
        _follow(blobs, links, path, root)
    below = root + "/" if root else ""
    files = {PACKAGE + "/" + name[len(below) :]: blob for name, blob in blobs.items() if name.startswith(below)}
    return GitTree(path, commit, files, given)


def _parse(listed: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """``git ls-tree -r -z`` as files and links, path to blob. Submodules are left out."""
    blobs: dict[str, str] = {}
    links: dict[str, str] = {}
    for record in listed.split(b"\0"):
        head, _, name = record.partition(b"\t")
        try:
            mode, _, blob = head.decode("ascii").split(" ")
            path = name.decode("utf-8")
        except ValueError:
            continue
        if mode in _FILES:
            blobs[path] = blob
        elif mode == _LINK:
            links[path] = blob
    return blobs, links


def _above(file: str) -> list[str]:
    parts = file.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _follow(blobs: dict[str, str], links: dict[str, str], repository: str, root: str) -> None:
    """Add what the package's links lead to, where it is in the repository: a file, or a folder's files.

    Links through other linked folders, and those that leave the repository, stay absent.
    """
    reader = Blobs(repository)
    real = dict(blobs)
    below = root + "/" if root else ""
    for link in sorted(links):
        if not link.startswith(below):
            continue
        target: str | None = link
        for _ in range(_MAX_LINKS):
            if target is None or target not in links:
                break
            target = _target(target, reader.read(links[target], target))
        if target is None or target in links:
            continue
        if target in real:
            blobs[link] = real[target]
        elif target and not link.startswith(target + "/"):
            for name, blob in real.items():
                if name.startswith(target + "/"):
                    blobs[link + name[len(target) :]] = blob


def _target(link: str, content: bytes) -> str | None:
    """The path in the repository that a link leads to, or None where it leads out of it."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not text or text.startswith("/") or "\0" in text:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(link), text))
    return None if path == ".." or path.startswith("../") else path
