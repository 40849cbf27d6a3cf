"""``pathtrace env``: the hook for a server that is started without a supervisor."""

from __future__ import annotations

import os
from typing import Any

import click

from pathtrace.cli_hook_options import asked_of, hook_options


@click.command(options_metavar="[OPTIONS]")
@hook_options
@click.option("--shell", type=click.Choice(("sh", "fish")), default="sh", show_default=True, help="Who reads it.")
def env(shell: str, **options: Any) -> None:
    """Print the variables that bring the hook into a server started without `pathtrace run`.

    \b
    eval "$(pathtrace env)"                     in sh, bash, zsh
    pathtrace env --shell fish | source         in fish
    python -m sglang.launch_server ...
    """
    from pathtrace.supervisor.environment import shell_text

    click.echo(shell_text(asked_of(options), os.environ, shell), nl=False)
