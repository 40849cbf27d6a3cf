"""A tree's truth table: what is asked for, and the table itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathtrace.tracer.launch.environment import Environment
    from pathtrace.tracer.tree.model import Tree


@dataclass(frozen=True)
class TableRequest:
    """One truth table to make.

    Attributes:
        tree: the tree to read.
        environment: variables that hold for every row, unless the table varies them.
        model_config: path of the model's config, if given.
        draft_config: path of the draft model's config, if given.
        assume: facts given with ``--assume``.
        launch: words of a launch that every row starts from; empty for none.
        limit: the largest number of evaluations.
        python: the interpreter whose transformers is read; this one by default.
    """

    tree: Tree
    environment: Environment
    model_config: str | None = None
    draft_config: str | None = None
    assume: Mapping[str, str] = field(default_factory=dict)
    launch: tuple[str, ...] = ()
    limit: int = 1000
    python: str | None = None


@dataclass(frozen=True)
class TruthTable:
    """The table: inputs in the first columns, results in the last ones, all as text.

    Attributes:
        columns: headings.
        rows: one tuple for each row, as long as ``columns``; rows with the same result are merged.
        evaluations: how many launches were evaluated.
        bounded: whether the limit cut the table short.
        notes: what the reader should know, a sentence each.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    evaluations: int
    bounded: bool = False
    notes: tuple[str, ...] = ()
