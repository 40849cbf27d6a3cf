"""Import statements and the modules of the tree.

A module of the tree is read and run when something of it is first used, not when it is imported;
an imported name that its module never mentions again is imported for its side effects (a registration),
and runs at once.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.scopes import Env
from pathtrace.tracer.eval.values import ABSENT, External, LazyModule, LazyName, ModuleV

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

ROOT = "sglang"


def in_tree(name: str) -> bool:
    """Whether a dotted module name belongs to the tree."""
    return name == ROOT or name.startswith(ROOT + ".")


def import_name(m: Machine, node: ast.Import, env: Env) -> None:
    """``import a.b.c [as d]``."""
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        if not in_tree(alias.name):
            m.require_package(alias.name, env)
            target = alias.name if alias.asname else alias.name.split(".")[0]
            m.bind_name(bound, m.external(target), env, None)
            continue
        if m.find_module(alias.name) is None:
            m.throw_import(f"No module named '{alias.name}'", missing=True)
        if not m.mentions(env, alias.asname or alias.name):
            m.run_module(m.module(alias.name))
        elif env.locals is not None:
            m.touch_packages(alias.name)
        m.bind_name(bound, LazyModule(alias.name if alias.asname else ROOT), env, None)


def import_from(m: Machine, node: ast.ImportFrom, env: Env) -> None:
    """``from a.b import c [as d]``."""
    base = absolute_name(env.module, node)
    if base == "__future__":
        if any(alias.name == "annotations" for alias in node.names):
            env.module.slots["*postponed*"] = True
        return
    if not in_tree(base):
        m.require_package(base, env)
        for alias in node.names:
            if alias.name == "*":
                env.module.slots["*star*"] = True
                continue
            m.bind_name(alias.asname or alias.name, m.external(f"{base}.{alias.name}"), env, m.written(len(m.reads)))
        return
    if m.find_module(base) is None:
        m.throw_import(f"No module named '{base}'", missing=True)
    for alias in node.names:
        if alias.name == "*":
            env.module.slots.setdefault("*stars*", [])
            env.module.slots["*stars*"] = [*env.module.slots["*stars*"], base]
            continue
        bound = alias.asname or alias.name
        if (env.locals is None or env.is_class) and m.mentions(env, bound):
            m.bind_name(bound, LazyName(base, alias.name), env, None)
            continue
        value = imported(m, base, alias.name)
        if type(value) is LazyModule and not m.mentions(env, bound):
            m.run_module(m.module(value.name))  # a module imported for what it does: it registers something
        m.bind_name(bound, value, env, None)


def absolute_name(module: ModuleV, node: ast.ImportFrom) -> str:
    """The absolute name of the module that ``from ... import`` names."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    if not module.is_package:
        parts = parts[:-1]
    parts = parts[: len(parts) - node.level + 1]
    return ".".join(parts + ([node.module] if node.module else []))


def check_names(m: Machine, module: ModuleV) -> None:
    """Raise the tree's ImportError where a module imports a name that another module cannot have.

    Names that the module has not used yet are still unresolved. One that stands nowhere in the other
    module's text is looked for properly.
    """
    for value in list(module.slots.values()):
        if type(value) is LazyName and not m.sources.mentions(value.module, value.name):
            imported(m, value.module, value.name)


def imported(m: Machine, base: str, name: str) -> Any:
    """The value of ``from base import name``; raises the tree's ImportError."""
    if m.find_module(base) is None:
        m.throw_import(f"No module named '{base}'", missing=True)
    module = m.module(base)
    m.run_module(module)
    value = module.slots.get(name, ABSENT)
    if value is not ABSENT:
        test, _present = m.presence(value)
        if test is not False:
            if test is not True:
                m.leave_if(
                    m.conditions.negation(test),
                    ImportError,
                    f"cannot import name '{name}' from '{base}' ({module.file})",
                )
                value = m.conditions.restrict(_present, m.pc)
            if type(value) in (LazyName, LazyModule):
                value = m.resolve(value)
            return value
    if m.find_module(f"{base}.{name}") is not None:
        return LazyModule(f"{base}.{name}")
    found = m.star_imported(module, name)
    if found is not ABSENT:
        return found
    hook = module.slots.get("__getattr__", ABSENT)
    if hook is not ABSENT:
        from pathtrace.tracer.eval.values import Args

        return m.call(hook, Args([name]))
    if module.state == "running":
        # Python too would not find it yet; our order differs (modules run on first use), so look it up later.
        return LazyName(base, name, early=True)
    if module.slots.get("*star*") or module.state == "unreadable":
        return External(f"{base}.{name}")
    m.throw_import(f"cannot import name '{name}' from '{base}' ({module.file})")
