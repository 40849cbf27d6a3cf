"""Real trees with a few files replaced in memory, and the question that the tests ask of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pathtrace.tests.conformance.test_truth import HERE as TRUTH
from pathtrace.tests.conformance.test_truth import MACHINE

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer, TreeInfo
    from pathtrace.tracer.tree.model import Tree

LLAMA = str(TRUTH / "models/llama/config.json")
EAGLE3_DRAFT = str(TRUTH / "models/llama-eagle3/config.json")
PARAMETERS = ("--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4")


class ChangedTree:
    """A tree in which some files read differently; None takes a file out."""

    def __init__(self, tree: Tree, files: Mapping[str, bytes | None]) -> None:
        self.tree = tree
        self.files = dict(files)

    @property
    def info(self) -> TreeInfo:
        return self.tree.info

    def read(self, path: str) -> bytes | None:
        return self.files[path] if path in self.files else self.tree.read(path)

    def is_dir(self, path: str) -> bool:
        return self.tree.is_dir(path) or any(name.startswith(f"{path}/") for name, data in self.files.items() if data)

    def listdir(self, path: str) -> tuple[str, ...]:
        names = set(self.tree.listdir(path))
        for name, data in self.files.items():
            if name.startswith(f"{path}/"):
                head = name[len(path) + 1 :].split("/")[0]
                if data is not None:
                    names.add(head)
                elif "/" not in name[len(path) + 1 :]:
                    names.discard(head)
        return tuple(sorted(names))


class Mutant:
    """A tree under mutation: every edit says what it expects to find.

    >>> Mutant(tree).replace("environ.py", "EnvBool(False)", "EnvBool(True)").tree
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = ChangedTree(tree, {})

    def text(self, name: str) -> str:
        data = self.tree.read(f"sglang/srt/{name}")
        assert data is not None, f"no {name} in this tree"
        return data.decode("utf-8")

    def replace(self, name: str, old: str, new: str) -> Mutant:
        """Replace text that is there exactly once."""
        text = self.text(name)
        assert text.count(old) == 1, f"{text.count(old)} times in {name}: {old}"
        return self.write(name, text.replace(old, new))

    def write(self, name: str, text: str | bytes) -> Mutant:
        """Write a file, new or not."""
        self.tree.files[f"sglang/srt/{name}"] = text.encode("utf-8") if isinstance(text, str) else text
        return self

    def remove(self, name: str) -> Mutant:
        """Take out a file that is there."""
        self.text(name)
        self.tree.files[f"sglang/srt/{name}"] = None
        return self

    def move(self, name: str, to: str) -> Mutant:
        """Rename a file."""
        assert self.tree.read(f"sglang/srt/{to}") is None
        return self.write(to, self.text(name)).remove(name)


def ask(
    tree: Tree,
    *words: str,
    env: Mapping[str, str] | None = None,
    model: str | None = LLAMA,
    draft: str | None = EAGLE3_DRAFT,
    changes: bool = False,
    cache: bool = False,
    assume: Mapping[str, str] = MACHINE,
) -> Answer:
    """Check a launch with the configs of Llama and of a draft for it."""
    from pathtrace.tracer.check import CheckRequest, check
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.parse import parse_launch

    launch = replace(parse_launch(words), env=dict(env or {}))
    return check(
        CheckRequest(
            tree=tree,
            launch=launch,
            environment=merge_environment(launch, (), None, None),
            model_config=model,
            draft_config=draft,
            assume=assume,
            changes=changes,
            cache=cache,
        )
    )


def speculate(tree: Tree, algorithm: str = "EAGLE3", *words: str, env: Mapping[str, str] | None = None) -> Answer:
    """Check a launch with speculation and the usual parameters."""
    paths = (
        "--model-path",
        str(TRUTH / "models/llama"),
        "--speculative-draft-model-path",
        str(TRUTH / "models/llama-eagle3"),
    )
    return ask(tree, *paths, "--speculative-algorithm", algorithm, *PARAMETERS, *words, env=env)


def said(answer: Answer) -> tuple[str | None, str | None]:
    """What runs (or what is raised and where), and under which loop (or in which phase)."""
    if answer.refusal is not None:
        refusal = answer.refusal
        place = f"{Path(refusal.file or '').name}:{refusal.line}"
        return f"{refusal.exception} at {place}", refusal.phase
    return (answer.worker.cls if answer.worker else answer.outcome), answer.event_loop
