"""``Engine(...)`` calls and ``server_args=...`` log lines -> keyword arguments.

Values are read as literals and never evaluated.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from pathtrace.tracer.errors import BadInput

Keywords = tuple[dict[str, Any], tuple[str, ...]]

_ENGINE = re.compile(r"(?<![\w.])((?:[A-Za-z_]\w*\.){0,4})Engine[ \t]*\(", re.ASCII)
_LOG = re.compile(r"server_args[ ]?=[ ]?(ServerArgs\(|\{)")
_ENVIRON = re.compile(r"\b(?:environ|putenv)\b")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_DEPTH_LIMIT = 20_000
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_LITERAL_ERRORS = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_STRING = (
    r"'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
)
_TOKEN = re.compile(rf"{_STRING}|(?P<open>['\"])|(?P<mark>[()\[\]{{}},])", re.DOTALL)
_SILENT = re.compile(rf"#[^\n]*|{_STRING}", re.DOTALL)
_TOKEN_OR_COMMENT = re.compile(rf"#[^\n]*|{_TOKEN.pattern}", re.DOTALL)


def engine_call(text: str) -> Keywords | None:
    """Keyword arguments of the one ``Engine(...)`` call in Python text, or None without one.

    Returns:
        The literal arguments by name, and the others as written.

    Raises:
        BadInput: a call that is not valid Python, more than one call, or Python that also sets
            environment variables (which is not followed).
    """
    calls = list(_ENGINE.finditer(text))
    if not calls:
        return None
    if len(calls) > 1:
        raise BadInput(f"the launch has {len(calls)} Engine(...) calls; give one at a time")
    start, opened = calls[0].start(), calls[0].end() - 1
    end = _closing(text, opened, comments=True)
    if end is None:
        raise BadInput("the parenthesis of Engine( is never closed; give the whole call")
    if _ENVIRON.search(text, 0, start) or _ENVIRON.search(text, end):
        raise BadInput(
            "the Python around Engine(...) sets or reads environment variables, which is not "
            "followed; give the Engine(...) call alone and the variables with --env NAME=value"
        )
    source = text[start:end].replace("\r\n", "\n").replace("\r", "\n")
    call = _parsed_call(source)
    written = {keyword.arg: keyword for keyword in call.keywords}
    if len(written) != len(call.keywords) and None not in written:
        raise BadInput("Engine(...) gets an argument twice; give it once")
    inner = written.get("server_args")
    if inner is not None and isinstance(inner.value, ast.Call):
        # Engine(server_args=ServerArgs(k=v)) and Engine(k=v) build the same arguments.
        call = inner.value
    return _split(source, call)


def server_args_line(text: str) -> Keywords | None:
    """Fields of a ``server_args=ServerArgs(...)`` or ``server_args={...}`` log line, or None.

    A line that was cut off gives its whole fields; the cut one goes to the unparsed ones.

    Raises:
        BadInput: lines that disagree, or a field that occurs twice.
    """
    result: Keywords | None = None
    position = 0
    while match := _LOG.search(text, position):
        # A repr holds no raw line break, so a line that ends inside of it was cut off.
        line_end = text.find("\n", match.end())
        line = text[match.end() - 1 : len(text) if line_end < 0 else line_end]
        end = _closing(line, 0, comments=False)
        position = match.end() - 1 + (len(line) if end is None else end)
        inside = line[1:] if end is None else line[1 : end - 1]
        keywords = _fields(inside, cut=end is None, pairs=match.group(1) == "{")
        if result is not None and result != keywords:
            raise BadInput("the log has server_args lines that differ; give the line of one server")
        result = keywords
    return result


def first_log(text: str) -> int | None:
    """Where the first ``server_args=`` line starts."""
    match = _LOG.search(text)
    return match.start() if match else None


def first_engine(text: str) -> int | None:
    """Where the first ``Engine(`` starts."""
    match = _ENGINE.search(text)
    return match.start() if match else None


def _is_deep(text: str) -> bool:
    """Whether text could nest far enough to overflow the C stack of Python 3.10's parser."""
    return len(text) > _DEPTH_LIMIT and len(_SILENT.sub("", text)) > _DEPTH_LIMIT


def _parsed_call(source: str) -> ast.Call:
    if _is_deep(source):
        raise BadInput("the Engine(...) call is too long to read; give it without its long values")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(source, mode="eval").body
    except _LITERAL_ERRORS as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise BadInput(f"the Engine(...) call is not valid Python ({reason}); correct it") from None
    if not isinstance(node, ast.Call):
        raise BadInput("the Engine(...) call is not a plain call; give it alone")
    return node


def _split(source: str, call: ast.Call) -> Keywords:
    kwargs: dict[str, Any] = {}
    lines = source.encode().split(b"\n")
    unparsed = [_written(lines, node) for node in call.args]
    for keyword in call.keywords:
        if keyword.arg is None:
            unparsed.append(f"**{_written(lines, keyword.value)}")
            continue
        try:
            kwargs[keyword.arg] = ast.literal_eval(keyword.value)
        except _LITERAL_ERRORS:
            unparsed.append(f"{keyword.arg}={_written(lines, keyword.value)}")
    return kwargs, tuple(unparsed)


def _written(lines: list[bytes], node: ast.expr) -> str:
    """Source of a node; ast.get_source_segment splits the whole source anew for each."""
    last = (node.end_lineno or node.lineno) - 1
    part = lines[node.lineno - 1 : last + 1]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0][node.col_offset :]
    return b"\n".join(part).decode("utf-8", "replace")


