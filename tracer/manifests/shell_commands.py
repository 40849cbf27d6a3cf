"""A simple command of the syntax tree -> its words, its assignments and what is fed to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from pathtrace.tracer.manifests.shell_source import Source
from pathtrace.tracer.manifests.shell_words import split_words

_REDIRECTS = frozenset(["file_redirect", "herestring_redirect", "heredoc_redirect", "comment"])
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=", re.ASCII)
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(?:&>>|&>|<<<|<>|<&-?|>&-?|>>|>\||<|>)", re.ASCII)
_BLANK_WORD = re.compile(rb"[ \t]*\\[ \t]+(?=\n|$)")
_TABS = re.compile(r"^\t+", re.MULTILINE)


@dataclass(frozen=True)
class Assigned:
    """``NAME=value`` as written.

    Attributes:
        name: the variable.
        index: what stands in square brackets, with them, or None.
        append: whether it is ``+=``.
        value: the value as written.
        offset: where the value starts.
        array: the words of ``NAME=(...)`` and where they start, or None.
    """

    name: str
    index: str | None
    append: bool
    value: str
    offset: int
    array: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class Fed:
    """Text that a command reads from its standard input.

    Attributes:
        text: as written.
        offset: where it starts.
        word: whether it is a word (``<<< "$X"``) rather than the body of a here-document.
        expands: whether ``$`` in it is filled in.
        strips_tabs: whether the tabs at the front of its lines go (``<<-``).
    """

    text: str
    offset: int
    word: bool
    expands: bool = True
    strips_tabs: bool = False

    def indents(self) -> tuple[int, ...]:
        """How many tabs go from the front of each line."""
        if not self.strips_tabs:
            return ()
        return tuple(len(line) - len(line.lstrip("\t")) for line in self.text.split("\n"))

    def stripped(self, text: str) -> str:
        """The text without the tabs that go."""
        return _TABS.sub("", text) if self.strips_tabs else text


@dataclass(frozen=True)
class Simple:
    """A simple command: assignments in front, words, what is fed to it, and commands that follow in a
    here-document's first line."""

    assigned: tuple[Assigned, ...]
    words: tuple[tuple[str, int], ...]
    fed: Fed | None
    piped: tuple[Node, ...] = ()
    follows: tuple[tuple[str, Node], ...] = ()


def read_simple(node: Node, redirects: list[Node], source: Source) -> Simple:
    """Take a ``command`` apart, with the redirections that stand around it."""
    inner = [child for child in node.children if child.type in _REDIRECTS]
    words = list(_outside(node, inner, source))
    assigned: list[Assigned] = []
    while words:
        found = assignment_in(*words[0])
        if found is None:
            break
        assigned.append(found)
        words.pop(0)
    fed: Fed | None = None
    piped: list[Node] = []
    follows: list[tuple[str, Node]] = []
    for redirect in [*inner, *redirects]:
        if redirect.type == "file_redirect":
            words += _behind_redirect(redirect, source)
        elif redirect.type == "herestring_redirect":
            (text, offset), *more = [
                *((each, offset + redirect.start_byte) for each, offset in _words(source.of(redirect)[3:], 3)),
                *[("", 0)],
            ]
            fed = Fed(text, offset, word=True)
            words += more[:-1]
        elif redirect.type == "heredoc_redirect":
            fed = _heredoc(redirect, source) or fed
            operator = ""
            for child in redirect.children:
                if child.type in ("&&", "||"):
                    operator = child.type
                elif operator and child.is_named and child.type not in ("heredoc_body", "heredoc_end"):
                    follows.append((operator, child))
                    operator = ""
                elif child.type == "pipeline":
                    piped += _stages(child)
                elif child.type == "file_redirect":
                    words += _behind_redirect(child, source)
                elif child.is_named and child.type not in ("heredoc_start", "heredoc_body", "heredoc_end"):
                    words.append((source.of(child), child.start_byte))
    end = max([node.end_byte, *(redirect.end_byte for redirect in redirects)])
    if (match := _BLANK_WORD.match(source.data, end)) is not None:
        # A backslash with blanks behind it does not continue the line: it is a word, one blank.
        words.append(("\\ ", match.end() - len(match.group().lstrip())))
    return Simple(tuple(assigned), tuple(words), fed, tuple(piped), tuple(follows))


def assignment_in(text: str, offset: int) -> Assigned | None:
    """The assignment that a word is."""
    match = _ASSIGNMENT.match(text)
    if match is None:
        return None
    at = offset + len(text[: match.end()].encode("utf-8", "surrogatepass"))
    return Assigned(match.group(1), match.group(2), bool(match.group(3)), text[match.end() :], at)


def assignment_of(node: Node, source: Source) -> Assigned | None:
    """The assignment of a ``variable_assignment`` node."""
    found = assignment_in(source.of(node), node.start_byte)
    value = node.child_by_field_name("value")
    if found is None or value is None or value.type != "array":
        return found
    inner = [child for child in value.children if child.type in ("comment", "(", ")")]
    array = tuple(_outside(value, inner, source))
    return Assigned(found.name, found.index, found.append, found.value, found.offset, array)


def _words(text: str, shift: int) -> Iterator[tuple[str, int]]:
    """Words of a text and where each starts, in bytes."""
    plain = text.isascii()
    for word, at in split_words(text):
        yield word, shift + (at if plain else len(text[:at].encode("utf-8", "surrogatepass")))


def _outside(node: Node, cut_out: list[Node], source: Source) -> Iterator[tuple[str, int]]:
    """The words of a node outside of some of its children."""
    start = node.start_byte
    for child in [*cut_out, None]:
        end = node.end_byte if child is None else child.start_byte
        if end > start:
            yield from _words(source.text(start, end), start)
        start = node.end_byte if child is None else child.end_byte


def _behind_redirect(redirect: Node, source: Source) -> list[tuple[str, int]]:
    """Words of the command that stand behind a redirection and its file."""
    text = source.of(redirect)
    match = _REDIRECT.match(text)
    if match is None:
        return []
    found = list(_words(text[match.end() :], redirect.start_byte + match.end()))
    return found if match.group().endswith("-") else found[1:]


def _heredoc(redirect: Node, source: Source) -> Fed | None:
    start = next((child for child in redirect.children if child.type == "heredoc_start"), None)
    body = next((child for child in redirect.children if child.type == "heredoc_body"), None)
    if start is None or body is None:
        return None
    delimiter = source.of(start)
    quoted = any(quote in delimiter for quote in "'\"\\")
    strips = any(child.type == "<<-" for child in redirect.children)
    text = source.of(body)
    offset = body.start_byte
    if strips and not text.startswith("\t"):
        # The parser leaves the first line's tabs out of the body.
        while offset and source.data[offset - 1 : offset] == b"\t":
            offset -= 1
        text = source.text(offset, body.end_byte)
    return Fed(text, offset, word=False, expands=not quoted, strips_tabs=strips)


def _stages(pipeline: Node) -> list[Node]:
    found: list[Node] = []
    waiting = [child for child in reversed(pipeline.children) if child.is_named]
    while waiting:
        node = waiting.pop()
        if node.type == "pipeline":
            waiting += [child for child in reversed(node.children) if child.is_named]
        else:
            found.append(node)
    return found
