"""The values of a YAML document, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.model import Spot

CORE = "tag:yaml.org,2002:"
_MAX_VISITS = 100_000
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_NO_TEXT = re.compile(
    r"true|True|TRUE|false|False|FALSE|[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


@dataclass(frozen=True)
class Scalar:
    """One value: its text, where it starts, and how it is written.

    Attributes:
        text: the text; a value under a tag of an application is one open piece.
        spot: its first character.
        style: the quote or block sign; empty for a plain scalar.
        start: where it starts in the file's text, in characters; ``end`` is behind it.
        tag: its tag, if it has one of its own.
    """

    text: str
    spot: Spot
    style: str = ""
    start: int = 0
    end: int = 0
    tag: str = ""

    @property
    def is_null(self) -> bool:
        """Whether it is written as no value."""
        return self.tag == CORE + "null" or (not self.style and not self.tag and self.text in _NULLS)

    @property
    def is_text(self) -> bool:
        """Whether YAML takes it for text, not for a number, a truth value or nothing."""
        return bool(self.style or self.tag) or not (self.is_null or _NO_TEXT.fullmatch(self.text))


@dataclass(frozen=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    spot: Spot
    tag: str = ""


@dataclass(frozen=True)
class Table:
    """A mapping with its merges (``<<``) filled in.

    Attributes:
        entries: by the text of the key; the last of equal keys counts.
        spot: where it starts.
        repeated: keys that stand more than once.
        tag: its tag, if it has one of its own.
    """

    entries: Mapping[str, Node]
    spot: Spot
    repeated: tuple[str, ...] = ()
    tag: str = ""

    def get(self, key: str) -> Node | None:
        """The value of a key; None where there is none, or it is null."""
        value = self.entries.get(key)
        return None if isinstance(value, Scalar) and value.is_null else value

    def text(self, key: str) -> str:
        """The text of a key; empty where there is none."""
        value = self.get(key)
        return value.text if isinstance(value, Scalar) else ""


Node = Scalar | Sequence | Table


@dataclass
class Visits:
    """How many nodes may still be visited: aliases make a small file stand for a huge one."""

    file: str
    left: int = _MAX_VISITS

    def spend(self, count: int = 1, line: int | None = None) -> None:
        """Count visits.

        Raises:
            BadInput: there are too many.
        """
        self.left -= count
        if self.left < 0:
            raise BadInput(
                f"holds over {_MAX_VISITS} values when its aliases are filled in; write out the part that starts "
                "the server",
                self.file,
                line,
            )
