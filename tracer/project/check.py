"""Check every deployment of a project."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pathtrace.tracer.answer import Answer, Site
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.project.model import Project
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import open_tree


@dataclass(frozen=True)
class Checked:
    """A deployment, its tree and its answer.

    Attributes:
        name: what the project or the file calls it.
        at: where it is written.
        tree: the tree.
        answer: what it does there, with what the rules found.
    """

    name: str
    at: Site
    tree: Tree
    answer: Answer


def check_project(project: Project, *, cache: bool = True) -> Iterator[Checked]:
    """Answer every deployment, in order; a tree that several have is opened once.

    Raises:
        BadInput: a deployment that cannot be checked; the sentence names it.
    """
    trees: dict[str, Tree] = {}
    for each in project.deployments:
        try:
            if each.sglang not in trees:
                trees[each.sglang] = open_tree(each.sglang, python=project.python)
            launch = parse_launch(each.launch)
            env = tuple(f"{name}={value}" for name, value in each.env.items())
            environment = merge_environment(launch, env, Path(each.env_file) if each.env_file else None, None)
            request = CheckRequest(
                tree=trees[each.sglang],
                launch=launch,
                environment=environment,
                model_config=each.model_config,
                draft_config=each.draft_config,
                assume=each.assume,
                expect=each.expect,
                cache=cache,
                python=project.python,
            )
            yield Checked(each.name, Site(each.file, each.line), trees[each.sglang], check(request))
        except BadInput as error:
            raise BadInput(f"deployment {each.name}: {error}", each.file, each.line) from error
