"""``pathtrace run``: a server with the hook in it, stopped unless every rank confirms the hook."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathtrace.cli_hook_options import answer_options, asked_of, expect_option, hook_options, tree_of
from pathtrace.cli_options import LaunchCommand, expected_class, facts, launch_argument

if TYPE_CHECKING:
    from pathtrace.supervisor.run_request import RunRequest

RUN_EXAMPLE = "pathtrace run -- python -m sglang.launch_server --model-path DIR"


@click.command(cls=LaunchCommand, options_metavar="[OPTIONS]")
@hook_options
@expect_option
@click.option(
    "--confirm-timeout",
    metavar="S",
    type=click.FloatRange(0, min_open=True),
    default=1800.0,
    show_default=True,
    help="Seconds from the start within which every rank has to confirm.",
)
@click.option(
    "--on-unconfirmed",
    type=click.Choice(("stop", "warn")),
    default="stop",
    show_default=True,
    help="What to do with a server that is not confirmed.",
)
@click.option("--no-probe", is_flag=True, help="Send no request where --skip-server-warmup leaves a server without.")
@click.option("--log-file", metavar="FILE", type=click.Path(path_type=Path), help="Append the server's output to it.")
@click.option(
    "--ready-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write FILE once the server is confirmed; an earlier one is taken away before the server starts.",
)
@click.option(
    "--confirm-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder that all nodes see: each says in it how it stands, node 0 waits for all.",
)
@click.option(
    "--kill-after",
    metavar="S",
    type=click.FloatRange(0),
    default=15.0,
    show_default=True,
    help="Seconds that processes have to end before they are killed.",
)
@answer_options
@launch_argument("-- COMMAND...")
@click.pass_context
def run(ctx: click.Context, /, launch: tuple[str, ...], **options: Any) -> None:
    """Start a server with the hook in it, and stop it unless every rank confirms the hook.

    COMMAND is the server's command, run as it is; `K=V` words in front are set in its environment. Its output,
    signals and working directory are its own. Lines of pathtrace begin with `pathtrace: `, on standard error.

    \b
    Exit status: the server's own; 128 and the signal that it died of;
    97   it was not confirmed
    98   pathtrace itself failed
    126  the command cannot be run
    127  there is no such command
    """
    from pathtrace.supervisor.run_request import OWN_FAILURE
    from pathtrace.supervisor.supervise import supervise

    wanted = expected_class(options["expect"])
    assumed = facts(options["assume"])
    if not launch or launch[0].startswith("-"):
        raise click.UsageError(f"give the whole command that starts the server: {RUN_EXAMPLE}", ctx)
    request = _run_request(launch, wanted, assumed, options)
    try:
        status = supervise(request)
    except OSError as problem:
        place = "" if problem.filename is None else f"{problem.filename}: "
        click.echo(f"pathtrace: error: {place}{problem.strerror or problem}", err=True)
        status = OWN_FAILURE
    # The one place that may: whoever started this must not take a fault of pathtrace for one of the server.
    except Exception as problem:
        if os.environ.get("PATHTRACE_DEBUG") == "1":
            raise
        click.echo(f"pathtrace: error: a fault of pathtrace: {type(problem).__name__}: {problem}", err=True)
        status = OWN_FAILURE
    ctx.exit(status)


def _run_request(
    launch: tuple[str, ...], wanted: str | None, assumed: Mapping[str, str], options: Mapping[str, Any]
) -> RunRequest:
    from pathtrace.supervisor.command import read_command
    from pathtrace.supervisor.confirm_dir import ConfirmFolder
    from pathtrace.supervisor.environment import injected
    from pathtrace.supervisor.reach import signs_in_command
    from pathtrace.supervisor.run_request import RunRequest, StaticAnswerProcess
    from pathtrace.supervisor.shape import shape_of
    from pathtrace.supervisor.verdict import Assertion
    from pathtrace.supervisor.watch import Watch

    command = read_command(launch)
    if not command.words:
        raise click.UsageError(f"there is no command behind the variables: {RUN_EXAMPLE}")
    own = {**os.environ, **command.settings}
    token = os.urandom(6).hex()
    shape = shape_of(command.words)
    folder = options["confirm_dir"]
    beside = None
    if not options["no_static_answer"]:
        beside = StaticAnswerProcess(_beside(launch, own, assumed, options), own)
    return RunRequest(
        words=command.words,
        environ=injected(replace(asked_of(options), run=token), own),
        watch=Watch(
            Assertion(shape, worker=wanted, run=token),
            timeout_s=options["confirm_timeout"],
            folder=None if folder is None else ConfirmFolder(folder, shape.node_rank, shape.nnodes, token),
        ),
        token=token,
        on_unconfirmed=options["on_unconfirmed"],
        log_file=options["log_file"],
        ready_file=options["ready_file"],
        probe=not options["no_probe"],
        kill_after_s=options["kill_after"],
        static_answer=beside,
        remarks=tuple(sign.text for sign in signs_in_command(command.words, own)),
    )


def _beside(
    launch: tuple[str, ...], environ: Mapping[str, str], assumed: Mapping[str, str], options: Mapping[str, Any]
) -> tuple[str, ...]:
    """The command of the process that makes the static answer: this interpreter, with this one's search path."""
    tree, python = tree_of(launch, environ, options)
    given = {"tree": tree, "python": python, "assume": dict(assumed)}
    given |= {name: options[name] for name in ("model_config", "draft_config")}
    # -I: what the server's variables say to Python is said to the server's, not to this one.
    code = f"import sys; sys.path[:] = {sys.path!r}; from pathtrace.cli_prediction import main; main(sys.argv[1:])"
    return (sys.executable, "-I", "-c", code, json.dumps(given), *launch)