def _fields(inside: str, *, cut: bool, pairs: bool) -> Keywords:
    kwargs: dict[str, Any] = {}
    unparsed: list[str] = []
    items = list(_items(inside))
    for number, item in enumerate(items):
        last_of_cut = cut and number == len(items) - 1
        if not item.strip():
            unparsed += ["..."] if last_of_cut else []
            continue
        name, value = _field_name(item, pairs=pairs)
        literal, ok = (None, False) if name is None or last_of_cut else _literal(value)
        if name is None or not ok:
            unparsed.append(item.strip())
        elif name in kwargs:
            raise BadInput(f"the server_args line has {name} twice; give one server's line")
        else:
            kwargs[name] = literal
    if cut and "..." not in unparsed:
        unparsed.append("...")
    return kwargs, tuple(unparsed)


def _field_name(item: str, *, pairs: bool) -> tuple[str | None, str]:
    if not pairs:
        match = _KEYWORD.match(item)
        return (match.group(1), item[match.end() :]) if match else (None, item)
    key, colon, value = item.partition(":")
    name, ok = _literal(key)
    return (name, value) if colon and ok and isinstance(name, str) else (None, item)


def _literal(text: str) -> tuple[Any, bool]:
    if _is_deep(text):
        return None, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text.strip()), True
    except _LITERAL_ERRORS:
        return None, False


def _items(inside: str) -> Iterator[str]:
    """Pieces between the commas that stand in no bracket or quote."""
    start = depth = 0
    for position, char in _structure(inside, 0, comments=False):
        if char in _PAIRS:
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            yield inside[start:position]
            start = position + 1
    yield inside[start:]


def _closing(text: str, opened: int, *, comments: bool) -> int | None:
    """Position after the bracket that closes the one at ``opened``."""
    depth = 0
    for position, char in _structure(text, opened, comments=comments):
        if char in _PAIRS:
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return position + 1
    return None


def _structure(text: str, start: int, *, comments: bool) -> Iterator[tuple[int, str]]:
    """Brackets and commas outside of strings; ends where a string is not closed."""
    token = _TOKEN_OR_COMMENT if comments else _TOKEN
    for match in token.finditer(text, start):
        if match.lastgroup == "mark":
            yield match.start(), match.group()
        elif match.lastgroup == "open":
            return
