"""Whether a launch ever runs what a hook names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pathtrace.tracer.answer import Answer
from pathtrace.tracer.change.hook_model import HookTarget, JudgedHook
from pathtrace.tracer.change.judge import Twin
from pathtrace.tracer.change.reach import WORKERS, Reach, Reached
from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.definitions import Definition, Definitions
from pathtrace.tracer.tree.model import Tree

_FROM_OUTSIDE = ("object", "ABC", "Protocol", "Generic")
# These make an attribute that was not there; all others end in an error.
_MAY_ADD = ("assignment", "setattr")


def judged_hooks(tree: Tree, targets: Sequence[HookTarget], answer: Answer) -> tuple[JudgedHook, ...]:
    """The hooks that speak of workers, or of nothing in the tree; none for a launch that is refused.

    Args:
        tree: the tree.
        targets: what the hooks name.
        answer: what the launch does.
    """
    if answer.outcome == "refused" or not targets:
        return ()
    possible = [answer.worker, *(each.worker for each in answer.alternatives)]
    if answer.outcome == "undecided" and any(each.outcome == "undecided" for each in answer.alternatives):
        return ()
    reach = Reach(tree, {(each.module, each.cls) for each in possible if each is not None})
    judge = _Judge(reach)
    found = [one for target in targets for one in judge.judged(target)]
    reach.outlines.save()
    live = {(each.target.file, *each.place) for each in found if each.runs and each.place is not None}
    return tuple(
        replace(each, covered=each.twin is not None and (each.target.file, each.twin.file, each.twin.line) in live)
        for each in found
    )


class _Judge:
    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.sources = Sources(reach.tree)
        self.definitions = Definitions(self.sources)

    def judged(self, target: HookTarget) -> Iterator[JudgedHook]:
        """The verdict on one target; nothing for one outside of the workers that the tree has."""
        module, names = self._parted(target)
        if self.sources.find(module) is None:
            if self._known_package(module):
                yield JudgedHook(target, False, False, twin=self._twin(names))
            return
        owner = self.definitions.find(module, names[0])
        if owner is None:
            if self._unnamed(module, names[0]):
                yield JudgedHook(target, False, False, twin=self._twin(names))
            return
        member = self.definitions.method(owner, names[1]) if len(names) == 2 else None
        if len(names) == 2 and member is None and target.how not in _MAY_ADD and self._lacks(owner, names[1]):
            yield JudgedHook(target, False, False, twin=self._twin(names))
        elif owner.file.startswith(WORKERS + "/"):
            place = (owner.file, owner.node.lineno) if member is None else (member.file, member.node.lineno)
            runs = not self._is_dead(owner, names[1] if len(names) == 2 else None)
            yield JudgedHook(target, runs, True, place, None if runs else self._twin(names, owner))

    def _parted(self, target: HookTarget) -> tuple[str, list[str]]:
        """The longest module that the tree has, and the names in it."""
        parts = target.name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            if count <= target.module.count("."):
                break  # a package above a module that is not there
            source = self.sources.find(".".join(parts[:count]))
            if source is not None:
                return source.name, parts[count:]
        return target.module, target.qualname.split(".")

    def _known_package(self, module: str) -> bool:
        """Whether a module that is not there would lie in a folder that the tree does have."""
        return self.reach.tree.is_dir("/".join(module.split(".")[:2]))

    def _unnamed(self, module: str, name: str) -> bool:
        """Whether a module certainly does not have a name: its text never holds it."""
        source = self.sources.find(module)
        text = b"" if source is None else self.sources.read(source.path) or b""
        opens = (b"import *", b"__getattr__", b"globals()", name.encode())
        return bool(text) and not any(each in text for each in opens)

    def _lacks(self, owner: Definition, name: str) -> bool:
        """Whether a class certainly does not have an attribute: no class of its line speaks of it."""
        if not isinstance(owner.node, ast.ClassDef):
            return False
        line = self.definitions.line(owner)
        known = {each.node.name for each in line}
        bases = {ast.unparse(base) for each in line if isinstance(each.node, ast.ClassDef) for base in each.node.bases}
        if not all(base in known or base in _FROM_OUTSIDE for base in bases):
            return False
        return not any(name.encode() in (self.sources.read(each.file) or b"") for each in line)

    def _is_dead(self, owner: Definition, method: str | None) -> bool:
        """Whether only other workers use a class or function, or each loaded one has its own method instead."""
        place = (owner.file, owner.node.lineno)
        if place not in self.reach.of_loaded:
            return place in self.reach.of_others and place not in self.reach.of_server
        return method is not None and bool(self.reach.loaded) and self._overridden(owner, method)

    def _overridden(self, owner: Definition, method: str) -> bool:
        named = self.definitions.method(owner, method)
        for cls in self._loaded():
            line = self.definitions.line(cls)
            if named is None or not any(each.node is owner.node for each in line):
                return False  # a part of the worker, or an attribute that is no method
            used = self.definitions.method(cls, method)
            if used is None or used.node is named.node or any(_calls_up(each.node, method) for each in line):
                return False
        return True

    def _twin(self, names: list[str], owner: Definition | None = None) -> Twin | None:
        """What runs in its place: the loaded worker for a class, its function of the same name for a function."""
        if len(names) == 1 and (owner is None or isinstance(owner.node, ast.ClassDef)):
            loaded = self._loaded()
            if loaded and names[0][:1].isupper():
                return Twin(loaded[0].name, loaded[0].file, loaded[0].node.lineno)
        alike = [
            each
            for each in self.reach.of_loaded.values()
            if each.name == names[-1] and not each.is_class and (each.owner is None) is (len(names) == 1)
        ]
        alike = [each for each in alike if not self._is_abstract(each)]
        if not alike:
            return None
        first = min(alike, key=lambda each: (self._behind(each), "Worker" not in each.full_name, each.file, each.line))
        return Twin(first.full_name, first.file, first.line)

    def _is_abstract(self, method: Reached) -> bool:
        owner = None if method.owner is None else self.definitions.find(method.module, method.owner)
        found = None if owner is None else self.definitions.method(owner, method.name)
        return found is not None and any("abstractmethod" in ast.unparse(each) for each in found.node.decorator_list)

    def _behind(self, method: Reached) -> int:
        """How far from a loaded worker's class a method stands in its line; far away, where it is another's."""
        places = [len(self.definitions.line(cls)) for cls in self._loaded()]
        for cls in self._loaded():
            for index, each in enumerate(self.definitions.line(cls)):
                if (each.file, each.node.name) == (method.file, method.owner):
                    return index
        return max(places, default=0)

    def _loaded(self) -> list[Definition]:
        found = (self.definitions.find(*worker) for worker in sorted(self.reach.loaded))
        return [each for each in found if each is not None]


def _calls_up(cls: ast.AST, method: str) -> bool:
    """Whether a class calls a method of its bases: ``super().method`` or ``Base.method``."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == method
        and (isinstance(node.value, ast.Call) or (isinstance(node.value, ast.Name) and node.value.id[:1].isupper()))
        for node in ast.walk(cls)
    )
