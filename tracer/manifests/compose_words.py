"""A command that Compose gets as one string -> its words, in the way Compose splits it.

Compose uses no shell. It knows quotes and backslashes, and reads a command only up to the first
``;``, ``&``, ``|``, ``<`` or ``>`` that is not quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.filling import Filling

_OPEN = rf"(?P<open>{MARK}[^{MARK}]*{MARK})"
_ESCAPE = r"|(?P<escape>\\(?P<escaped>.)?)"
_BARE = re.compile(
    _OPEN + _ESCAPE + r"|(?P<blank>[ \t\r\n]+)|(?P<single>'[^']*'?)|(?P<double>\")|(?P<stop>[;&|<>])"
    r"|(?P<bracket>[()`])|(?P<plain>[^ \t\r\n\\'\";&|<>()`" + MARK + r"]+|.)",
    re.DOTALL,
)
_QUOTED = re.compile(_OPEN + _ESCAPE + r"|(?P<double>\")|(?P<plain>[^\\\"" + MARK + r"]+|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t"}


@dataclass
class _Words:
    written: Written
    done: list[Written] = field(default_factory=list)
    filling: Filling | None = None
    start: int = 0

    def word(self, at: int) -> Filling:
        """The word that is being put together."""
        if self.filling is None:
            self.filling, self.start = Filling(self.written), at
        return self.filling

    def end(self) -> None:
        """Close the word, if there is one."""
        if self.filling is not None:
            word = self.filling.done()
            self.done.append(Written(word.text, self.written.at(self.start), word.runs))
            self.filling = None


def split_command(written: Written) -> tuple[list[Written], str]:
    """The words of a command string, and what stands behind them that Compose drops.

    Raises:
        BadInput: a quote that is not closed, or a bracket or backquote that Compose does not read.
    """
    words = _Words(Filling(written).written)
    quoted = False
    position = 0
    while (match := (_QUOTED if quoted else _BARE).match(written.text, position)) is not None:
        kind, start, end = match.lastgroup, match.start(), match.end()
        position = end
        if match["escape"] is not None:
            if match["escaped"] is None:
                raise BadInput("the command ends in a backslash, which Compose refuses; remove it")
            words.word(start).put(_ESCAPED.get(match["escaped"], match["escaped"]), start)
        elif kind == "double":
            words.word(start)
            quoted = not quoted
        elif kind in ("open", "plain"):
            words.word(start).keep(start, end)
        elif kind == "single":
            if end - start < 2 or written.text[end - 1] != "'":
                raise BadInput("the command opens a quote that is never closed; close it")
            words.word(start).keep(start + 1, end - 1)
        elif kind == "blank":
            words.end()
        elif kind == "stop":
            words.end()
            return words.done, written.text[start:]
        else:
            raise BadInput(
                f"the command has {match.group()} outside of quotes, which Compose refuses; quote it, or write "
                "`bash -c` with the whole command in quotes"
            )
    if quoted:
        raise BadInput("the command opens a quote that is never closed; close it")
    words.end()
    return words.done, ""
