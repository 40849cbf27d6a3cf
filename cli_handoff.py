"""``pathtrace handoff``."""

from __future__ import annotations

from pathlib import Path

import click

from pathtrace.cli_options import (
    EXAMPLE,
    LaunchCommand,
    cache_option,
    config_options,
    facts,
    format_option,
    inherited,
    launch_argument,
    shared_options,
    tree_option,
)


@click.command(cls=LaunchCommand, options_metavar="[OPTIONS]")
@tree_option()
@shared_options
@config_options
@click.option("--worker", metavar="CLASS", help="This worker class, instead of the one that a launch loads.")
@click.option(
    "--field", metavar="NAME", default="next_draft_input", show_default=True, help="The field that carries it."
)
@format_option("text", "json", "dot", "mermaid")
@cache_option
@launch_argument()
@click.pass_context
def handoff(
    ctx: click.Context,
    /,
    tree: str,
    python: str | None,
    env: tuple[str, ...],
    env_file: Path | None,
    inherit_env: bool,
    assume: tuple[str, ...],
    output_file: str | None,
    model_config: str | None,
    draft_config: str | None,
    worker: str | None,
    field: str,
    output_format: str,
    no_cache: bool,
    launch: tuple[str, ...],
) -> None:
    """Say where a worker makes, fills, stores and reads what one speculative step hands to the next.

    The worker is the one that LAUNCH loads, or --worker CLASS. Exit code 1: the launch loads none.
    """
    if bool(launch) is (worker is not None):
        raise click.UsageError(f"give a launch or --worker CLASS: {EXAMPLE.replace('check', 'handoff')}", ctx)
    assumed = facts(assume)
    from pathtrace.reports.handoff_report import render_handoff
    from pathtrace.reports.output import report_stream
    from pathtrace.tracer.handoff.find import find_handoff, worker_class
    from pathtrace.tracer.tree.open import open_tree

    opened = open_tree(tree, python=python)
    if worker is not None:
        module, name = worker_class(opened, worker)
    else:
        from pathtrace.reports.text_report import headline
        from pathtrace.tracer.check import CheckRequest
        from pathtrace.tracer.check import check as answer_for
        from pathtrace.tracer.launch.environment import merge_environment
        from pathtrace.tracer.launch.parse import parse_launch

        parsed = parse_launch(launch)
        answer = answer_for(
            CheckRequest(
                tree=opened,
                launch=parsed,
                environment=merge_environment(parsed, env, env_file, inherited(inherit_env)),
                model_config=model_config,
                draft_config=draft_config,
                assume=assumed,
                changes=False,
                cache=not no_cache,
                python=python,
            )
        )
        if answer.worker is None:
            click.echo(f"pathtrace: this launch loads no one worker: {headline(answer)}", err=True)
            ctx.exit(1)
        module, name = answer.worker.module, answer.worker.cls
    found = find_handoff(opened, module, name, field)
    with report_stream(output_file) as stream:
        render_handoff(found, output_format, stream)
