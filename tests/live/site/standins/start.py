"""Everything is put in place when sglang is imported: other Python processes, and who only looks for it, pay little."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from types import ModuleType

from standins import faults

faults.before_sglang(os.environ.get("LIVE_FAULT", ""))


class _Loader(importlib.abc.Loader):
    def __init__(self, own: importlib.abc.Loader) -> None:
        self._own = own

    def create_module(self, spec):
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        put_in_place()
        self._own.exec_module(module)

    def __getattr__(self, name: str):
        return getattr(self._own, name)


class FirstImport(importlib.abc.MetaPathFinder):
    """Waits for the import of sglang."""

    def __init__(self) -> None:
        self._is_looking = False

    def find_spec(self, name, path=None, target=None):
        if name != "sglang" or self._is_looking:
            return None
        # All finders are asked, so that another one that also waits for sglang is not passed over.
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def put_in_place() -> None:
    """Puts the stand-ins, the corrections of the tree and what a test asks for in place."""
    from standins import absent, corrections, counting

    absent.install()
    corrections.install(os.environ["LIVE_KERNELS"])
    counting.install(os.environ.get("LIVE_STEPS_FILE"))
    faults.install(os.environ.get("LIVE_FAULT", ""))


sys.meta_path.insert(0, FirstImport())
