"""The words after ``--`` -> a :class:`~pathtrace.tracer.launch.model.Launch`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.calls import (
    engine_call,
    first_engine,
    first_log,
    server_args_line,
)
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.snippet import UNDERSTOOD, launch_in_text, launch_in_words

LIMIT = 1 << 20
_PROMPT = re.compile(r"\A\s*\$ ")
_SHELL_BEFORE_CALL = re.compile(r"\bpython[\d.]*\s|\bsglang\s+serve\b|\bsglang\.launch_server\b")


def parse_launch(words: Sequence[str]) -> Launch:
    """Take a launch apart, without running or looking up anything.

    Args:
        words: words split by a shell, or one string with shell text, an ``Engine(...)`` call or a
            ``server_args=...`` log line. In shell text a variable that the text sets is filled in;
            in split words a ``$`` is kept.

    Raises:
        BadInput: an empty launch, no SGLang server or more than one in it, a quote that is not
            closed, a value that the launch refers to and does not set, NUL, over 1 MB, or a form
            that is not read with certainty. The sentence names the next step.
    """
    if sum(len(word) + 1 for word in words) > LIMIT:
        raise BadInput("the launch is over 1 MB; give only the command that starts the server")
    if any("\0" in word for word in words):
        raise BadInput("the launch holds a NUL character; give it as plain text")
    if not any(word.strip() for word in words):
        raise BadInput(f"the launch is empty; {UNDERSTOOD}")
    if len(words) > 1:
        return _split(words)
    text = words[0]
    if text.startswith("-") and not any(char.isspace() for char in text):
        return launch_in_words(words)
    return _python(text) or launch_in_text(_PROMPT.sub("", text, count=1))


def _split(words: Sequence[str]) -> Launch:
    first = words[0]
    if first_engine(first) == 0 or first_log(" ".join(words[:8])) is not None:
        raise BadInput(
            "a call or a log line came in several words, so its quotes may be lost; put the whole "
            "of it in single quotes"
        )
    return launch_in_words(words)


def _python(text: str) -> Launch | None:
    """A launch given as a call or as a log line, or None for shell text."""
    engine, log = first_engine(text), first_log(text)
    if engine is not None and (log is None or engine < log):
        if _SHELL_BEFORE_CALL.search(text, 0, engine):
            return None
        call = engine_call(text)
        assert call is not None
        return Launch(entry="engine", kwargs=call[0], unparsed=call[1], open_kwargs=call[1])
    if log is not None:
        line = server_args_line(text)
        assert line is not None
        if not line[0]:
            raise BadInput("no field of the server_args line can be read; give the whole line")
        return Launch(entry="server_args", kwargs=line[0], unparsed=line[1], open_kwargs=line[1])
    if text.lstrip().startswith("ServerArgs("):
        raise BadInput(
            "ServerArgs(...) alone may be Python or a log line; write Engine(...) with the same "
            "arguments for Python, or server_args=ServerArgs(...) for a line from a log"
        )
    return None
