"""Braces: ``--gpus={0,1}`` -> two words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from pathtrace.tracer.manifests.shell_words import Literal, Part, Unstated, Word

_MOST_BRACES = 20
_MOST_WORDS = 1000
_RANGE = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})|([a-zA-Z])\.\.([a-zA-Z])")
_Token = str | Part


def spread_braces(word: Word) -> list[Word]:
    """The words that a word with braces stands for; the word itself where it has none."""
    shape = "".join(part.text for part in word if isinstance(part, Literal) and part.bare)
    if "{" not in shape or "}" not in shape or not ("," in shape or ".." in shape):
        return [word]
    tokens: list[_Token] = []
    for part in word:
        tokens += part.text if isinstance(part, Literal) and part.bare else [part]
    words = _spread(tokens) if shape.count("{") <= _MOST_BRACES else None
    if words is None:
        return [(Unstated(shape[:60], quoted=False),)]
    return [_parts(each) for each in words]


def _spread(tokens: Sequence[_Token]) -> list[list[_Token]] | None:
    for start, token in enumerate(tokens):
        if token != "{":
            continue
        group = _group(tokens, start)
        if group is None:
            continue
        choices, end = group
        front = list(tokens[:start])
        rest = _spread(tokens[end:])
        inner: list[list[_Token]] = []
        for choice in choices:
            spread = _spread(choice)
            if spread is None or rest is None or len(inner) + len(spread) > _MOST_WORDS:
                return None
            inner += spread
        if rest is None or len(inner) * len(rest) > _MOST_WORDS:
            return None
        return [[*front, *middle, *tail] for middle in inner for tail in rest]
    return [list(tokens)]


def _group(tokens: Sequence[_Token], start: int) -> tuple[list[list[_Token]], int] | None:
    depth, cuts = 0, [start]
    for position in range(start, len(tokens)):
        token = tokens[position]
        if token == "{":
            depth += 1
        elif token == "," and depth == 1:
            cuts.append(position)
        elif token == "}":
            depth -= 1
            if depth == 0:
                cuts.append(position)
                break
    if depth or len(cuts) < 2:
        return None
    end = cuts[-1] + 1
    if len(cuts) > 2:
        return [list(tokens[a + 1 : b]) for a, b in zip(cuts, cuts[1:], strict=False)], end
    inside = tokens[start + 1 : end - 1]
    if not all(isinstance(each, str) for each in inside):
        return None
    match = _RANGE.fullmatch("".join(each for each in inside if isinstance(each, str)))
    if match is None:
        return None
    numbers = match.group(1) is not None
    first, last = (int(each) if numbers else ord(each) for each in match.groups() if each is not None)
    if abs(last - first) >= _MOST_WORDS or (numbers and re.search(r"(?:^|\.|-)0[0-9]", match.group())):
        return None
    step = 1 if last >= first else -1
    return [list(str(each) if numbers else chr(each)) for each in range(first, last + step, step)], end


def _parts(tokens: Sequence[_Token]) -> Word:
    parts: list[Part] = []
    for plain, group in groupby(tokens, key=lambda token: isinstance(token, str)):
        if plain:
            parts.append(Literal("".join(each for each in group if isinstance(each, str)), bare=True))
        else:
            parts += [each for each in group if not isinstance(each, str)]
    return tuple(parts)
