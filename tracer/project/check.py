"""Check deployments: those that a project lists, and launches found in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pathtrace.tracer.answer import Alternative, Answer, Condition, Site
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.errors import BadInput, UnreadableLaunch
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.manifests.model import UnreadLaunch
from pathtrace.tracer.project.model import Deployment
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import open_tree


@dataclass(frozen=True)
class Answered:
    """A deployment, its tree, and what it does there."""

    deployment: Deployment
    tree: Tree
    answer: Answer


@dataclass(frozen=True)
class Checked:
    """A deployment as reports show it.

    Attributes:
        name: what the project or the file calls it.
        at: where it is written.
        tree: the tree.
        answer: what it does there, with what the rules found.
        accepted: codes of rules whose findings here are known and let pass.
        known: how many such findings there are.
    """

    name: str
    at: Site
    tree: Tree
    answer: Answer
    accepted: frozenset[str] = frozenset()
    known: int = 0

    @property
    def exit_code(self) -> int:
        """1 where there is a finding, or the answer is a bad one that nobody has accepted."""
        if self.answer.findings:
            return 1
        bad = {"refused": "PT104", "undecided": "PT108"}.get(self.answer.outcome)
        unmet = self.answer.expect is not None and not self.answer.expect.met
        return int((bad is not None and bad not in self.accepted) or (unmet and "PT107" not in self.accepted))


def check_deployments(
    deployments: Iterable[Deployment],
    python: str | None,
    *,
    cache: bool = True,
    changes: bool = True,
    inherited: Mapping[str, str] | None = None,
) -> Iterator[Answered]:
    """Answer every deployment, in order; a tree that several have is opened once.

    Args:
        deployments: the deployments.
        python: the interpreter whose installed packages are meant.
        cache: whether the cache on disk may be used.
        changes: whether to search what would change each answer.
        inherited: the caller's own environment, where servers see it.

    Raises:
        BadInput: a deployment that cannot be checked; the sentence names it.
    """
    trees: dict[str, Tree] = {}
    for each in deployments:
        try:
            if each.sglang not in trees:
                trees[each.sglang] = open_tree(each.sglang, python=python)
            tree = trees[each.sglang]
            yield Answered(each, tree, _answer(each, tree, python, cache, changes, inherited))
        except BadInput as error:
            raise BadInput(f"deployment {each.name}: {error}", each.file, each.line) from error


def _answer(
    deployment: Deployment,
    tree: Tree,
    python: str | None,
    cache: bool,
    changes: bool,
    inherited: Mapping[str, str] | None,
) -> Answer:
    found = deployment.found
    if isinstance(found, UnreadLaunch):
        return _unread(tree, found.reason)
    launch = parse_launch(deployment.launch) if found is None else found.launch
    env = tuple(f"{name}={value}" for name, value in deployment.env.items())
    env_file = Path(deployment.env_file) if deployment.env_file else None
    environment = merge_environment(launch, env, env_file, inherited)
    request = CheckRequest(
        tree=tree,
        launch=launch,
        environment=environment,
        model_config=deployment.model_config,
        draft_config=deployment.draft_config,
        assume=deployment.assume,
        expect=deployment.expect,
        changes=changes,
        cache=cache,
        python=python,
    )
    try:
        answer = check(request)
    except UnreadableLaunch as problem:
        if found is None:
            raise
        return _unread(tree, problem.message)
    return answer if found is None else replace(answer, notes=(*found.notes, *answer.notes))


def _unread(tree: Tree, reason: str) -> Answer:
    return Answer(outcome="undecided", tree=tree.info, alternatives=(Alternative(Condition(reason), "undecided"),))
