"""Shell text -> simple commands, in the way of a POSIX shell, with nothing run or expanded.

:mod:`shlex` is not used because it drops the one thing needed afterwards: whether a ``$`` stood in
single quotes. It also takes a ``#`` in the middle of a word for a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput


@dataclass(frozen=True)
class Text:
    """Literal characters; ``bare`` when they were not quoted."""

    text: str
    bare: bool


@dataclass(frozen=True)
class Ref:
    """A ``$`` expression. ``name`` is None for one that is not read, such as ``$(date)``."""

    source: str
    name: str | None = None
    quoted: bool = False
    default: str | None = None
    default_if_empty: bool = False


Word = tuple["Text | Ref", ...]


@dataclass(frozen=True)
class Command:
    """One simple command without its redirections.

    ``before`` and ``after`` are the operators around it (``"&&"``, ``"\\n"``, ...; empty at the
    ends), ``line`` is the 1-based line in the text on which it starts.
    """

    words: tuple[Word, ...]
    before: str
    after: str
    line: int


_OPERATOR = re.compile(r"&>>|&>|&&|&|\|\||\|&|\||;;&|;;|;&|;|<<<|<<-|<<|<>|<&|<|>>|>\||>&|>|\(|\)")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"\$([A-Za-z_]\w*)", re.ASCII)
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)(?:(:?)[-=]([^${}`\"'\\]*))?\}", re.ASCII)
_SPECIAL = re.compile(r"\$[0-9@*#?$!-]")
_BROKEN_CONTINUATION = re.compile(r"\\[ \t]+(?=\n|#)")
_MAX_COMMANDS = 2000
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)


def read_commands(text: str) -> list[Command]:
    """Split shell text into simple commands.

    Raises:
        BadInput: a quote, ``$(`` or here-document that is not closed; a backslash followed by
            blanks at the end of a line; parentheses.
    """
    return _Reader(text.replace("\r\n", "\n")).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.commands: list[Command] = []
        self.words: list[Word] = []
        self.parts: list[Text | Ref] = []
        self.word_open = False
        self.before = ""
        self.redirect: str | None = None
        self.heredocs: list[tuple[str, bool]] = []
        self.line = 1
        self.counted = 0
        self.start_line = 1

    def read(self) -> list[Command]:
        text = self.text
        while self.pos < len(text):
            char = text[self.pos]
            if char == "\n":
                self._separate("\n")
                self.pos += 1
                self._skip_heredocs()
            elif char in " \t\r":
                self._end_word()
                self.pos += 1
            elif char == "#" and not self.word_open:
                end = text.find("\n", self.pos)
                self.pos = len(text) if end < 0 else end
            elif char in ";&|<>()":
                self._operator()
            else:
                self._piece(char)
        self._separate("")
        return self.commands

    def _here(self) -> int:
        self.line += self.text.count("\n", self.counted, self.pos)
        self.counted = self.pos
        return self.line

    def _unclosed(self, what: str) -> BadInput:
        return BadInput(
            f"line {self._here()} of the launch opens {what} that is never closed; "
            "close it, or quote the launch differently"
        )

    def _add(self, part: Text | Ref) -> None:
        if not self.word_open and not self.words:
            self.start_line = self._here()
        self.word_open = True
        self.parts.append(part)

    def _end_word(self) -> None:
        if not self.word_open:
            return
        word = tuple(self.parts)
        self.parts = []
        self.word_open = False
        if self.redirect is None:
            self.words.append(word)
            return
        if self.redirect in ("<<", "<<-"):
            delimiter = "".join(p.text if isinstance(p, Text) else p.source for p in word)
            self.heredocs.append((delimiter, self.redirect == "<<-"))
        self.redirect = None

    def _separate(self, operator: str) -> None:
        self._end_word()
        self.redirect = None
        if self.words:
            self.commands.append(Command(tuple(self.words), self.before, operator, self.start_line))
            self.words = []
            self.before = operator
            if len(self.commands) > _MAX_COMMANDS:
                raise BadInput(f"the launch holds over {_MAX_COMMANDS} commands; give only those that start the server")
        elif operator != "\n" or self.before == "":
            # A newline right after `&&` or `|` continues the list.
            self.before = operator

    def _operator(self) -> None:
        match = _OPERATOR.match(self.text, self.pos)
        assert match is not None
        operator = match.group()
        if operator in "()":
            raise BadInput(
                f"line {self._here()} of the launch has a parenthesis outside of quotes (a "
                "subshell, a function or an array), which is not read; give the one server "
                "command with its values written out"
            )
        if operator[0] in "<>" or operator in ("&>", "&>>"):
            if self.word_open and len(self.parts) == 1:
                part = self.parts[0]
                if isinstance(part, Text) and part.bare and part.text.isdigit():
                    self.parts = []
                    self.word_open = False
            self._end_word()
            self.redirect = operator
        else:
            self._separate(operator)
        self.pos = match.end()

    def _skip_heredocs(self) -> None:
        for delimiter, strip_tabs in self.heredocs:
            while True:
                if self.pos >= len(self.text):
                    raise self._unclosed(f"a here-document (<<{delimiter})")
                end = self.text.find("\n", self.pos)
                end = len(self.text) if end < 0 else end
                line = self.text[self.pos : end]
                self.pos = end + 1
                if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                    break
        self.heredocs = []

    def _piece(self, char: str) -> None:
        text = self.text
        if char == "\\":
            self._backslash()
        elif char == "'":
            end = text.find("'", self.pos + 1)
            if end < 0:
                raise self._unclosed("a single quote")
            self._add(Text(text[self.pos + 1 : end], bare=False))
            self.pos = end + 1
        elif char == '"':
            self._double_quoted()
        elif char in "$`":
            self._dollar(quoted=False)
        else:
            match = _PLAIN.match(text, self.pos)
            self._add(Text(match.group() if match else char, bare=True))
            self.pos = match.end() if match else self.pos + 1

    def _backslash(self) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        if _BROKEN_CONTINUATION.match(self.text, self.pos):
            raise BadInput(
                f"line {self._here()} of the launch has blanks or a comment after its backslash, "
                "so a shell ends the command there; remove what follows the backslash"
            )
        if following not in ("\n", ""):
            self._add(Text(following, bare=False))
        self.pos += 2

    def _double_quoted(self) -> None:
        text = self.text
        self._add(Text("", bare=False))
        self.pos += 1
        while True:
            match = _IN_DOUBLE.match(text, self.pos)
            if match:
                self._add(Text(match.group(), bare=False))
                self.pos = match.end()
            char = text[self.pos : self.pos + 1]
            if char == "":
                raise self._unclosed("a double quote")
            if char == '"':
                self.pos += 1
                return
            if char == "\\":
                following = text[self.pos + 1 : self.pos + 2]
                if following != "\n":
                    kept = following if following in ("$", "`", '"', "\\") else "\\" + following
                    self._add(Text(kept, bare=False))
                self.pos += 2
            else:
                self._dollar(quoted=True)

    def _dollar(self, *, quoted: bool) -> None:
        text, pos = self.text, self.pos
        if match := _NAME.match(text, pos):
            self._add(Ref(match.group(), match.group(1), quoted))
            self.pos = match.end()
        elif match := _BRACED.match(text, pos):
            name, colon, default = match.groups()
            self._add(Ref(match.group(), name, quoted, default, colon == ":"))
            self.pos = match.end()
        elif match := _SPECIAL.match(text, pos):
            self._add(Ref(match.group(), None, quoted))
            self.pos = match.end()
        elif text.startswith(("$(", "${", "`"), pos):
            self.pos = self._closing(pos)
            self._add(Ref(text[pos : self.pos], None, quoted))
        elif text.startswith("$'", pos) and not quoted:
            self._ansi_quoted()
        elif text.startswith('$"', pos) and not quoted:
            self.pos += 1
            self._double_quoted()
        else:
            self._add(Text("$", bare=False))
            self.pos += 1

    def _closing(self, start: int) -> int:
        """Position after the bracket or backquote that closes the one at ``start``."""
        text = self.text
        if text[start] == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise self._unclosed("a backquote")
            return end + 1
        pairs = {"(": ")", "{": "}"}
        stack = [pairs[text[start + 1]]]
        pos, quote = start + 2, ""
        while pos < len(text):
            char = text[pos]
            if char == "\\" and quote != "'":
                pos += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in pairs:
                stack.append(pairs[char])
            elif char == stack[-1]:
                stack.pop()
                if not stack:
                    return pos + 1
            pos += 1
        raise self._unclosed(text[start : start + 2])

    def _ansi_quoted(self) -> None:
        match = _ANSI.match(self.text, self.pos)
        if match is None:
            raise self._unclosed("a $' quote")
        escapes = "\\" in match.group(1)
        self._add(Ref(match.group()) if escapes else Text(match.group(1), bare=False))
        self.pos = match.end()
