"""Variables in the values of manifests: ``${TP:-2}`` as Compose fills it in, ``$(TP)`` as Kubernetes does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import opened
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.filling import Filling, fill

_COMPOSE = re.compile(
    r"\$(?:(?P<escaped>\$)|(?P<named>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?P<sign>:?[-?+])?)?", re.ASCII
)
_KUBERNETES = re.compile(r"\$(?:(?P<escaped>\$)|\((?P<name>[^)]*)\))")
_MAX_DEPTH = 16


@dataclass
class ComposeValues:
    """Fills in what Compose takes from its own environment.

    Attributes:
        given: what the user states; it stands for the shell in which Compose runs.
        beside: the ``.env`` file beside the Compose file.
        notes: what was taken for granted, a sentence each.
    """

    given: Mapping[str, str]
    beside: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def value(self, name: str) -> str | None:
        """The value of a variable, if it is stated."""
        return self.given.get(name, self.beside.get(name))

    def fill(self, written: Written) -> Written:
        """A value with its variables filled in; what is not stated is an open piece.

        Raises:
            BadInput: a ``$`` that Compose does not read, or a value that grows too large.
        """
        if "$" not in written.text:
            return written
        filling = Filling(written)
        position = 0
        while (match := _COMPOSE.search(written.text, position)) is not None:
            filling.keep(position, match.start())
            text, position = self._piece(written.text, match, 0)
            filling.put(text, match.start())
        filling.keep(position, len(written.text))
        return filling.done()

    def _text(self, text: str, depth: int) -> str:
        parts: list[str] = []
        position = 0
        while (match := _COMPOSE.search(text, position)) is not None:
            parts.append(text[position : match.start()])
            piece, position = self._piece(text, match, depth)
            parts.append(piece)
        return "".join([*parts, text[position:]])

    def _piece(self, text: str, match: re.Match[str], depth: int) -> tuple[str, int]:
        """What stands for one ``$``, and where the text goes on."""
        if match["escaped"]:
            return "$", match.end()
        if match["named"]:
            value = self.value(match["named"])
            return (opened(match.group()) if value is None else value), match.end()
        name = match["braced"]
        end = _closing(text, match.end()) if name else -1
        if end < 0 or depth == _MAX_DEPTH or (not match["sign"] and end != match.end()):
            shown = text[match.start() : match.start() + 40]
            raise BadInput(f"Compose cannot fill in `{shown}`; write ${{NAME}}, or $$ for the character")
        word = text[match.end() : end]
        return self._braced(name, match["sign"] or "", word, text[match.start() : end + 1], depth), end + 1

    def _braced(self, name: str, sign: str, word: str, written: str, depth: int) -> str:
        value = self.value(name)
        counts = value is not None and not (sign.startswith(":") and value == "")
        if sign.endswith("+"):
            result = self._text(word, depth + 1) if counts else ""
        elif counts or (value is not None and not sign):
            return value or ""
        elif sign.endswith("-"):
            result = self._text(word, depth + 1)
        else:
            # Compose would stop at `?`, and put nothing for a bare name; the caller's shell may set it.
            return opened(f"${{{name}}}")
        if value is None:
            note = f"{name} is taken as not set, so `{written[:80]}` is its default; give --env {name}=... if it is set"
            if note not in self.notes:
                self.notes.append(note)
        return result


def fill_kubernetes(written: Written, value: Callable[[str], str | None]) -> Written:
    """A value with its ``$(NAME)`` filled in; one without a value stays as it is."""

    def piece(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        found = value(match["name"])
        return match.group() if found is None else found

    return fill(written, _KUBERNETES, piece)


def _closing(text: str, start: int) -> int:
    """Where the brace that is open at ``start`` is closed; only ``${`` opens another."""
    depth = 1
    for match in re.compile(r"\$\{|\}").finditer(text, start):
        depth += 1 if match.group() == "${" else -1
        if depth == 0:
            return match.start()
    return -1
