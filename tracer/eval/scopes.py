"""Scopes: which names a function binds, and where a name is looked up."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pathtrace.tracer.eval.slots import Slots
from pathtrace.tracer.eval.values import ModuleV

_CACHE: dict[int, tuple[Any, frozenset[str], frozenset[str], frozenset[str], bool]] = {}


class Env:
    """The variables of one function call, class body or module."""

    __slots__ = (
        "function",
        "globals",
        "is_class",
        "is_generator",
        "locals",
        "module",
        "nonlocals",
        "on_yield",
        "outer",
        "slots",
        "cls",
    )

    def __init__(self, outer: Env | None, module: ModuleV, names: Any, function: Any = None) -> None:
        self.outer = outer
        self.module = module
        self.function = function
        self.slots = Slots()
        self.is_class = False
        self.cls: Any = None
        self.on_yield: Callable[[Any], Any] | None = None
        if names is None:
            self.locals: frozenset[str] | None = None
            self.globals: frozenset[str] = frozenset()
            self.nonlocals: frozenset[str] = frozenset()
            self.is_generator = False
        else:
            self.locals, self.globals, self.nonlocals, self.is_generator = names


def module_env(module: ModuleV) -> Env:
    """The scope of a module: its names are the module's attributes."""
    env = Env(None, module, None)
    env.slots = module.slots
    return env


def local_names(node: ast.AST) -> tuple[frozenset[str], frozenset[str], frozenset[str], bool]:
    """Names bound in a function or comprehension, its ``global`` and ``nonlocal`` names, and whether it yields."""
    found = _CACHE.get(id(node))
    if found is not None and found[0] is node:
        return found[1:]
    bound: set[str] = set()
    global_: set[str] = set()
    nonlocal_: set[str] = set()
    yields = False
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        spec = node.args
        bound.update(arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))
        for extra in (spec.vararg, spec.kwarg):
            if extra is not None:
                bound.add(extra.arg)
    body: Any = getattr(node, "body", None)
    stack: list[ast.AST] = list(body) if isinstance(body, list) else []
    if isinstance(node, ast.Lambda):
        stack = [node.body]
    while stack:
        item = stack.pop()
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(item.name)
            stack += item.decorator_list
            continue
        if isinstance(item, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for child in ast.walk(item):
                if isinstance(child, ast.NamedExpr):
                    bound.add(child.target.id)
            continue
        if isinstance(item, ast.Name):
            if isinstance(item.ctx, (ast.Store, ast.Del)):
                bound.add(item.id)
            continue
        if isinstance(item, (ast.Yield, ast.YieldFrom)):
            yields = True
        elif isinstance(item, ast.Global):
            global_.update(item.names)
        elif isinstance(item, ast.Nonlocal):
            nonlocal_.update(item.names)
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            bound.update(alias.asname or alias.name.split(".")[0] for alias in item.names)
            continue
        elif isinstance(item, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and item.name:
            bound.add(item.name)
        stack += ast.iter_child_nodes(item)
    result = (frozenset(bound - global_ - nonlocal_), frozenset(global_), frozenset(nonlocal_), yields)
    _CACHE[id(node)] = (node, *result)
    return result
