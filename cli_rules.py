"""Rules on the command line: ``pathtrace rule``, ``rules``, ``config``, and what ``check`` does with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathtrace.cli_options import chosen_rules

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer


def checked_project(
    change: tuple[tuple[str, ...], str | None, bool],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    output_format: str,
    output_file: str | None,
    cache: bool,
) -> int:
    """Check the deployments that the project here lists; the worst exit code of them."""
    from pathtrace.reports.output import report_stream
    from pathtrace.reports.project_report import render_project
    from pathtrace.rules.deployments import with_findings as judged_deployments
    from pathtrace.tracer.project.check import check_project
    from pathtrace.tracer.project.find import find_project

    project = find_project(Path.cwd())
    rules = chosen_rules(select or project.select, (*project.ignore, *ignore), True)
    with report_stream(output_file) as stream:
        checked = list(judged_deployments(list(check_project(project, cache=cache)), rules, *change))
        render_project(checked, output_format, stream)
    return max(each.answer.exit_code for each in checked)


def with_findings(
    answer: Answer, rules: Sequence[Any], tree: Any, change: tuple[tuple[str, ...], str | None, bool] | None
) -> Answer:
    from dataclasses import replace

    from pathtrace.rules.registry import findings
    from pathtrace.rules.subject import subject_of
    from pathtrace.tracer.change.given import given_change, judged

    changes = () if change is None else judged(tree, given_change(tree, *change), answer)
    return replace(answer, findings=findings(rules, subject_of(tree, answer, changes, rules)))


@click.command()
@click.argument("code", metavar="RULE")
def rule(code: str) -> None:
    """Show what a rule does, why, and what to do instead. RULE is a code or a name."""
    from pathtrace.rules.registry import rule_named

    found = rule_named(code)
    click.echo(f"# {found.code} {found.name}\n\n{found.documentation()}")


@click.command()
def rules() -> None:
    """List the rules."""
    from pathtrace.rules.registry import RULES

    for each in RULES:
        click.echo(f"{each.code}  {each.name}")


@click.group()
def config() -> None:
    """What the project's own configuration says."""


@config.command()
def show() -> None:
    """Show the deployments of [tool.pathtrace] as pathtrace reads them."""
    import json
    from dataclasses import asdict

    from pathtrace.tracer.project.find import find_project

    click.echo(json.dumps(asdict(find_project(Path.cwd())), indent=2))
