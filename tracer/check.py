"""One launch on one tree: the whole answer, from the cache or made now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.cache import load_answer, store_answer

if TYPE_CHECKING:
    from pathtrace.tracer.launch.environment import Environment
    from pathtrace.tracer.launch.model import Launch
    from pathtrace.tracer.tree.model import Tree


@dataclass(frozen=True)
class CheckRequest:
    """What is asked.

    Attributes:
        tree: the tree to read.
        launch: the launch, taken apart.
        environment: variables of the server and where each comes from.
        model_config: path of the model's config.json, if given.
        draft_config: path of the draft model's config.json, if given.
        assume: facts given with ``--assume``.
        expect: the class that is expected, if any.
        changes: whether to search what would change the answer.
        shell: the shell's own environment, only to be mentioned; never part of the answer.
        cache: whether the cache on disk may be used.
        python: the interpreter whose transformers is read; this one by default.
    """

    tree: Tree
    launch: Launch
    environment: Environment
    model_config: str | None = None
    draft_config: str | None = None
    assume: Mapping[str, str] = field(default_factory=dict)
    expect: str | None = None
    changes: bool = True
    shell: Mapping[str, str] | None = None
    cache: bool = True
    python: str | None = None


def check(request: CheckRequest) -> Answer:
    """Answer one request.

    Raises:
        BadInput: a tree without speculative decoding, a config that cannot be read, an unknown fact.
    """
    if request.cache:
        known = load_answer(request)
        if known is not None:
            return known
    from pathtrace.tracer.answering import answer

    made, dependencies = answer(request)
    if request.cache:
        store_answer(request, made, dependencies)
    return made
