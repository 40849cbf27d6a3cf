"""Options that several commands share, and how a launch is told from pathtrace's own words."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from pathtrace.tracer.errors import BadInput

Function = TypeVar("Function", bound=Callable[..., Any])

EXAMPLE = "pathtrace check -- python -m sglang.launch_server --model-path DIR"


class LaunchCommand(click.Command):
    """A command that takes a launch after ``--``, and nothing but its own options before it.

    What follows ``--`` is never read as an option of pathtrace; what precedes it is never read as part
    of the launch, so a misspelt option is an error and not a word of the launch.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse pathtrace's own options and keep the launch as it was written."""
        separated = "--" in args
        own = args[: args.index("--")] if separated else list(args)
        stray = self.own_words(ctx, own, separated)
        if stray and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{stray[0]!r} is no option of pathtrace; the launch goes after `--`: {EXAMPLE}", ctx
            )
        return super().parse_args(ctx, args)

    def own_words(self, ctx: click.Context, own: list[str], separated: bool) -> list[str]:
        """The words before ``--`` that are neither options nor their values."""
        try:
            parsed, _, _ = self.make_parser(ctx).parse_args(list(own))
        except click.NoSuchOption as error:
            if separated:
                raise
            raise click.UsageError(f"{error.message} Options of the server go after `--`: {EXAMPLE}", ctx) from error
        stray = parsed.get("launch")
        return list(stray) if isinstance(stray, tuple | list) else []


class CheckCommand(LaunchCommand):
    """A command that takes files before ``--``, or a launch after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tell the files from the launch."""
        separated = "--" in args
        own = args[: args.index("--")] if separated else list(args)
        stray = self.own_words(ctx, own, separated)
        rest = click.Command.parse_args(self, ctx, args)
        words = ctx.params.get("launch", ())
        ctx.params["files"], ctx.params["launch"] = words[: len(stray)], words[len(stray) :]
        if stray and separated and not ctx.resilient_parsing:
            raise click.UsageError(f"{stray[0]!r} is no option of pathtrace; give files, or a launch after `--`", ctx)
        missing = [each for each in stray if not os.path.lexists(each)]
        if missing and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no file {missing[0]!r}; a launch goes after `--`: {EXAMPLE}", ctx)
        return rest


class TreesCommand(click.Command):
    """A command whose ``--sglang`` takes several trees at once: ``--sglang A B --sglang C``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--sglang`` before every further tree that follows one."""
        spelled: list[str] = []
        in_trees = False
        for word, previous in zip(args, ["", *args], strict=False):
            if word.startswith("-"):
                in_trees = word == "--sglang" or word.startswith("--sglang=")
            elif in_trees and previous != "--sglang":
                spelled.append("--sglang")
            spelled.append(word)
        return super().parse_args(ctx, spelled)


def launch_argument(metavar: str = "-- LAUNCH...") -> Callable[[Function], Function]:
    """The words after ``--``."""
    return click.argument("launch", nargs=-1, type=click.UNPROCESSED, metavar=metavar)


def tree_option(*, several: bool = False) -> Callable[[Function], Function]:
    """``--sglang``, once or repeated."""
    return click.option(
        "--sglang",
        "trees" if several else "tree",
        metavar="TREE..." if several else "TREE",
        multiple=several,
        default=("installed",) if several else "installed",
        show_default=True,
        help="A directory, a .whl file, `installed`, a release (0.5.9), or PATH@REV.",
    )


def shared_options(function: Function) -> Function:
    """The interpreter, the environment and the facts: what every command takes."""
    options = (
        click.option(
            "--python", metavar="PYTHON", help="Interpreter whose `installed` tree and transformers are meant."
        ),
        click.option("--env", metavar="K=V", multiple=True, help="A variable of the server; repeatable."),
        click.option("--env-file", type=_existing_file(), help="A file of K=V lines."),
        click.option("--inherit-env", is_flag=True, help="Let the server see this shell's environment."),
        click.option("--assume", metavar="K=V", multiple=True, help="A fact: sm=90, gpus=8, hf.KEY=VALUE; repeatable."),
        output_file_option,
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


def config_options(function: Function) -> Function:
    """The configs of the model and of the draft model."""
    kind = click.Path(exists=True)
    model = click.option("--model-config", metavar="PATH", type=kind, help="config.json of the model.")
    draft = click.option("--draft-config", metavar="PATH", type=kind, help="config.json of the draft model.")
    return model(draft(function))


def change_options(function: Function) -> Function:
    """The change that is about to be made to the tree."""
    options = (
        click.option("--patch", metavar="FILE", multiple=True, help="A .patch or .diff of the tree; repeatable."),
        click.option("--diff", metavar="REV", help="The tree's working copy against a git revision."),
        click.option("--staged", is_flag=True, help="What is staged in the tree's working copy."),
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


def rule_options(function: Function) -> Function:
    """Which rules are asked for."""
    options = (
        click.option("--select", metavar="RULES", multiple=True, help="Rules: PT101, PT1, a name, ALL; repeatable."),
        click.option("--ignore", metavar="RULES", multiple=True, help="Rules to leave out."),
        click.option("--baseline", metavar="FILE", help="Let the findings in FILE pass."),
        click.option("--update-baseline", is_flag=True, help="Write what is found now to the baseline."),
        click.option(
            "--threshold", metavar="N", type=click.IntRange(0), help="Batch size above which speculation is to be off."
        ),
    )
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


def chosen_rules(select: Sequence[str], ignore: Sequence[str], changed: bool) -> tuple[Any, ...]:
    """The rules of ``--select`` and ``--ignore``; without them PT101 where a change is given, else none.

    Raises:
        BadInput: a word that names no rule.
    """
    if not (select or ignore or changed):
        return ()
    from pathtrace.rules.registry import chosen

    wanted = _words(select) or (["PT101"] if changed else ["ALL"])
    return chosen(wanted, _words(ignore))


def _words(given: Sequence[str]) -> list[str]:
    return [word.strip() for each in given for word in each.split(",") if word.strip()]


def format_option(*formats: str) -> Callable[[Function], Function]:
    """``--output-format``; the first one is the default."""
    return click.option("--output-format", type=click.Choice(formats), default=formats[0], show_default=True)


def output_file_option(function: Function) -> Function:
    """``--output-file``: the report goes there, whole or not at all."""
    return click.option("--output-file", metavar="FILE", help="Write the report there; - is stdout.")(function)


def cache_option(function: Function) -> Function:
    """``--no-cache``."""
    return click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")(function)


def _existing_file() -> click.Path:
    return click.Path(exists=True, dir_okay=False, path_type=Path)


def inherited(inherit_env: bool) -> Mapping[str, str] | None:
    """The caller's own environment, where ``--inherit-env`` lets the server see it."""
    return dict(os.environ) if inherit_env else None


def facts(assume: Sequence[str]) -> Mapping[str, str]:
    """``--assume K=V`` as a mapping; a later one of the same name wins.

    Raises:
        BadInput: one is not K=V.
    """
    found: dict[str, str] = {}
    for each in assume:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"--assume {each!r} is not K=V; write for example --assume sm=90")
        found[name.strip()] = value
    return found


def expected_class(expect: str | None) -> str | None:
    """``--expect CLASS``, checked.

    Raises:
        BadInput: it is empty.
    """
    if expect is not None and not expect.strip():
        raise BadInput("--expect needs the name of a class, for example --expect EAGLEWorkerV2")
    return None if expect is None else expect.strip()
