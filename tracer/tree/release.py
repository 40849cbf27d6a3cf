"""A tree that is a published release, named by its version alone."""

from __future__ import annotations

from collections.abc import Callable

from pathtrace.tracer.tree.wheel import WheelTree
from pathtrace.tracer.tree.wheel_cache import cached_wheel


def release_version(given: str) -> str | None:
    """The release in its normal spelling (``0.5.12.post1``), or None where it is no version."""
    if not given[:1].isdigit() and given[:1] not in ("v", "V"):
        return None
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(given))
    except InvalidVersion:
        return None


def open_release(version: str, given: str, say: Callable[[str], None]) -> WheelTree:
    """The release's wheel, fetched once and then read from the user's cache.

    Args:
        version: from ``release_version``.
        given: the same as the user wrote it.
        say: told about a download.

    Raises:
        BadInput: it cannot be fetched, kept or read.
    """
    return WheelTree(cached_wheel(version, _download, say), given=given, kind="release")


def _download(version: str, folder: str) -> str:
    from pathtrace.tracer.tree.pip_download import download_wheel  # brings subprocess; seldom needed

    return download_wheel(version, folder)
