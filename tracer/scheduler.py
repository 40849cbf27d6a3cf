"""The choice: which class ``Scheduler`` sets as its draft worker, and which event loop it runs.

Only the statements that lead to ``self.draft_worker = ...`` run. Everything else they read of the
scheduler is worked out on demand from the assignments that the class itself makes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pathtrace.tracer.eval.calls import CallReads
from pathtrace.tracer.eval.exits import Signal
from pathtrace.tracer.eval.imports import check_names
from pathtrace.tracer.eval.machine import Machine
from pathtrace.tracer.eval.objects import find_in_class, get_attr
from pathtrace.tracer.eval.scopes import Env, local_names, module_env
from pathtrace.tracer.eval.values import ABSENT, Args, ClassV, FunctionV, Instance, ModuleV, Unknown

MODULE = "sglang.srt.managers.scheduler"
ENTRY_METHODS = ("forward_batch_generation", "forward_batch_speculative_generation")
WORKER = "draft_worker"
LOOP = "enable_overlap"


@dataclass
class Choice:
    """The draft worker (an instance, None, or guarded) and whether the overlap loop runs.

    ``loop_write`` is the write that decides the loop; None where the tree has no such attribute.
    """

    worker: Any
    overlap: Any
    branches_from: int
    loop_write: Any


def choose(m: Machine, record: Any) -> Choice:
    """Evaluate the scheduler's choice for a resolved record."""
    publish(m, record)
    module = m.module(MODULE)
    scheduler = PartialScheduler(m, module, record)
    start = len(m.branches)
    m.opaque = lambda cls: any(find_in_class(m, cls, name) is not ABSENT for name in ENTRY_METHODS)
    m.forgive = scheduler.missing_local
    m.external_state["partial"] = scheduler
    try:
        worker = scheduler.attribute(WORKER)
        for leaf in m.conditions.terminals(worker):
            if isinstance(leaf, Instance) and isinstance(leaf.cls, ClassV) and leaf.cls.module in m.modules:
                check_names(m, m.modules[leaf.cls.module])
        overlap = scheduler.attribute(LOOP)
    finally:
        m.opaque = None
        m.forgive = None
    return Choice(worker, overlap, start, m.writers.get((scheduler.object.slots.number, LOOP)))


def publish(m: Machine, record: Any) -> None:
    """Make the record the process's configuration, as the scheduler process does first."""
    from pathtrace.tracer.eval.calls import attempt

    for module, name in (
        ("sglang.srt.runtime_context", "publish"),
        ("sglang.srt.server_args", "set_global_server_args_for_scheduler"),
    ):
        if m.find_module(module) is None:
            continue
        function = attempt(
            m, lambda module=module, name=name: get_attr(m, m.import_module(module), name), Exception, None
        )
        if isinstance(function, FunctionV):
            args = Args([record], {"role": "scheduler"} if name == "publish" else {})
            attempt(m, lambda function=function, args=args: m.call(function, args), Exception, None)
            return


