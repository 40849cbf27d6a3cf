"""Pieces that are not stated, in text for a shell: a variable stands in for each while it is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pathtrace.tracer.launch.open_text import MARK, is_open, opened, waits_for
from pathtrace.tracer.launch.prefixes import SHELLS
from pathtrace.tracer.launch.program import basename
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.model import Found, UnreadLaunch
from pathtrace.tracer.manifests.pieces import Pieces

_PIECE = re.compile(f"{MARK}([^{MARK}]*){MARK}")
_NAME = "PIECE_{}_NOT_STATED"
_BRACED = re.compile(r"\$\{PIECE_(\d+)_NOT_STATED\}")
_GIVEN = re.compile(r"--env PIECE_(\d+)_NOT_STATED=\.\.\.")


class StandIns:
    """The variables that stand in for the pieces of one command."""

    def __init__(self) -> None:
        self._sources: list[str] = []

    def put_into(self, words: Sequence[Written]) -> list[Written]:
        """The words, with stand-ins where one of them is a shell that may read another as its text."""
        if not any(basename(word.text) in SHELLS for word in words):
            return list(words)
        return [self._replaced(word) if is_open(word.text) else word for word in words]

    def taken_out(self, found: Found) -> Found:
        """What was found, with the pieces as they were written."""
        if not self._sources:
            return found
        if isinstance(found, UnreadLaunch):
            return replace(found, reason=self._written(found.reason))
        launch = replace(
            found.launch,
            argv=tuple(map(self._restored, found.launch.argv)),
            env={name: self._restored(value) for name, value in found.launch.env.items()},
            unexported={name: self._restored(value) for name, value in found.launch.unexported.items()},
            unparsed=tuple(map(self._written, found.launch.unparsed)),
        )
        return replace(found, launch=launch, notes=tuple(map(self._written, found.notes)))

    def _replaced(self, word: Written) -> Written:
        pieces = Pieces(word.spot)
        position = 0
        for match in _PIECE.finditer(word.text):
            pieces.add_part(word, position, match.start())
            name = _NAME.format(len(self._sources))
            self._sources.append(match.group(1))
            pieces.add(f"${{{name}}}", word.at(match.start()), moves=False)
            position = match.end()
        pieces.add_part(word, position, len(word.text))
        return pieces.written()

    def _restored(self, text: str) -> str:
        parts = text.split(MARK)
        # A shell keeps a variable in single quotes as text; the piece was there before the shell.
        parts[::2] = [_BRACED.sub(lambda match: opened(self._source(match)), part) for part in parts[::2]]
        parts[1::2] = [_BRACED.sub(self._source, part) for part in parts[1::2]]
        return MARK.join(parts)

    def _written(self, text: str) -> str:
        given = _GIVEN.sub(lambda match: min(waits_for(opened(self._source(match)))), text)
        return _BRACED.sub(self._source, given)

    def _source(self, match: re.Match[str]) -> str:
        return self._sources[int(match.group(1))]
