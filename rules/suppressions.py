"""``# pathtrace: ignore[PT101] reason`` in the files that launches and changes are written in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pathtrace.tracer.answer import Finding, Site

LIMIT = 4 << 20
_COMMENT = re.compile(r"[#;]\s*pathtrace:\s*ignore(?:\[([^\]\n]*)\])?[ \t]*(.*)")
_TABLE = "[["


@dataclass(frozen=True)
class Suppression:
    """One comment.

    Attributes:
        file: the file as it was given.
        line: its line there.
        codes: the rules that it names, in capitals; none where it names none.
        reason: what stands behind the bracket.
        covers: the lines whose findings it lets pass: its own, and where it stands alone the next one.
    """

    file: str
    line: int
    codes: tuple[str, ...]
    reason: str
    covers: frozenset[int]


def suppressions_in(file: str) -> tuple[Suppression, ...]:
    """The comments of a file; none where it cannot be read as text."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(LIMIT)
    except (OSError, ValueError):
        return ()
    if b"pathtrace:" not in data:
        return ()
    lines = data.decode("utf-8", "replace").split("\n")
    found = []
    for number, text in enumerate(lines, 1):
        match = _COMMENT.search(text)
        if match is not None:
            codes = tuple(code.strip().upper() for code in (match[1] or "").split(",") if code.strip())
            alone = not text[: match.start()].strip()
            covers = {number} | (_below(lines, number) if alone else set())
            found.append(Suppression(file, number, codes, match[2].strip(), frozenset(covers)))
    return tuple(found)


def _below(lines: list[str], number: int) -> set[int]:
    """The next line that is no comment; the head of a TOML table goes with the line after it."""
    covered: set[int] = set()
    for following in range(number + 1, len(lines) + 1):
        text = lines[following - 1].strip()
        if text and not text.startswith(("#", ";")):
            covered.add(following)
            if not text.startswith(_TABLE):
                break
    return covered


def covering(suppressions: Iterable[Suppression], finding: Finding, deployment: Site) -> Suppression | None:
    """The comment that lets a finding pass: one for its own line, or for the line of its deployment."""
    places = {(site.file, site.line) for site in (finding.at, deployment) if site is not None and site.line}
    for each in suppressions:
        if finding.code in each.codes and any((each.file, line) in places for line in each.covers):
            return each
    return None
