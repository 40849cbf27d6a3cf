"""Where the ``sglang`` package sits below what was given."""

from __future__ import annotations

from collections.abc import Callable

from pathtrace.tracer.errors import BadInput

USUAL_PLACES = ("", "python/sglang", "sglang")
"""The package itself, a repository, a folder that holds the package; the first that fits is taken."""


def find_package(is_package: Callable[[str], bool]) -> str | None:
    """The first usual place that holds the package, or None.

    Args:
        is_package: whether a place (``/``-separated, ``""`` for what was given) holds ``srt/`` and
            ``__init__.py``.
    """
    return next((place for place in USUAL_PLACES if is_package(place)), None)


def no_tree(given: str, next_step: str = "") -> BadInput:
    """The error for something that exists and holds no SGLang.

    Args:
        given: the tree as the user wrote it.
        next_step: another clause, such as where a tree was seen.
    """
    sentence = (
        "not an SGLang tree: neither it nor its python/sglang or sglang holds srt/ and __init__.py; "
        "give a repository, the folder that holds sglang/, or the package itself"
    )
    return BadInput(sentence + (f" ({next_step})" if next_step else ""), given)
