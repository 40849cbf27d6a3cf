"""``pathtrace check``: one launch, the launches in files, or the deployments of the project."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pathtrace.cli_options import (
    EXAMPLE,
    CheckCommand,
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

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer
    from pathtrace.tracer.change.given import Change
    from pathtrace.tracer.errors import BadInput
    from pathtrace.tracer.project.check import Answered, Checked
    from pathtrace.tracer.project.model import Deployment, Project

# Formats that list findings: without rules they would have nothing to say.
FINDINGS = ("concise", "sarif", "github", "junit", "markdown")
# Options that speak of a launch: a project says them of each deployment.
_OF_A_LAUNCH = (
    "tree", "env", "env_file", "inherit_env", "assume", "model_config", "draft_config", "expect", "python",
)  # fmt: skip


@click.command(cls=CheckCommand, options_metavar="[OPTIONS]")
@tree_option()
@shared_options
@config_options
@click.option("--expect", metavar="CLASS", help="Exit 1 unless this class is the answer.")
@change_options
@rule_options
@format_option("text", "json", *FINDINGS)
@cache_option
@launch_argument("[FILE... | -- LAUNCH...]")
@click.pass_context
def check(ctx: click.Context, /, files: tuple[str, ...], launch: tuple[str, ...], **options: Any) -> None:
    """Say which worker class a launch loads, the chain that leads there, and what would change it.

    LAUNCH is the command as you would type it: `python -m sglang.launch_server ...`, `sglang serve
    ...`, with variables in front, or flags only. A FILE is a shell script, Dockerfile, compose or
    Kubernetes manifest, systemd unit or Python file with launches in it; a patch; or a file of the tree.
    Without either, the deployments of [tool.pathtrace] in pyproject.toml are checked.

    With --patch, --diff or --staged, a changed function that no launch runs is a finding (rule PT101).
    Files and deployments are held to every rule, a typed launch to those of --select.
    """
    from pathtrace.tracer.change.given import Change

    change = Change(options["patch"], options["diff"], options["staged"])
    if launch:
        ctx.exit(_one_launch(launch, change, options))
    given = [name for name in _OF_A_LAUNCH if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if given and not files:
        flags = ", ".join(f"--{name.replace('tree', 'sglang').replace('_', '-')}" for name in given)
        raise click.UsageError(f"there is no launch for {flags}; put it after `--`: {EXAMPLE}", ctx)
    ctx.exit(_written(files, change, options, given))


def _one_launch(launch: tuple[str, ...], change: Change, options: Mapping[str, Any]) -> int:
    """A launch that is typed, with the whole answer."""
    assumed = facts(options["assume"])
    wanted = expected_class(options["expect"])
    output_format = options["output_format"]
    select = options["select"] or (("ALL",) if output_format in FINDINGS or options["baseline"] else ())
    asked = chosen_rules(select, options["ignore"], bool(change))
    from pathtrace.reports.output import report_stream
    from pathtrace.tracer.check import CheckRequest
    from pathtrace.tracer.check import check as answer_for
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.parse import parse_launch
    from pathtrace.tracer.tree.open import open_tree

    parsed = parse_launch(launch)
    with report_stream(options["output_file"]) as stream:
        opened = open_tree(options["tree"], python=options["python"])
        answer = answer_for(
            CheckRequest(
                tree=opened,
                python=options["python"],
                launch=parsed,
                environment=merge_environment(
                    parsed, options["env"], options["env_file"], inherited(options["inherit_env"])
                ),
                model_config=options["model_config"],
                draft_config=options["draft_config"],
                assume=assumed,
                expect=wanted,
                changes=True,
                shell=None if options["inherit_env"] else dict(os.environ),
                cache=not options["no_cache"],
            )
        )
        if not asked:
            _write_answer(answer, output_format, stream)
            return answer.exit_code
        from pathtrace.tracer.project.check import Answered
        from pathtrace.tracer.project.model import Deployment

        deployment = Deployment("launch", launch, options["tree"], threshold=options["threshold"])
        (checked,) = _judged([Answered(deployment, opened, answer)], asked, change, options)
        if output_format in FINDINGS:
            from pathtrace.reports.project_report import render_project

            render_project([checked], output_format, stream)
        else:
            _write_answer(checked.answer, output_format, stream)
        return checked.exit_code


def _write_answer(answer: Answer, output_format: str, stream: Any) -> None:
    if output_format == "json":
        from pathtrace.reports.json_report import write_json

        write_json(answer, stream)
        return
    from pathtrace.reports.text_report import render_text

    render_text(answer, stream)


def _written(files: tuple[str, ...], change: Change, options: Mapping[str, Any], given: Sequence[str]) -> int:
    """The launches in files, or the deployments of the project; the worst exit code of them."""
    from dataclasses import replace

    from pathtrace.tracer.project.find import find_project, nearest_project

    here = Path.cwd()
    project = nearest_project(here) if files else find_project(here)
    hooks: tuple[str, ...] = ()
    problems: tuple[BadInput, ...] = ()
    if files:
        from pathtrace.tracer.project.model import Deployment
        from pathtrace.tracer.project.select import select

        shared = _overridden(Deployment("", ()) if project is None else project.shared, options, given)
        selected = select(files, project, shared, _stated(shared, options))
        deployments, hooks, problems = selected.deployments, selected.hooks, selected.problems
        change = replace(change, patches=(*change.patches, *selected.patches), files=selected.tree_files)
        if not deployments:
            click.echo(f"no SGLang launch in {', '.join(files[:3])}{', ...' if len(files) > 3 else ''}", err=True)
            if options["output_format"] == "text":
                return 0
    else:
        assert project is not None
        deployments, hooks = project.deployments, _hook_files(project)
    selected_rules = options["select"] or (("ALL",) if project is None else project.select)
    ignored = (*(() if project is None else project.ignore), *options["ignore"])
    rules = chosen_rules(selected_rules, ignored, True)
    from pathtrace.reports.output import report_stream
    from pathtrace.reports.project_report import render_project
    from pathtrace.tracer.project.check import check_deployments

    python = options["python"] or (None if project is None else project.python)
    with report_stream(options["output_file"]) as stream:
        answered = list(
            check_deployments(
                deployments,
                python,
                cache=not options["no_cache"],
                changes=options["output_format"] == "json",  # no other format shows them
                inherited=inherited(options["inherit_env"]),
            )
        )
        checked = _judged(answered, rules, change, options, hooks)
        render_project(checked, options["output_format"], stream)
    for problem in problems:
        click.echo(f"pathtrace: error: {problem}", err=True)
    return 2 if problems else max((each.exit_code for each in checked), default=0)


def _overridden(shared: Deployment, options: Mapping[str, Any], given: Sequence[str]) -> Deployment:
    """What holds for all launches, with the options of the command line over it."""
    from dataclasses import replace

    fields = {"tree": "sglang", "model_config": "model_config", "draft_config": "draft_config"}
    changed = {fields[name]: options[name] for name in given if name in fields}
    if options["env_file"] is not None:
        changed["env_file"] = str(options["env_file"])
    if options["threshold"] is not None:
        changed["threshold"] = options["threshold"]
    return replace(
        shared,
        env={**shared.env, **_variables(options["env"])},
        assume={**shared.assume, **facts(options["assume"])},
        expect=expected_class(options["expect"]) or shared.expect,
        **changed,
    )


def _variables(env: Sequence[str]) -> dict[str, str]:
    from pathtrace.tracer.launch.environment import setting

    return dict(setting(each) for each in env)


def _stated(shared: Deployment, options: Mapping[str, Any]) -> dict[str, str]:
    """Variables that scripts and manifests may refer to."""
    from pathtrace.tracer.launch.environment import read_env_file

    stated = dict(inherited(options["inherit_env"]) or {})
    if shared.env_file is not None:
        lines = read_env_file(Path(shared.env_file))
        stated.update({name: value for name, value, _line in lines if value is not None})
    return {**stated, **shared.env}


def _hook_files(project: Project) -> tuple[str, ...]:
    folder = Path(project.file).parent
    return tuple(str(path) for glob in project.hooks for path in sorted(folder.glob(glob)) if path.is_file())


def _judged(
    answered: list[Answered],
    rules: tuple[Any, ...],
    change: Change,
    options: Mapping[str, Any],
    hooks: tuple[str, ...] = (),
) -> tuple[Checked, ...]:
    """The deployments with their findings; those of the baseline are let pass."""
    from pathtrace.rules.baseline import read_baseline, write_baseline
    from pathtrace.rules.deployments import judge_deployments
    from pathtrace.tracer.change.hook_targets import targets_in

    path, update = options["baseline"], options["update_baseline"]
    known = frozenset() if path is None or update else read_baseline(path)
    targets = tuple(target for file in hooks for target in targets_in(file))
    checked = judge_deployments(answered, rules, change, targets, known)
    if not update:
        return checked
    if path is None:
        raise click.UsageError("--update-baseline needs --baseline FILE, the file to write")
    write_baseline(path, ((each.name, finding) for each in checked for finding in each.answer.findings))
    return judge_deployments(answered, rules, change, targets, read_baseline(path))
