"""What is taken from the server at run time: torch and SGLang's own classes, which pathtrace never installs."""

from __future__ import annotations

import importlib
from typing import Any


def torch() -> Any:
    """The server's torch."""
    return importlib.import_module("torch")


def of_tree(module: str, name: str) -> Any:
    """Something of SGLang's own: ``of_tree("managers.utils", "GenerationBatchResult")``.

    Raises:
        ImportError: the tree has no such module.
        AttributeError: the module has no such name.
    """
    return getattr(importlib.import_module(f"sglang.srt.{module}"), name)
