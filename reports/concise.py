"""Concise: a line for each finding, as compilers and linters write them, and a count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from pathtrace.reports.problems import problems_of, summary
from pathtrace.tracer.project.check import Checked


def write_concise(checked: Sequence[Checked], stream: TextIO) -> None:
    """Write ``path:line:column: PT101 message [deployment]`` for each finding, and the count."""
    stream.writelines(f"{problem.line}\n" for each in checked for problem in problems_of(each))
    stream.write(f"{summary(checked)}\n")
