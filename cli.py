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
from click.core import ParameterSource

from pathtrace import __version__
from pathtrace.cli_handoff import handoff
from pathtrace.cli_options import (
    EXAMPLE,
    LaunchCommand,
    TreesCommand,
    cache_option,
    change_options,
    chosen_rules,
    config_options,
    expected_class,
    facts,
    format_option,
    inherited,
    launch_argument,
    rule_options,
    shared_options,
    tree_option,
)
from pathtrace.cli_rules import checked_project, config, rule, rules, with_findings
from pathtrace.tracer.errors import BadInput

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer

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


# Options that speak of one launch: a project says them of each deployment.
_OF_A_LAUNCH = (
    "tree", "env", "env_file", "inherit_env", "assume", "model_config", "draft_config", "expect", "python",
)  # fmt: skip


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
@click.option("--expect", metavar="CLASS", help="Exit 1 unless this class is the answer.")
@change_options
@rule_options
@format_option("text", "json")
@cache_option
@launch_argument
@click.pass_context
def check(
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
    expect: str | None,
    patch: tuple[str, ...],
    diff: str | None,
    staged: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    output_format: str,
    no_cache: bool,
    launch: tuple[str, ...],
) -> None:
    """Say which worker class one launch loads, the chain that leads there, and what would change it.

    LAUNCH is the command as you would type it: `python -m sglang.launch_server ...`, `sglang serve
    ...`, with variables in front, or flags only. With --patch, --diff or --staged, a changed function
    that this launch never runs is a finding (rule PT101); `--select ALL` asks for every rule. Without a
    launch, the deployments of [tool.pathtrace] in pyproject.toml are checked, with every rule.
    """
    if not launch:
        own = [name for name in _OF_A_LAUNCH if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
        if own:
            flags = ", ".join(f"--{name.replace('tree', 'sglang').replace('_', '-')}" for name in own)
            raise click.UsageError(f"there is no launch for {flags}; put it after `--`: {EXAMPLE}", ctx)
        ctx.exit(checked_project((patch, diff, staged), select, ignore, output_format, output_file, not no_cache))
    assumed = facts(assume)
    wanted = expected_class(expect)
    changed = bool(patch) or diff is not None or staged
    asked = chosen_rules(select, ignore, changed)
    from pathtrace.reports.output import report_stream
    from pathtrace.tracer.check import CheckRequest
    from pathtrace.tracer.check import check as answer_for
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.parse import parse_launch
    from pathtrace.tracer.tree.open import open_tree

    parsed = parse_launch(launch)
    with report_stream(output_file) as stream:
        opened = open_tree(tree, python=python)
        answer = answer_for(
            CheckRequest(
                tree=opened,
                python=python,
                launch=parsed,
                environment=merge_environment(parsed, env, env_file, inherited(inherit_env)),
                model_config=model_config,
                draft_config=draft_config,
                assume=assumed,
                expect=wanted,
                changes=True,
                shell=None if inherit_env else dict(os.environ),
                cache=not no_cache,
            )
        )
        if asked:
            answer = with_findings(answer, asked, opened, (patch, diff, staged) if changed else None)
        _write_answer(answer, output_format, stream)
    ctx.exit(answer.exit_code)


def _write_answer(answer: Answer, output_format: str, stream: Any) -> None:
    if output_format == "json":
        from pathtrace.reports.json_report import write_json

        write_json(answer, stream)
        return
    from pathtrace.reports.text_report import render_text

    render_text(answer, stream)


@cli.command(cls=LaunchCommand, options_metavar="[OPTIONS]")
@tree_option()
@shared_options
@config_options
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Most evaluations.")
@format_option("text", "json", "markdown")
@launch_argument
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


for each in (handoff, rule, rules, config):
    cli.add_command(each)


def main() -> None:
    """The entry point of the console script."""
    cli(prog_name="pathtrace")