class PartialScheduler:
    """A ``Scheduler`` whose attributes are evaluated when they are read."""

    def __init__(self, m: Machine, module: ModuleV, record: Any) -> None:
        self.m = m
        self.module = module
        self.record = record
        body = m.sources.body(module.name) or []
        self.node = next((item for item in body if isinstance(item, ast.ClassDef) and item.name == "Scheduler"), None)
        if self.node is None:
            m.throw_import(f"cannot import name 'Scheduler' from '{module.name}' ({module.file})")
        self.cls = ClassV("Scheduler", (), module.name, module.file, self.node.lineno)
        self.prepare_module(body)
        self.methods: dict[str, FunctionV] = {}
        self.add_methods(self.node, module)
        self.object = Instance(self.cls)
        self.object.slots["*partial*"] = True
        self.object.slots["server_args"] = record
        self.busy: set[str] = set()
        self.bases_read = False

    def prepare_module(self, body: list[ast.stmt]) -> None:
        """Run the module without the class and what follows it: imports, constants, functions."""
        module, m = self.module, self.m
        if module.state != "new":
            return
        module.slots["Scheduler"] = self.cls
        m.sources._bodies[module.name] = [item for item in body if item is not self.node]
        try:
            m.run_module(module)
        finally:
            module.slots["Scheduler"] = self.cls
        m.sources._bodies[module.name] = body

    def add_methods(self, node: ast.ClassDef, module: ModuleV) -> None:
        """Define a class's methods without running its decorators."""
        env = module_env(module)
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name not in self.methods:
                function = FunctionV(item, item.name, env, module, module.file, (), {})
                function.qualname = f"Scheduler.{item.name}"
                function.owner = self.cls
                function.slots["*partial*"] = True
                self.methods[item.name] = function
                self.cls.slots.setdefault(item.name, function)

    def read_bases(self) -> None:
        """Add the methods of the base classes: only when something is missing."""
        if self.bases_read or self.node is None:
            return
        self.bases_read = True
        env = module_env(self.module)
        for base in self.node.bases:
            value = self.m.eval(base, env)
            if isinstance(value, ClassV):
                body = self.m.sources.body(value.module) or []
                node = next((item for item in body if isinstance(item, ast.ClassDef) and item.name == value.name), None)
                if node is not None:
                    self.add_methods(node, self.m.module(value.module))

    def attribute(self, name: str) -> Any:
        """``self.name``, evaluated from the assignments in the class."""
        slots = self.object.slots
        if slots.get(name, ABSENT) is not ABSENT:
            return self.m.get_attr(self.object, name)
        if name in self.busy:
            return Unknown(f"self.{name}", frozenset({f"Scheduler.{name}"}))
        self.busy.add(name)
        try:
            if not self.evaluate(name):
                self.read_bases()
                if not self.evaluate(name):
                    return Unknown(f"self.{name}", frozenset({f"Scheduler.{name}"}))
        finally:
            self.busy.discard(name)
        if slots.get(name, ABSENT) is ABSENT:
            return Unknown(f"self.{name}", frozenset({f"Scheduler.{name}"}))
        self.m.saw(slots, name)
        _test, present = self.m.presence(slots[name])
        return present

    def may_assign(self, function: FunctionV, name: str) -> bool:
        """A quick look at the text: does the method hold ``self.name`` followed by an assignment?"""
        node = function.node
        lines = self.m.sources.assignments(function.file).get(name, ())
        return any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)

    def evaluate(self, name: str) -> bool:
        """Run the statements that assign ``self.name``; False where there are none."""
        found = False
        for function in list(self.methods.values()):
            node = function.node
            if not self.may_assign(function, name) or not _assigns_attribute(node, name):
                continue
            if name != WORKER and found and function.name != "__init__":
                continue
            if name == WORKER and not _makes_worker(node):
                continue
            found = True
            self.run_part(function, name)
            if name == WORKER:
                break
        return found

    def run_part(self, function: FunctionV, name: str) -> None:
        """Run a method's statements that assign ``self.name``, with the early returns before them."""
        m = self.m
        node = function.node
        assert isinstance(node, ast.FunctionDef)
        env = Env(function.env, function.module, local_names(node), function)
        for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            env.slots[parameter.arg] = self.parameter(parameter.arg)
        body = _slice(node, name)
        file, line, ctrl = m.file, m.line, m.ctrl
        m.file = function.file
        m.stack.append((function, file, line))
        r0, b0 = len(m.reads), len(m.branches)
        try:
            m.run_frame("function", lambda: self.run_body(body, env))
        finally:
            m.stack.pop()
            m.file, m.line, m.ctrl = file, line, ctrl
        # What is read on the way is not what the attribute's reader reads: that is the attribute.
        m.calls.setdefault(r0, []).append(CallReads(function, len(m.reads), (), b0, len(m.branches)))

    def run_body(self, body: list[ast.stmt], env: Env) -> Any:
        signal = self.m.exec_block(body, env)
        return signal.value if isinstance(signal, Signal) else None

    def parameter(self, name: str) -> Any:
        """What a method's parameter stands for."""
        if name == "self":
            return self.object
        if name == "server_args":
            return self.record
        return Unknown(name, frozenset({f"the process's {name}"}))

    def missing_local(self, env: Env, name: str) -> Any:
        """A local variable that the part did not set: run the statements of the method that set it."""
        node = env.function.node
        statements = [
            item
            for item in node.body
            if any(
                isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Store)
                for child in ast.walk(item)
            )
        ]
        key = f"{env.function.qualname}:{name}"
        if not statements or key in self.busy:
            return Unknown(name, frozenset({f"{env.function.name}'s {name}"}))
        self.busy.add(key)
        try:
            self.m.exec_block(statements[:1], env)
        finally:
            self.busy.discard(key)
        value = env.slots.get(name, ABSENT)
        return Unknown(name, frozenset({name})) if value is ABSENT else self.m.presence(value)[1]


@lru_cache(maxsize=512)
def _slice(node: ast.FunctionDef, name: str) -> list[ast.stmt]:
    """The statements of a method that ``self.name`` is made by, in order.

    They are those that assign it, those before them that set or change the local variables these
    read, and (except in ``__init__``, which sets up everything) the conditions that return early.
    """
    last = max(index for index, item in enumerate(node.body) if _assigns_attribute(item, name))
    before = node.body[: last + 1]
    wanted = {
        index
        for index, item in enumerate(before)
        if _assigns_attribute(item, name) or (node.name != "__init__" and isinstance(item, ast.If) and _returns(item))
    }
    local = {
        child.id
        for item in before
        for child in ast.walk(item)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
    while True:
        names = {
            child.id for index in wanted for child in ast.walk(before[index]) if isinstance(child, ast.Name)
        } & local
        more = {index for index, item in enumerate(before) if index not in wanted and _changes(item, names)}
        if not more:
            return [before[index] for index in sorted(wanted)]
        wanted |= more


def _changes(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement sets one of these variables or changes the object that one holds."""
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and item.id in names:
            return True
        if isinstance(item, (ast.Subscript, ast.Attribute)) and isinstance(item.ctx, ast.Store):
            base: ast.expr = item
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name) and base.id in names:
                return True
        if (
            isinstance(item, ast.Expr)
            and isinstance(item.value, ast.Call)
            and isinstance(item.value.func, ast.Attribute)
        ):
            owner = item.value.func.value
            if isinstance(owner, ast.Name) and owner.id in names:
                return True
    return False


@lru_cache(maxsize=8192)
def _assigns_attribute(node: ast.AST, name: str) -> bool:
    for item in ast.walk(node):
        targets = (
            item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else ()
        )
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else (target,):
                if (
                    isinstance(part, ast.Attribute)
                    and part.attr == name
                    and isinstance(part.value, ast.Name)
                    and part.value.id == "self"
                ):
                    return True
    return False


def _makes_worker(node: ast.AST) -> bool:
    """Whether a method sets the worker to something other than None."""
    for item in ast.walk(node):
        if isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Attribute) and target.attr == WORKER and isinstance(item.value, ast.Call):
                    return True
    return False


def _returns(node: ast.If) -> bool:
    return any(isinstance(item, (ast.Return, ast.Raise)) for item in ast.walk(node))
