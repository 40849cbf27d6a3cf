"""A file that the user names, read up to a limit."""

from __future__ import annotations

from pathlib import Path

from pathtrace.tracer.errors import BadInput


def read_limited(path: str, limit: int, give: str) -> bytes:
    """The bytes of a file.

    Args:
        path: the file, as the user gives it.
        limit: the most bytes that it may have.
        give: what to give instead of a file that cannot be used, for the sentence.

    Raises:
        BadInput: it cannot be read, or is larger.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot be read ({reason}); give {give}", path) from None
    if len(data) > limit:
        raise BadInput(f"is over {limit >> 20} MB; give {give}", path)
    return data
