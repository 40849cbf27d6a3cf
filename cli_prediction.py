"""The static answer of one launch, as the runtime layer compares it; also run as a process beside a server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pathtrace.supervisor.shape import Shape
from pathtrace.tracer.errors import BadInput


@dataclass(frozen=True)
class PredictionRequest:
    """What is asked.

    Attributes:
        launch: the server's command.
        tree: as ``--sglang`` takes it.
        python: the interpreter whose ``installed`` tree is meant, None for this one.
        model_config: path of the model's config.json, if given.
        draft_config: path of the draft model's config.json, if given.
        assume: facts.
        env: variables of the server, ``K=V``.
        env_file: a file of such lines.
    """

    launch: tuple[str, ...]
    tree: str = "installed"
    python: str | None = None
    model_config: str | None = None
    draft_config: str | None = None
    assume: Mapping[str, str] = field(default_factory=dict)
    env: tuple[str, ...] = ()
    env_file: str | None = None


def predict(request: PredictionRequest, inherited: Mapping[str, str] | None) -> dict[str, Any]:
    """The static answer, and the fields of the launch that its processes depend on, as a JSON object.

    Args:
        inherited: the environment in which the server starts, None where it is not known.

    Raises:
        BadInput: the launch or the tree cannot be read.
    """
    from pathtrace.reports.text_report import headline
    from pathtrace.tracer.answering import describe, inputs_of, kept_evaluator
    from pathtrace.tracer.check import CheckRequest
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.parse import parse_launch
    from pathtrace.tracer.tree.open import open_tree

    launch = parse_launch(request.launch)
    env_file = None if request.env_file is None else Path(request.env_file)
    check = CheckRequest(
        tree=open_tree(request.tree, python=request.python),
        launch=launch,
        environment=merge_environment(launch, request.env, env_file, inherited),
        model_config=request.model_config,
        draft_config=request.draft_config,
        assume=request.assume,
        changes=False,
        python=request.python,
    )
    evaluator = kept_evaluator(check)
    done = evaluator.evaluate(inputs_of(check))
    answer = describe(check, evaluator, done)
    return {
        "outcome": answer.outcome,
        "sentence": headline(answer).replace("  ", ", "),
        "worker": None if answer.worker is None else answer.worker.cls,
        "module": None if answer.worker is None else answer.worker.module,
        "loop": answer.event_loop,
        "resolved": _resolved(done),
    }


def _resolved(done: Any) -> dict[str, Any]:
    """The fields of ``Shape`` as the tree resolves them; one that is not decided is left out."""
    machine, record = done.machine, done.run.record
    missing = object()
    view = machine.external_state.get("view", record)
    found = {}
    for each in fields(Shape):
        value = missing if record is None else machine.get_attr_or(view, each.name, missing)
        value = machine.conditions.restrict(value, done.run.pc)
        if value is None or isinstance(value, bool | int | str):
            found[each.name] = value
    return found


def main(words: list[str]) -> None:
    """Writes the answer to standard output: options as one JSON object in the first word, then the launch."""
    # The server needs the processor more than this does.
    os.nice(5)
    options = json.loads(words[0])
    try:
        said = predict(PredictionRequest(launch=tuple(words[1:]), **options), dict(os.environ))
    except BadInput as problem:
        said = {"outcome": "unknown", "sentence": str(problem)}
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
