"""Any text as GitHub's Markdown that shows it and does nothing else.

The text stands within a line: after a mark of a heading or list, or in a cell. What is markup only at the beginning of
a line needs no escape.
"""

from __future__ import annotations

import re

from pathtrace.reports.document import printable

_MARKUP = re.compile(r"[\\`*_\[\]<>#|~&$@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
# Names after @ are told, and what #12 or GH-12 names gets a link back: also where a backslash stands before.
_TOLD = re.compile(r"(?<=\\@)(?=\w)|(?:(?<=\\#)|(?<=gh-))(?=\d)", re.IGNORECASE)
_ZERO_WIDTH = "&#8203;"


def plain(text: str) -> str:
    """The text outside of code: no markup, no cell, no line, no mention, no reference and no link."""
    return _TOLD.sub(_ZERO_WIDTH, _MARKUP.sub(r"\\\g<0>", printable(text)))


def code(text: str) -> str:
    """The text in a code span, outside of tables."""
    shown = printable(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{blank}{shown}{blank}{fence}" if shown else ""
