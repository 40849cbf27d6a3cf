"""Files that stay the same from one mutated tree to the next are parsed once for the whole run."""

from __future__ import annotations

import ast
import functools
from types import SimpleNamespace

import pytest

from pathtrace.tracer.eval import sources

# The evaluator reads syntax trees and never changes them, so the tests may share them.
_parse = functools.lru_cache(maxsize=1500)(ast.parse)


@pytest.fixture(autouse=True, scope="session")
def shared_syntax_trees() -> None:
    sources.ast = SimpleNamespace(**vars(ast) | {"parse": _parse})  # type: ignore[attr-defined]
