"""YAML text -> its documents, every value with its place in the file and none of them constructed.

The text is read as ruamel.yaml's parser reports it. Tags are kept as they are written, so nothing that
a file names is ever looked up or run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK, opened
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.filling import fill
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.yaml_nodes import CORE, Node, Scalar, Sequence, Table, Visits
from pathtrace.tracer.manifests.yaml_places import content_start, runs_of

LIMIT = 2 << 20
_MAX_NODES = 20_000  # ruamel.yaml reads about 10,000 a second
_MAX_CHARACTERS = 512 << 10  # and as few characters of one value
_DOCUMENT_COST = 20
_MAX_DEPTH = 64
_DOCUMENT = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_CONFIG_MAP = re.compile(r"^[\"']?kind[\"']?:[ \t]*[\"']?ConfigMap\b", re.MULTILINE)
_NAMES_CONFIG_MAP = re.compile(r"configMap(?:Key)?Ref\b")
_HELM = re.compile(
    r"\{\{-?[ \t]*(?:\$?\.(?:Values|Release|Chart|Capabilities|Files)\b|(?:include|template|toYaml|tpl)[ \t])"
)
_TEMPLATE_PIECE = re.compile(r"\{\{[^{}\n]*\}\}")
_PLAIN_TAGS = frozenset(CORE + name for name in ("str", "int", "float", "bool", "null", "seq", "map"))


@dataclass(frozen=True)
class Source:
    """The text of a file, to find places in it."""

    text: str
    file: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def spot(self, index: int) -> Spot:
        """The line and column of a character."""
        line = bisect_right(self._starts, index)
        return Spot(line, index - self._starts[line - 1] + 1)

    def written(self, scalar: Scalar) -> Written:
        """A value with the places of all its characters; ``{{ ... }}`` in it is a piece that is not stated."""
        if scalar.text.startswith(MARK):
            return Written(scalar.text, scalar.spot)
        runs = runs_of(scalar.text, self.text, scalar.start, scalar.end, scalar.style, self.spot)
        written = Written(scalar.text, scalar.spot, runs)
        return fill(written, _TEMPLATE_PIECE, lambda match: opened(match.group())) if "{{" in scalar.text else written


def mentions_server(text: str) -> bool:
    """Whether a text can hold a launch at all."""
    return "sglang" in text.lower()


def read_documents(text: str, file: str) -> tuple[Source, list[Node]]:
    """The documents of a YAML file that mention SGLang, and those that such a document can refer to.

    Raises:
        BadInput: it is no YAML, a template of YAML, binary, too large, too deep, or refers to itself.
    """
    source = Source(text, file)
    if len(text) > LIMIT:
        raise BadInput("is over 2 MB; give the part that starts the server", file)
    bad = re.search(r"[\0\ud800-\udfff]", text)
    if bad is not None:
        raise BadInput("is binary, not YAML; give a text file", file, source.spot(bad.start()).line)
    if not mentions_server(text):
        return source, []
    starts = [match.start() for match in _DOCUMENT.finditer(text)]
    cuts = [0, *(start for start in starts if start), len(text)]
    parts = list(pairwise(cuts))
    own = [(start, end) for start, end in parts if mentions_server(text[start:end])]
    launching = [(start, end) for start, end in own if not _CONFIG_MAP.search(text, start, end)]
    if any(_NAMES_CONFIG_MAP.search(text, start, end) for start, end in launching):
        own += [(start, end) for start, end in parts if _CONFIG_MAP.search(text, start, end)]
    else:
        own = launching
    reader = _Reader(source)
    documents: list[Node] = []
    for start, end in sorted(set(own)):
        template = _HELM.search(text, start, end)
        if template is not None:
            raise _template(source, template.start())
        documents += reader.read(text[start:end], start)
    return source, documents


def _template(source: Source, index: int) -> BadInput:
    return BadInput(
        "is a template of YAML; render it first (`helm template`) and give the result",
        source.file,
        source.spot(index).line,
    )


@dataclass
class _Open:
    """A list or mapping that is being read."""

    start: Any
    is_list: bool
    nodes: list[Node] = field(default_factory=list)


class _Reader:
    """Puts nodes together from the parser's events, which no nesting of the file makes recursive."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.left = _MAX_NODES
        self.characters = _MAX_CHARACTERS
        self.visits = Visits(source.file)
        self.offset = 0

    def read(self, text: str, offset: int) -> Iterator[Node]:
        self.offset = offset
        self.left -= _DOCUMENT_COST
        self.characters -= len(text)
        if self.characters < 0:
            raise self._bad(
                f"holds over {_MAX_CHARACTERS >> 10} KB that mention SGLang; give the part that starts the server",
                offset,
            )
        # A byte order mark is no part of the text; the parser would count it.
        stream = " " + text[1:] if text.startswith("\ufeff") else text
        try:
            yield from self._nodes(YAML(typ="safe", pure=True).parse(stream))
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            index = offset + (0 if mark is None else min(mark.index, len(text)))
            if "{{" in text or "{%" in text:
                raise _template(self.source, index) from None
            problem = " ".join(str(error.problem or error.context or "a form that is not YAML").split())
            raise self._bad(f"is not YAML ({problem[:120]}); correct it", index) from None
        except (YAMLError, ValueError, OverflowError) as error:
            position = getattr(error, "position", 0)
            index = offset + (position if isinstance(position, int) else 0)
            raise self._bad("holds a character that YAML does not allow; remove it", index) from None

    def _bad(self, sentence: str, index: int) -> BadInput:
        return BadInput(sentence, self.source.file, self.source.spot(min(index, len(self.source.text))).line)

    def _nodes(self, events: Any) -> Iterator[Node]:
        stack: list[_Open] = []
        anchors: dict[str, Node | None] = {}
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                anchors.clear()
            if kind in ("SequenceStartEvent", "MappingStartEvent"):
                if len(stack) == _MAX_DEPTH:
                    raise self._bad(f"is nested over {_MAX_DEPTH} deep; flatten it", self._index(event))
                stack.append(_Open(event, kind == "SequenceStartEvent"))
                if event.anchor:
                    anchors[event.anchor] = None
                continue
            if kind == "ScalarEvent":
                node: Node = self._scalar(event)
            elif kind == "AliasEvent":
                node = self._alias(event, anchors)
            elif kind in ("SequenceEndEvent", "MappingEndEvent"):
                opened_by = stack.pop()
                node = self._collection(opened_by, event)
                event = opened_by.start
            else:
                continue
            self.left -= 1
            if self.left < 0:
                raise self._bad(
                    f"holds over {_MAX_NODES} values; give the part that starts the server", self._index(event)
                )
            if kind != "AliasEvent" and event.anchor:
                anchors[event.anchor] = node
            if stack:
                stack[-1].nodes.append(node)
            else:
                yield node

    def _index(self, event: Any) -> int:
        return int(event.start_mark.index) + self.offset

    def _alias(self, event: Any, anchors: Mapping[str, Node | None]) -> Node:
        if event.anchor not in anchors:
            raise self._bad(
                f"*{event.anchor[:80]} names no anchor above it; add &{event.anchor[:80]}", self._index(event)
            )
        node = anchors[event.anchor]
        if node is None:
            raise self._bad(
                f"*{event.anchor[:80]} stands inside of what it names; write the value out", self._index(event)
            )
        return node

    def _scalar(self, event: Any) -> Scalar:
        end = int(event.end_mark.index) + self.offset
        style = event.style or ""
        start = content_start(self.source.text, self._index(event), end, style)
        tag = _own_tag(event)
        text = event.value
        if tag and tag not in _PLAIN_TAGS:
            text = opened(f"{tag} {text}".strip())
        return Scalar(text, self.source.spot(start), style, start, end, tag)

    def _collection(self, part: _Open, end: Any) -> Node:
        index = self._index(part.start)
        spot = self.source.spot(index)
        written = self.source.text[index : int(end.end_mark.index) + self.offset]
        tag = _own_tag(part.start)
        if tag and tag not in _PLAIN_TAGS and tag not in ("!override", "!reset"):
            return Scalar(opened(" ".join(written.split())), spot, tag=tag)
        if part.is_list:
            return Sequence(tuple(part.nodes), spot, tag)
        if written.startswith("{{"):
            return Scalar(opened(written), spot, tag="!template")
        return self._table(part, spot, tag)

    def _table(self, part: _Open, spot: Spot, tag: str) -> Table:
        own: dict[str, Node] = {}
        repeated: list[str] = []
        merged: list[Node] = []
        for key, value in zip(part.nodes[::2], part.nodes[1::2], strict=True):
            if not isinstance(key, Scalar):
                continue
            if key.text == "<<" and not key.style:
                merged += value.items if isinstance(value, Sequence) else [value]
                continue
            if key.text in own:
                repeated.append(key.text)
            own[key.text] = value
        entries: dict[str, Node] = {}
        for each in merged:
            if isinstance(each, Table):
                self.visits.spend(len(each.entries), spot.line)
                entries = {**each.entries, **entries}
        return Table({**entries, **own}, spot, tuple(repeated), tag)


def _own_tag(event: Any) -> str:
    tag = event.tag
    return "" if tag in (None, "!") else str(tag)
