"""Options of the runtime layer that several commands share: what the hook is asked for, and the static answer."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from pathtrace.cli_options import Function, config_options, tree_option

if TYPE_CHECKING:
    from pathtrace.supervisor.environment import Asked

_THRESHOLD_HELP = "Turn speculation off while more requests than this run together."


def _hysteresis(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """``SHARE:STEPS``, in the words in which the hook reads it."""
    from pathtrace.instrument.settings import HYSTERESIS, read_settings

    if text is not None and (not text.strip() or read_settings({HYSTERESIS: text}).problems):
        raise click.BadParameter(
            f"{text!r} is not SHARE:STEPS with a share from 0 to 1 and a number of steps: 0.8:8", ctx, param
        )
    return None if text is None else text.strip()


def hook_options(function: Function) -> Function:
    """What the hook is asked for."""
    options = (
        click.option(
            "--speculative-disable-batch-threshold",
            "threshold",
            metavar="N",
            type=click.IntRange(0, 10**18 - 1),
            help=_THRESHOLD_HELP,
        ),
        click.option(
            "--hysteresis",
            metavar="SHARE:STEPS",
            callback=_hysteresis,
            help="Turn it on again after STEPS steps at or below SHARE of the threshold.  [default: 0.8:8]",
        ),
        click.option(
            "--draft-state",
            type=click.Choice(("warm", "cold")),
            help="Whether the draft is shown what was decoded without it.  [default: warm]",
        ),
        click.option("--no-off-graphs", is_flag=True, help="Capture no decode graphs for steps without speculation."),
        click.option("--metrics-file", metavar="FILE", help="Write Prometheus text there, one file for each rank."),
        click.option(
            "--metrics-port",
            metavar="PORT",
            type=click.IntRange(1, 65535),
            help="Serve Prometheus text, each rank on the next free port from there.",
        ),
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


def asked_of(options: Mapping[str, Any]) -> Asked:
    """What the options of ``hook_options`` ask for."""
    from pathtrace.supervisor.environment import Asked

    return Asked(
        threshold=options["threshold"],
        hysteresis=options["hysteresis"],
        draft_state=options["draft_state"],
        no_off_graphs=options["no_off_graphs"],
        metrics_file=options["metrics_file"],
        metrics_port=options["metrics_port"],
    )


def answer_options(function: Function) -> Function:
    """What the static answer is made from."""
    options: tuple[Callable[[Function], Function], ...] = (
        tree_option(),
        click.option("--python", metavar="PYTHON", help="Interpreter whose tree is meant; that of the command."),
        click.option("--assume", metavar="K=V", multiple=True, help="A fact: sm=90, gpus=8, hf.KEY=VALUE; repeatable."),
        config_options,
        click.option("--no-static-answer", is_flag=True, help="Compare with no static answer."),
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


def expect_option(function: Function) -> Function:
    """``--expect``."""
    return click.option("--expect", metavar="CLASS", help="The worker class that has to load.")(function)


def tree_of(launch: tuple[str, ...], environ: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str | None]:
    """The tree that a command would import, as ``--sglang`` and ``--python`` name it."""
    from pathtrace.supervisor.command import read_command
    from pathtrace.supervisor.interpreter import interpreter_of

    if options["tree"] != "installed" or options["python"] is not None:
        return options["tree"], options["python"]
    words = read_command(launch).words
    # `python -m` looks into the current folder first.
    if "-m" in words and os.path.isdir(os.path.join("sglang", "srt")):
        return os.getcwd(), interpreter_of(words, environ).python
    return "installed", interpreter_of(words, environ).python
