"""Workflow commands of GitHub Actions: an annotation at the line of each finding, and a count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from pathtrace.reports.locations import escaped
from pathtrace.reports.problems import Problem, problems_of, summary
from pathtrace.rules.registry import RULES
from pathtrace.tracer.project.check import Checked

_NAMES = {rule.code: rule.name for rule in RULES}


def write_github(checked: Sequence[Checked], stream: TextIO) -> None:
    """Write ``::error file=...,line=...,col=...,title=...::message`` for each finding, and the count."""
    stream.writelines(f"{_command(problem)}\n" for each in checked for problem in problems_of(each))
    stream.write(f"{summary(checked)}\n")


def _command(problem: Problem) -> str:
    properties: list[tuple[str, str | int | None]] = []
    if problem.site is not None:
        line = problem.site.line
        column = None if line is None else problem.site.column
        properties = [("file", escaped(problem.site.file)), ("line", line), ("col", column)]
    properties.append(("title", _title(problem)))
    listed = ",".join(f"{name}={escape_property(str(value))}" for name, value in properties if value is not None)
    return f"::error {listed}::{escape_message(problem.text)}"


def _title(problem: Problem) -> str:
    if problem.code is None:
        return "pathtrace"
    return f"{problem.code} {_NAMES.get(problem.code, '')}".rstrip()


def escape_message(text: str) -> str:
    """The text as the part after the second ``::``."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The text as the value of a property."""
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")
