"""Changes to a module, made as soon as it has been imported."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType

_changes: dict[str, list[Callable[[ModuleType], None]]] = {}


def after_import(name: str) -> Callable[[Callable[[ModuleType], None]], Callable[[ModuleType], None]]:
    """Decorates a function that gets the module ``name`` once that is imported."""

    def remember(change: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        _changes.setdefault(name, []).append(change)
        return change

    return remember


class _Loader(importlib.abc.Loader):
    def __init__(self, own: importlib.abc.Loader) -> None:
        self._own = own

    def create_module(self, spec):
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        for change in _changes[module.__name__]:
            change(module)

    def __getattr__(self, name: str):
        return getattr(self._own, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self._looking: set[str] = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _changes or name in self._looking:
            return None
        # All finders are asked, so that another one that also waits for this module is not passed over.
        self._looking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
