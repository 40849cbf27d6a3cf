"""Words and values of a launch with pieces that nothing states: ``--tp $TP`` where no one sets TP.

A piece is kept in the text between two NUL characters, as it was written. No argument and no variable
of a real process can hold a NUL, so a mark cannot be mistaken for text.
"""

from __future__ import annotations

import re

MARK = "\0"
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)


def opened(source: str) -> str:
    """A piece that is not stated, from what was written in its place (``$TP``, ``$(nproc)``)."""
    return f"{MARK}{source.replace(MARK, '')}{MARK}"


def is_open(text: str) -> bool:
    """Whether a word or value has a piece that is not stated."""
    return MARK in text


def sources_of(text: str) -> tuple[str, ...]:
    """What was written in place of each piece that is not stated."""
    return tuple(text.split(MARK)[1::2])


def waits_for(text: str) -> frozenset[str]:
    """What would state the pieces: ``--env TP=...`` for a variable, else the piece itself."""
    named = ((_VARIABLE.fullmatch(source), source) for source in sources_of(text))
    return frozenset(
        f"the value of {source}" if match is None else f"--env {match[1] or match[2]}=..." for match, source in named
    )


def shown(text: str) -> str:
    """The text as it was written."""
    return text.replace(MARK, "")
