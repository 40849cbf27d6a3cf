"""The SGLang launches of a shell script, found without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import MARK
from pathtrace.tracer.launch.surroundings import Surroundings
from pathtrace.tracer.manifests.model import Found
from pathtrace.tracer.manifests.shell_nested import starting_state
from pathtrace.tracer.manifests.shell_search import Search
from pathtrace.tracer.manifests.shell_source import LARGEST, Source
from pathtrace.tracer.manifests.shell_state import Budget
from pathtrace.tracer.manifests.shell_walk import Walker

_NO_ENV: Mapping[str, str] = {}


def launches_in_shell(
    text: str,
    file: str,
    given: Mapping[str, str],
    *,
    first_line: int = 1,
    first_column: int = 1,
    env: Mapping[str, str] = _NO_ENV,
    marked: bool = False,
) -> list[Found]:
    """The launches in shell text, each as far as the text states it.

    Args:
        text: the script.
        file: its name, as it was given.
        given: variables that the caller states; the script finds them in its environment.
        first_line: the line of the file on which the text starts.
        first_column: the column of its first character.
        env: variables that are set where the script runs; values may have pieces that are not stated.
        marked: whether the text itself may have pieces that are not stated.

    Raises:
        BadInput: text that is binary, over 2 MB or no shell, and text that nests, grows or repeats too much.
    """
    if MARK in text and not (marked and text.count(MARK) % 2 == 0):
        raise BadInput("holds a NUL character, so it is binary; give a shell script", file)
    if "sglang" not in text and not any("sglang" in value for value in [*given.values(), *env.values()]):
        return []
    if len(text) > LARGEST:
        raise BadInput("is over 2 MB; give the part of it that starts the server", file)
    search = Search(file, given, Budget(file))
    around = Surroundings(env=dict(env))
    source = Source(text, file, first_line, first_column)
    walker = Walker(search, source, starting_state(given, around, {}), around)
    walker.read(source)
    return _named(search.found)


def _named(found: Sequence[Found]) -> list[Found]:
    """Launches with names that tell them apart."""
    if len(found) < 2:
        return list(found)
    names = [each.name or f"line {each.spot.line}" for each in found]
    counts, seen = Counter(names), Counter[str]()
    result: list[Found] = []
    for each, name in zip(found, names, strict=True):
        seen[name] += 1
        result.append(replace(each, name=name if counts[name] == 1 else f"{name} {seen[name]}"))
    return result
