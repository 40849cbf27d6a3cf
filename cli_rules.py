"""Rules on the command line: ``pathtrace rule``, ``rules``, ``config``, and what ``check`` does with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    pass


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

    # The words and variables of a launch that stands in a file hold sets.
    click.echo(json.dumps(asdict(find_project(Path.cwd())), indent=2, default=sorted))
