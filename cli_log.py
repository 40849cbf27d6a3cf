"""``pathtrace log``: on a saved log the assertions that ``run`` makes on a running server."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from pathtrace.cli_hook_options import answer_options, expect_option, tree_of
from pathtrace.cli_options import LaunchCommand, expected_class, facts, format_option, inherited, launch_argument
from pathtrace.tracer.errors import BadInput

if TYPE_CHECKING:
    from pathtrace.cli_prediction import PredictionRequest
    from pathtrace.instrument.assertion import Standing
    from pathtrace.supervisor.saved_log import LastRun
    from pathtrace.supervisor.static_answer import StaticAnswer


class LogCommand(LaunchCommand):
    """A command that takes one file before ``--``, and a launch after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tell the file from the launch."""
        separated = "--" in args
        own = args[: args.index("--")] if separated else list(args)
        files = self.own_words(ctx, own, separated)
        rest = click.Command.parse_args(self, ctx, args)
        if len(files) != 1 and not ctx.resilient_parsing:
            raise click.UsageError("give one log: pathtrace log FILE [-- LAUNCH...]; - is standard input", ctx)
        words = ctx.params.get("launch", ())
        ctx.params["file"], ctx.params["launch"] = "".join(words[:1]), words[1:]
        return rest


@click.command(cls=LogCommand, options_metavar="[OPTIONS]")
@expect_option
@click.option("--ranks", metavar="N", type=click.IntRange(1), help="How many ranks build a worker, without a LAUNCH.")
@click.option(
    "--wait", "wait_s", metavar="S", type=click.FloatRange(0), help="Keep reading a growing log for so many seconds."
)
@answer_options
@click.option("--env", metavar="K=V", multiple=True, help="A variable of the server; repeatable.")
@click.option("--env-file", type=click.Path(exists=True, dir_okay=False), help="A file of K=V lines.")
@click.option("--inherit-env", is_flag=True, help="Let the server see this shell's environment.")
@format_option("text", "json")
@launch_argument("FILE [-- LAUNCH...]")
@click.pass_context
def log(ctx: click.Context, /, file: str, launch: tuple[str, ...], **options: Any) -> None:
    """Assert on a saved log what `run` asserts on a running server.

    FILE is plain or gzip, or - for standard input; of several runs in it the last one counts. With a LAUNCH its
    ranks and its static answer are held against what the processes said.

    Exit status: 0 all confirmed, 1 not, 2 the log cannot be read.
    """
    from pathtrace.supervisor.saved_log import LastRun, UnreadableLog

    wanted = expected_class(options["expect"])
    judge = _log_judge(launch, wanted, options)
    last = LastRun()
    try:
        standing = _read(file, last, judge, options["wait_s"])
    except UnreadableLog as problem:
        raise BadInput(str(problem), file) from None
    _write_standing(standing, last, bool(launch) or options["ranks"] is not None, options)
    ctx.exit(0 if standing.state == "confirmed" else 1)


def _log_judge(
    launch: tuple[str, ...], wanted: str | None, options: Mapping[str, Any]
) -> Callable[[LastRun], Standing]:
    if not launch:
        from pathtrace.supervisor.seen_ranks import SeenRanks

        seen = SeenRanks(wanted, options["ranks"])
        return lambda last: seen.judge(last.lines)
    if options["ranks"] is not None:
        raise click.UsageError("--ranks is for a log without a launch: the launch says how many there are")
    from pathtrace.supervisor.command import read_command
    from pathtrace.supervisor.shape import shape_of
    from pathtrace.supervisor.verdict import Assertion

    shape = shape_of(read_command(launch).words)
    answer = None if options["no_static_answer"] else _static_answer(launch, options)
    if answer is not None:
        shape = shape.resolved(answer.resolved)
    # A log of several nodes may hold all of them: it is read as that of the node that the launch names.
    assertion = Assertion(shape, answer, wanted)
    return lambda last: assertion.judge(list(last.lines))


def _static_answer(launch: tuple[str, ...], options: Mapping[str, Any]) -> StaticAnswer:
    from pathtrace.cli_prediction import predict
    from pathtrace.supervisor.static_answer import StaticAnswer, read_static_answer

    try:
        said = predict(_prediction_request(launch, options), inherited(options["inherit_env"]))
    except BadInput as problem:
        click.echo(f"pathtrace: no static answer: {problem}; asserting only what the processes said", err=True)
        return StaticAnswer("unknown", str(problem))
    return read_static_answer(json.dumps(said).encode())


def _prediction_request(launch: tuple[str, ...], options: Mapping[str, Any]) -> PredictionRequest:
    from pathtrace.cli_prediction import PredictionRequest

    tree, python = tree_of(launch, os.environ, options)
    return PredictionRequest(
        launch,
        tree,
        python,
        options["model_config"],
        options["draft_config"],
        facts(options["assume"]),
        options["env"],
        options["env_file"],
    )


def _read(path: str, last: LastRun, judge: Callable[[LastRun], Standing], wait_s: float | None) -> Standing:
    from pathtrace.supervisor.saved_log import follow_log, follow_stream, read_log

    if wait_s is None:
        read_log(path, last)
        return judge(last)
    until = time.monotonic() + wait_s
    heard: tuple[str | None, int] = (None, 0)
    standing = judge(last)
    news = follow_stream(sys.stdin.fileno(), last, until) if path == "-" else follow_log(path, last, until)
    for _ in news:
        if (last.run, len(last.lines)) != heard:
            heard, standing = (last.run, len(last.lines)), judge(last)
        if standing.state != "waiting":
            break
    return standing


def _write_standing(standing: Standing, last: LastRun, is_counted: bool, options: Mapping[str, Any]) -> None:
    from pathtrace.supervisor.verdict import confirmed_sentence

    lines = list(last.lines)
    is_confirmed = standing.state == "confirmed"
    sentence = confirmed_sentence(standing, lines) if is_confirmed else None
    if options["output_format"] == "json":
        ranks = [{"dp": r.data, "pp": r.pipeline, "tp": r.tensor} for r in sorted(standing.confirmed)]
        report = {"confirmed": is_confirmed, "sentence": sentence, "reasons": list(standing.reasons), "ranks": ranks}
        click.echo(json.dumps({**report, "run": last.run}, indent=2))
        return
    if sentence is not None:
        click.echo(sentence)
        if not is_counted:
            click.echo("how many ranks there are is not known: give --ranks N or the launch to have them counted")
        return
    for reason in standing.reasons:
        click.echo(f"not confirmed: {reason}")
