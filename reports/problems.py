"""Everything for which a check exits with 1, one by one: findings, and outcomes that no finding tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pathtrace.reports.document import printable
from pathtrace.reports.locations import path_beside, shown_path, site_text, tree_path, user_site, written_at
from pathtrace.reports.phrases import result_of
from pathtrace.reports.text_report import headline
from pathtrace.rules.launch_refused import LaunchRefused
from pathtrace.rules.unexpected_worker import UnexpectedWorker
from pathtrace.rules.worker_undecided import WorkerUndecided
from pathtrace.tracer.answer import Answer, Finding, Site
from pathtrace.tracer.project.check import Checked

_TELL_AN_OUTCOME = {LaunchRefused.code, UnexpectedWorker.code, WorkerUndecided.code}


@dataclass(frozen=True)
class Problem:
    """A finding, or an outcome that no finding tells: its rule was not asked for.

    Attributes:
        code: the rule's; None for an outcome.
        message: one line.
        deployment: its name, on one line; empty where it has none.
        site: the line to look at, its file as ``shown_path``; None where there is none.
        place: the line of the tree, in words; empty where there is none.
    """

    code: str | None
    message: str
    deployment: str
    site: Site | None
    place: str = ""

    @property
    def text(self) -> str:
        """The message with the deployment that it is about."""
        if not self.deployment:
            return self.message
        return f"{self.deployment} {self.message}" if self.code is None else f"{self.message} [{self.deployment}]"

    @property
    def line(self) -> str:
        """``deploy.yaml:12:7: PT101 message [production]``, without what is not known."""
        parts = ["" if self.site is None else f"{site_text(self.site)}:", self.code or "", self.text]
        return " ".join(part for part in parts if part)


def problems_of(checked: Checked) -> tuple[Problem, ...]:
    """What is wrong with a deployment, the outcome first."""
    untold = untold_outcome(checked)
    outcome = () if untold is None else (Problem(None, untold, printable(checked.name), _shown(written_at(checked))),)
    return (*outcome, *(_found(finding, checked) for finding in checked.answer.findings))


def untold_outcome(checked: Checked) -> str | None:
    """``refused: ValueError: ...``, unless a finding says so, or what is wrong is accepted."""
    if any(finding.code in _TELL_AN_OUTCOME for finding in checked.answer.findings):
        return None
    return next((text for code, text in _bad_outcomes(checked.answer) if code not in checked.accepted), None)


def _bad_outcomes(answer: Answer) -> Iterator[tuple[str, str]]:
    """What is wrong with the answer itself, each with the rule that it is the matter of."""
    if answer.outcome == "refused":
        yield LaunchRefused.code, headline(answer)
    if answer.outcome == "undecided":
        yield WorkerUndecided.code, headline(answer)
    if answer.expect is not None and not answer.expect.met:
        yield UnexpectedWorker.code, f"unexpected: {result_of(answer)}; {printable(answer.expect.wanted)} is expected"


def summary(checked: Sequence[Checked]) -> str:
    """``Found 2 findings.``, or that all is clean; and what was let pass."""
    every = [problem for each in checked for problem in problems_of(each)]
    found = sum(problem.code is not None for problem in every)
    untold = len(every) - found
    known = sum(each.known for each in checked)
    passed = f"; {counted(known, 'known finding')} let pass" if known else ""
    if not every:
        clean = "1 deployment is clean" if len(checked) == 1 else f"All {len(checked)} deployments are clean"
        return f"{clean}{passed}."
    rest = f", and {counted(untold, 'deployment')} refused, undecided or not as expected" if untold else ""
    return f"Found {counted(found, 'finding')}{rest}{passed}."


def counted(count: int, noun: str) -> str:
    """``1 finding``, ``2 findings``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _found(finding: Finding, checked: Checked) -> Problem:
    site, place, tree = _shown(user_site(finding, checked)), "", checked.tree.info
    if finding.place is not None and finding.place.file:
        place = site_text(Site(path_beside(finding.place, tree), finding.place.line))
        site = site or Site(tree_path(finding.place, tree), finding.place.line)
    return Problem(printable(finding.code), printable(finding.message), printable(checked.name), site, place)


def _shown(site: Site | None) -> Site | None:
    return None if site is None else replace(site, file=shown_path(site.file))
