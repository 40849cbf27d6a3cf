"""``pathtrace doctor``: whether the hook would reach a server, through which carrier, and what keeps it away."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from pathtrace.cli_hook_options import asked_of, hook_options
from pathtrace.cli_options import LaunchCommand, format_option, launch_argument


@click.command(cls=LaunchCommand, options_metavar="[OPTIONS]")
@hook_options
@format_option("text", "json")
@launch_argument("[-- LAUNCH...]")
@click.pass_context
def doctor(ctx: click.Context, /, launch: tuple[str, ...], output_format: str, **options: Any) -> None:
    """Say what would be brought into a server, through which carrier, and what keeps it away.

    The interpreter that LAUNCH starts (without one: `python`) is started with the hook, and asked what came of it.
    Nothing of SGLang is run. Exit status: 0 all well, 1 something fails.
    """
    from pathtrace.supervisor.command import read_command
    from pathtrace.supervisor.environment import injected, variables
    from pathtrace.supervisor.reach import look

    command = read_command(launch or ("python",))
    if not command.words:
        raise click.UsageError("there is no command behind the variables", ctx)
    own = {**os.environ, **command.settings}
    asked = asked_of(options)
    changes = variables(asked, own, keeps=True)
    signs = look(command.words, injected(asked, own))
    if output_format == "json":
        found = [{"level": sign.level, "text": sign.text} for sign in signs]
        click.echo(json.dumps({"variables": changes, "signs": found}, indent=2))
    else:
        for name, value in changes.items():
            click.echo(f"sets   {name}={value}" if value is not None else f"unsets {name}")
        for sign in signs:
            click.echo(f"{sign.level:<6} {sign.text}")
    ctx.exit(1 if any(sign.level == "fails" for sign in signs) else 0)
