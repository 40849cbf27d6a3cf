"""JUnit XML: a test case for each deployment, which fails where something is wrong with it.

A failed case has one ``failure`` with every finding in it, not one for each: many readers show only the first, and
none counts more failures than tests.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TextIO
from xml.etree import ElementTree

from junitparser import Failure, JUnitXml, TestCase, TestSuite

from pathtrace.reports.document import printable
from pathtrace.reports.locations import escaped, shown_path, written_at
from pathtrace.reports.problems import Problem, problems_of
from pathtrace.tracer.project.check import Checked

TYPED = "command line"
UNNAMED = "launch"


def write_junit(checked: Sequence[Checked], stream: TextIO) -> None:
    """Write one test suite. ASCII only, so that the declared encoding holds in every stream."""
    suite = TestSuite("pathtrace")
    suite.add_testcases([_case(each) for each in checked])
    report = JUnitXml()
    report.add_testsuite(suite)
    written = io.BytesIO()
    report.write(written)
    root = ElementTree.fromstring(written.getvalue())
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="us-ascii").decode("ascii")
    stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n')


def _case(checked: Checked) -> TestCase:
    site = written_at(checked)
    file = TYPED if site is None else escaped(shown_path(site.file))
    case = TestCase(printable(checked.name) or UNNAMED, file)
    problems = problems_of(checked)
    if problems:
        case.result = [_failure(problems)]
    return case


def _failure(problems: Sequence[Problem]) -> Failure:
    first, *rest = problems
    more = f" (and {len(rest)} more)" if rest else ""
    lead = "" if first.code is None else f"{first.code} "
    failure = Failure(f"{lead}{first.message}{more}", first.code or "outcome")
    failure.text = "\n".join(line for each in problems for line in _lines(each))
    return failure


def _lines(problem: Problem) -> list[str]:
    return [problem.line, f"  shown by {problem.place}"] if problem.place else [problem.line]
