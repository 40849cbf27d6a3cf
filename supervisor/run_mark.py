"""The line by which a run marks its beginning in a log, so that an earlier run there never speaks for it."""

from __future__ import annotations

import re

from pathtrace.instrument.confirmation import PREFIX

_MARK = re.compile(re.escape(PREFIX) + r"run ([0-9a-f]{12}) begins")


def mark_text(token: str) -> str:
    """The line, without the prefix."""
    return f"run {token} begins"


def read_mark(text: str) -> str | None:
    """The token of the run that begins in a line of a log, None where none does."""
    found = _MARK.search(text)
    return None if found is None else found[1]
