"""The command line: one command for each question. Thin: it reads options, calls, and renders.

Standard output carries the report and nothing else. Exit codes: 0 decided and as expected, 1 refused,
undecided or not as expected, 2 the tool could not run.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathtrace import __version__
from pathtrace.cli_check import check
from pathtrace.cli_doctor import doctor
from pathtrace.cli_env import env
from pathtrace.cli_handoff import handoff
from pathtrace.cli_log import log
from pathtrace.cli_options import (
    LaunchCommand,
    TreesCommand,
    cache_option,
    config_options,
    facts,
    format_option,
    inherited,
    launch_argument,
    shared_options,
    tree_option,
)
from pathtrace.cli_rules import config, rule, rules
from pathtrace.cli_run import run
from pathtrace.tracer.errors import BadInput

if TYPE_CHECKING:
    pass

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


class Boundary(click.Group):
    """The group, and the one place where exceptions become exit codes and sentences."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Nothing leaves here as a traceback."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BadInput as error:
            _complain(str(error))
            ctx.exit(BAD_INPUT)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _abandon_stdout()
            ctx.exit(BROKEN_PIPE)
        except Exception as error:
            _report_crash(error)
            ctx.exit(BAD_INPUT)


def _complain(sentence: str) -> None:
    click.echo(f"pathtrace: error: {' '.join(sentence.split())}", err=True)


def _report_crash(error: Exception) -> None:
    from pathtrace.tracer.sweep import crash_sentence

    if os.environ.get("PATHTRACE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    _complain(crash_sentence(error))


def _abandon_stdout() -> None:
    """Nobody reads any more: the flush at exit must not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Boundary, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pathtrace")
def cli() -> None:
    """Which speculative worker will an SGLang launch load, and why.

    Reads the SGLang source tree that will be deployed; imports and runs nothing of it.
    """


@cli.command(cls=LaunchCommand, options_metavar="[OPTIONS]")
@tree_option()
@shared_options
@config_options
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Most evaluations.")
@format_option("text", "json", "markdown")
@launch_argument()
def table(
    tree: str,
    python: str | None,
    env: tuple[str, ...],
    env_file: Path | None,
    inherit_env: bool,
    assume: tuple[str, ...],
    output_file: str | None,
    model_config: str | None,
    draft_config: str | None,
    limit: int,
    output_format: str,
    launch: tuple[str, ...],
) -> None:
    """Print a tree's truth table: every algorithm with every input that matters to the choice.

    A LAUNCH is optional: every row then starts from it.
    """
    assumed = facts(assume)
    from pathtrace.reports.output import report_stream
    from pathtrace.reports.table_report import render_table
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.model import Launch
    from pathtrace.tracer.launch.parse import parse_launch
    from pathtrace.tracer.table import truth_table
    from pathtrace.tracer.table_model import TableRequest
    from pathtrace.tracer.tree.open import open_tree

    parsed = parse_launch(launch) if launch else Launch(entry="bare")
    with report_stream(output_file) as stream:
        request = TableRequest(
            tree=open_tree(tree, python=python),
            python=python,
            environment=merge_environment(parsed, env, env_file, inherited(inherit_env)),
            model_config=model_config,
            draft_config=draft_config,
            assume=assumed,
            launch=launch,
            limit=limit,
        )
        render_table(truth_table(request), output_format, stream)


@cli.command(cls=TreesCommand)
@tree_option(several=True)
@click.option(
    "--launches",
    metavar="FILE",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='JSON lines: {"id", "args": [...], "env": {...}, "model_config", "draft_config"}.',
)
@click.option("--jobs", metavar="N", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--changes", is_flag=True, help="Search for what would change each answer, too.")
@shared_options
@cache_option
@click.pass_context
def sweep(
    ctx: click.Context,
    /,
    trees: tuple[str, ...],
    launches: Path,
    jobs: int,
    changes: bool,
    python: str | None,
    env: tuple[str, ...],
    env_file: Path | None,
    inherit_env: bool,
    assume: tuple[str, ...],
    output_file: str | None,
    no_cache: bool,
) -> None:
    """Check many launches on one or more trees: one JSON line for each launch on each tree.

    In `args`, {model} and {draft} stand for the folder of the given config, and that folder is the
    model path where `args` name none. A launch that cannot be checked gives a line with `error`, and
    exit code 2 at the end.
    """
    assumed = facts(assume)
    from pathtrace.reports.output import report_stream
    from pathtrace.reports.sweep_report import sweep_line
    from pathtrace.tracer.launches_file import read_launches
    from pathtrace.tracer.sweep import SweepSettings
    from pathtrace.tracer.sweep import sweep as results_of

    settings = SweepSettings(
        trees=trees,
        python=python,
        env=env,
        env_file=env_file,
        inherited=inherited(inherit_env),
        shell=None if inherit_env else dict(os.environ),
        assume=assumed,
        changes=changes,
        cache=not no_cache,
    )
    worst = 0
    lines = read_launches(launches)
    with report_stream(output_file) as stream:
        for result in results_of(lines, settings, jobs):
            stream.write(sweep_line(result, changes=changes) + "\n")
            stream.flush()
            worst = max(worst, BAD_INPUT if result.answer is None else result.answer.exit_code)
    ctx.exit(worst)


for each in (check, handoff, rule, rules, config, run, env, log, doctor):
    cli.add_command(each)


def main() -> None:
    """The entry point of the console script."""
    cli(prog_name="pathtrace")
