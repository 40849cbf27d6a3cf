"""What a hook names, and whether a launch runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pathtrace.tracer.change.judge import Twin

How = Literal["HookRegistry.register", "plugin_hook", "wrapt", "assignment", "setattr", "mock.patch"]


@dataclass(frozen=True)
class HookTarget:
    """A class or function of SGLang that Python code outside of it replaces or wraps.

    Attributes:
        module: dotted name of the module.
        qualname: ``Class.method``, ``Class`` or ``function`` there.
        file: the file that names it.
        line: 1-based.
        column: 1-based, in characters.
        how: what hooks it.
    """

    module: str
    qualname: str
    file: str
    line: int
    column: int
    how: How

    @property
    def name(self) -> str:
        """The whole dotted name."""
        return f"{self.module}.{self.qualname}"


@dataclass(frozen=True)
class JudgedHook:
    """A hook's target, judged for one launch.

    Attributes:
        target: what the hook names.
        runs: whether the launch can run it; False only where that is certain.
        exists: whether the tree has it; False only where that is certain.
        place: file and line of its definition; None where there is none.
        twin: where what does run has a function or class of that kind.
        covered: whether another hook of the same file names the one that runs.
    """

    target: HookTarget
    runs: bool
    exists: bool = True
    place: tuple[str, int] | None = None
    twin: Twin | None = None
    covered: bool = False
