"""The machine: state, modules, names, exceptions, and the tables that evaluation dispatches on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from time import process_time
from typing import Any, NoReturn

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.eval import calls, containers, objects, operators, statements, text
from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.exits import Raised, Signal
from pathtrace.tracer.eval.expressions import EXPRESSIONS
from pathtrace.tracer.eval.forks import Forks
from pathtrace.tracer.eval.imports import in_tree
from pathtrace.tracer.eval.library import builtin, externals, records
from pathtrace.tracer.eval.scopes import Env, module_env
from pathtrace.tracer.eval.slots import NUMBERING
from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.eval.statements import STATEMENTS
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    ClassV,
    DictV,
    External,
    Instance,
    LazyModule,
    LazyName,
    ListV,
    Maybe,
    ModuleV,
    SetV,
    Unknown,
)

MOST_STEPS = 3_000_000
MOST_SECONDS = 120
_FORGOTTEN = (0, None, None)
_LASTING = ("present", "environ", "yaml")


class GiveUp(Exception):
    """The evaluation would not end in reasonable time; ``reason`` and the place say where."""

    def __init__(self, reason: str, file: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.line = line


class Machine(Forks):
    """Evaluates code of one tree under one set of facts.

    Args:
        sources: the tree's modules, parsed.
        environ: the variables of the launch.
        facts: facts about the machine (``sm``, ``gpus``, ``pkg.NAME`` ...); see the assumptions table.
    """

    def __init__(self, sources: Sources, environ: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        super().__init__()
        self.sources = sources
        self.facts = dict(facts)
        self.facts_used: set[str] = set()
        self.entered: set[str] = set()  # files of which a function has run
        self.modules: dict[str, ModuleV] = {}
        self.present = {
            "version.cuda",
            "version.hip",
            "sys.version_info",
            "torch.__version__",
            "arch",
            "gpu_memory_mib",
            "sm",
            "gpus",
        }
        self.equalities: dict[str, list[tuple[Any, Any]]] = {}
        self.builtins = builtin.table()
        self.branches: list[Any] = []
        self.returns: list[tuple[int, int]] = []
        self.calls: dict[int, list[calls.CallReads]] = {}
        self.operands: list[Any] | None = None
        self.stack: list[tuple[Any, str, int]] = []
        self.handling: list[Raised] = []
        self.try_depth: list[Any] = []
        self.on_yield: tuple[Any, Callable[[Any], Any]] | None = None
        self.models: dict[tuple[str, str], Callable[..., Any]] = {}
        self.opaque: Callable[[ClassV], bool] | None = None
        self.forgive: Callable[[Env, str], Any] | None = None
        self.choosers: set[int] = set()
        self.chosen_at: dict[tuple[str, str], tuple[str, int]] = {}
        self.depth = 0
        self.steps = 0
        self.log: list[tuple[str, Any, str, int, Any]] = []
        self.environ = DictV(dict(environ))
        self.env_reads: dict[str, int] = {}
        self.load_reads: dict[str, Any] = {}
        self.loading = 0
        self.unfollowed: dict[str, tuple[str, int]] = {}
        self.external_state: dict[Any, Any] = {}
        self.closed_packages: dict[str, str] = {}  # packages that end the evaluation, with what to say
        self.argv: list[str] = []
        self.started = process_time()
        self.loaded_writers: dict[tuple[int, Any], Any] = {}
        self.loaded_reads: list[tuple[int, int]] = []

    # ------------------------------------------------------------------ evaluation
    def eval(self, node: ast.expr, env: Env) -> Any:
        """The value of an expression."""
        expression = EXPRESSIONS.get(type(node))
        if expression is None:
            self.give_up(f"an expression that is not followed ({type(node).__name__})")
        return expression(self, node, env)

    def operand(self, node: ast.expr, env: Env) -> Any:
        """The value of an operand of a condition, noted for the branch that is being decided."""
        kind = type(node)
        if self.operands is None or kind in (ast.BoolOp, ast.Compare, ast.Constant):
            return EXPRESSIONS[kind](self, node, env)
        if kind is ast.UnaryOp and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return EXPRESSIONS[kind](self, node, env)
        operands, self.operands = self.operands, None
        r0 = len(self.reads)
        try:
            value = EXPRESSIONS[kind](self, node, env)
        finally:
            self.operands = operands
        if kind not in (ast.List, ast.Tuple, ast.Set):
            operands.append((node, value, r0, len(self.reads)))
        return value

    def exec_block(self, body: list[ast.stmt], env: Env) -> Signal | None:
        """Run statements in order until one leaves the block."""
        for node in body:
            self.line = node.lineno
            self.spend()
            statement = STATEMENTS.get(type(node))
            if statement is None:
                self.give_up(f"a statement that is not followed ({type(node).__name__})")
            signal = statement(self, node, env)
            if signal is not None:
                return signal
        return None

    def spend(self) -> None:
        """Count a step; an evaluation that takes too many, or too long, ends here."""
        self.steps += 1
        if self.steps & 255 == 0:
            if self.steps > MOST_STEPS:
                self.give_up("more steps than the evaluator allows")
            if process_time() - self.started > MOST_SECONDS:
                self.give_up(f"more than {MOST_SECONDS} s of evaluation")

    def renew(self) -> None:
        """Begin to count anew."""
        self.steps = 0
        self.started = process_time()

    def give_up(self, reason: str) -> NoReturn:
        """Stop the evaluation: the answer is unknown, because of ``reason`` at this line."""
        raise GiveUp(reason, self.file, self.line)

    # ------------------------------------------------------------------ facts
    def fact(self, name: str, text: str) -> Any:
        """A fact about the machine, or the unknown that stands for it."""
        self.facts_used.add(name)
        value = self.facts.get(name, ABSENT)
        return Unknown(text, frozenset({name})) if value is ABSENT else value

    def is_device(self, name: str) -> Any:
        """Whether the server runs on this kind of device."""
        device = self.fact("device", "device")
        return device == name if isinstance(device, str) else self.ask(f"device == {name!r}", frozenset({"device"}))

    # ------------------------------------------------------------------ conditions
    def ask(self, question: str, roots: frozenset[str]) -> Any:
        """The condition that a question about unknown facts is, under what is already decided."""
        test = self.conditions.atom(question, question, roots, self.file, self.line)
        return self.conditions.restrict(test, self.pc)

    def question(self, question: str, values: tuple[Any, ...]) -> Any:
        """Like :meth:`ask`, waiting for whatever makes ``values`` unknown."""
        return self.ask(question, operators.roots_of(self, *values))

    def leave_if(self, test: Any, kind: type, *args: Any) -> None:
        """Raise where ``test`` holds; go on elsewhere."""
        self.fork([(test, lambda: self.throw(kind, *args)), (self.conditions.negation(test), lambda: None)])

    # ------------------------------------------------------------------ exceptions
    def throw(self, kind: type, *args: Any) -> NoReturn:
        """Raise a builtin exception of the evaluated code at the current line."""
        exc = Instance(kind)
        exc.slots["args"] = tuple(args)
        raised = Raised(exc, self.file, self.line)
        raised.ctrl = self.ctrl
        raise raised

    def throw_import(self, message: str, missing: bool = False) -> NoReturn:
        """Raise ImportError (``missing``: ModuleNotFoundError)."""
        self.throw(ModuleNotFoundError if missing else ImportError, message)

    def is_exception(self, cls: Any) -> bool:
        """Whether a class is an exception."""
        if isinstance(cls, ClassV):
            return any(isinstance(base, type) and issubclass(base, BaseException) for base in cls.mro)
        return isinstance(cls, type) and issubclass(cls, BaseException)

    def exception_matches(self, exc: Instance, kinds: Any) -> bool:
        """Whether an ``except kinds`` clause takes this exception."""
        if type(kinds) is tuple:
            return any(self.exception_matches(exc, kind) for kind in kinds)
        if kinds in (Exception, BaseException) and type(exc.cls) is External:
            return True
        return builtin.is_subclass(self, exc.cls, kinds) is True

    # ------------------------------------------------------------------ names
    def bind_name(self, name: str, value: Any, env: Env, write: Any) -> None:
        """Bind a name where Python would: module, class, function, or an outer function."""
        slots = env.slots
        if name in env.globals:
            slots = env.module.slots
        elif name in env.nonlocals:
            scope = env.outer
            while scope is not None and not (scope.locals is not None and name in scope.locals):
                scope = scope.outer
            if scope is not None:
                slots = scope.slots
        self.store(slots, name, value, write)

    def assign(self, target: ast.expr, value: Any, env: Env, write: Any) -> None:
        """Assign to a target: name, attribute, item or sequence of targets."""
        kind = type(target)
        if isinstance(target, ast.Name):
            self.bind_name(target.id, value, env, write)
        elif isinstance(target, ast.Attribute):
            obj = self.eval(target.value, env)
            objects.set_attr(self, obj, target.attr, value, write)
        elif isinstance(target, ast.Subscript):
            obj = self.eval(target.value, env)
            if isinstance(target.slice, ast.Slice):
                new = tuple(item if test is True else Maybe(test, item) for test, item in self.elements(value))
                self.set_slice(obj, self.eval(target.slice, env), new)
                return
            key = self.eval(target.slice, env)
            containers.set_item(self, obj, key, value, write)
        elif isinstance(target, (ast.Tuple, ast.List)):
            star = next((index for index, item in enumerate(target.elts) if isinstance(item, ast.Starred)), None)
            for item, part in zip(target.elts, containers.unpack(self, value, len(target.elts), star), strict=True):
                self.assign(item.value if isinstance(item, ast.Starred) else item, part, env, write)
        else:
            self.unfollowed.setdefault(f"assignment to {kind.__name__}", (self.file, self.line))

    def forgiving(self, env: Env, ident: str) -> bool:
        """Whether a missing local is to be worked out on demand (a method evaluated in part)."""
        return self.forgive is not None and env.function is not None and env.function.slots.get("*partial*") is True

    def forgiven(self, env: Env, ident: str) -> Any:
        """The value of such a local."""
        assert self.forgive is not None
        return self.forgive(env, ident)

    # ------------------------------------------------------------------ modules
    def find_module(self, name: str) -> Any:
        """The source of a module of the tree, or None."""
        return self.sources.find(name)

    def module(self, name: str) -> ModuleV:
        """The module object, created at first need; not run yet."""
        found = self.modules.get(name)
        if found is None:
            for package, sentence in self.closed_packages.items():
                if name == package or name.startswith(package + "."):
                    raise BadInput(sentence, self.file, self.line)
            source = self.sources.find(name)
            if source is None:
                self.throw_import(f"No module named '{name}'", missing=True)
            found = self.modules[name] = ModuleV(name, source.path, source.is_package)
        return found

    def loaded(self, name: str) -> Any:
        """A submodule that exists, for ``package.submodule``."""
        if name in self.modules or self.sources.find(name) is not None:
            return self.module(name)
        return None

    def touch_packages(self, name: str) -> None:
        """Run the packages that importing a module runs."""
        parts = name.split(".")
        for count in range(1, len(parts)):
            package = ".".join(parts[:count])
            if self.sources.find(package) is not None:
                self.run_module(self.module(package))

    def run_module(self, module: ModuleV) -> None:
        """Run a module's body once. What an import does is not undone with the branch that imported it."""
        if module.state != "new":
            return
        self.touch_packages(module.name)
        if module.state != "new":
            return  # its package ran it
        module.state = "running"
        body = self.sources.body(module.name)
        module.slots.setdefault("__name__", module.name)
        module.slots.setdefault("__file__", module.file)
        if body is None:
            module.state = "unreadable"
            reason, line = self.sources.broken.get(module.file, ("", 1))
            raise GiveUp(f"it is not Python that can be read here ({reason})", module.file, line)
        r0 = len(self.reads)
        self.loading += 1
        try:
            with (
                NUMBERING.signed(-1),
                self.aside(
                    pc=True,
                    trail=[],
                    parted=inf,
                    file=module.file,
                    line=self.line,
                    ctrl=None,
                    operands=None,
                    stack=[],
                    depth=self.depth,
                    opaque=None,
                ),
            ):
                self.run_frame("module", lambda: self.exec_block(body, module_env(module)))
                module.state = "done"
                self.check_own_names(module)
                for slots, key, _old, _write in self.trail:
                    self.loaded_writers[(slots.number, key)] = self.writers.get((slots.number, key))
        except BaseException as error:
            if isinstance(error, Raised):
                error.importing = True
            module.state = "new"
            module.slots.clear()
            raise
        finally:
            self.loading -= 1
            if not self.loading:
                self.loaded_reads.append((r0, len(self.reads)))

    @contextmanager
    def aside(self, **values: Any) -> Iterator[None]:
        """Inside, these attributes of the machine have other values."""
        saved = {name: getattr(self, name) for name in values}
        vars(self).update(values)
        try:
            yield
        finally:
            vars(self).update(saved)

    def check_own_names(self, module: ModuleV) -> None:
        """A name imported from a module that was still running must be there by the time it is done."""
        for name, value in list(module.slots.items()):
            if type(value) is not LazyName or not value.early:
                continue
            other = self.modules.get(value.module)
            if other is module and name == value.name:
                self.throw_import(f"cannot import name '{name}' from partially initialized module '{module.name}'")
            if other is not None and other.state == "done" and value.name not in other.slots:
                self.throw_import(f"cannot import name '{value.name}' from '{other.name}' ({other.file})")

    @contextmanager
    def timeless(self) -> Iterator[None]:
        """Work whose result does not depend on the branch that asked for it first, and stays."""
        with NUMBERING.signed(-1), self.aside(pc=True, trail=[], parted=inf):
            yield

    def reset(self, environ: Mapping[str, Any]) -> bool:
        """Make ready for another launch with the modules that are loaded.

        False where they were loaded under variables that differ now: then a new machine is needed.
        """
        for name, value in self.load_reads.items():
            if environ.get(name, ABSENT) != value:
                return False
        self.pc = True
        self.undo(0)
        for slots in (self.environ.slots,):
            slots.clear()
            slots.update(environ)
        self.writers.clear()
        self.writers.update(self.loaded_writers)
        self.objects = {number: obj for number, obj in self.objects.items() if number < 0}
        self.frames, self.stack, self.handling, self.try_depth = [], [], [], []
        self.forget_reads()
        self.branches, self.log = [], []
        self.returns, self.calls = [], {}
        self.env_reads = dict.fromkeys(self.load_reads, 1)
        self.depth = 0
        self.renew()
        self.unknowns = {}
        self.conditions.restart()
        self.choosers, self.chosen_at = set(), {}
        self.ctrl = self.operands = self.on_yield = self.opaque = self.forgive = None
        self.external_state = {
            key: value for key, value in self.external_state.items() if isinstance(key, tuple) or key in _LASTING
        }
        self.unfollowed = dict(self.unfollowed)
        return True

    def forget_reads(self) -> None:
        """Keep only the reads of loading modules, where they are: what was written then points to them."""
        done = 0
        for r0, r1 in self.loaded_reads:
            self.reads[done:r0] = [_FORGOTTEN] * (r0 - done)
            done = r1
        del self.reads[done:]

    def import_module(self, name: str) -> Any:
        """``importlib.import_module(name)``."""
        if not in_tree(name):
            return self.external(name)
        if self.sources.find(name) is None:
            self.throw_import(f"No module named '{name}'", missing=True)
        module = self.module(name)
        self.run_module(module)
        return module

    def resolve(self, lazy: Any) -> Any:
        """What a lazily imported module or name stands for."""
        from pathtrace.tracer.eval.imports import imported

        for _ in range(50):
            if type(lazy) is LazyModule:
                return self.module(lazy.name)
            if type(lazy) is not LazyName:
                return lazy
            lazy = imported(self, lazy.module, lazy.name)
        self.give_up("an import that leads back to itself")

    def resolve_cases(self, value: Any) -> Any:
        """Resolve lazily imported names inside a guarded value."""
        if type(value) is not Guarded:
            return self.resolve(value)
        if any(type(leaf) in (LazyName, LazyModule) for leaf in self.conditions.terminals(value)):
            return self.lift(self.resolve, value)
        return value

    def star_imported(self, module: ModuleV, name: str) -> Any:
        """A name that only ``from x import *`` can have bound."""
        for base in module.slots.get("*stars*", ()):
            if name.startswith("_") or self.sources.find(base) is None:
                continue
            other = self.module(base)
            self.run_module(other)
            value = other.slots.get(name, ABSENT)
            if value is ABSENT:
                value = self.star_imported(other, name)
            if value is not ABSENT:
                return self.resolve(value)
        return External(name) if module.slots.get("*star*") else ABSENT

    def mentions(self, env: Env, name: str) -> bool:
        """Whether a module's text mentions an imported name outside the import itself."""
        return self.sources.mentions(env.module.name, name) > 1

    def postponed(self, env: Env) -> bool:
        """Whether annotations are kept as text (``from __future__ import annotations``)."""
        return bool(env.module.slots.get("*postponed*"))

    def require_package(self, name: str, env: Env) -> None:
        """Import a package from outside the tree: it is there, is not, or that is an unknown fact."""
        externals.require_package(self, name)

    # ------------------------------------------------------------------ outside the tree
    def external(self, path: str) -> Any:
        """The object at a dotted path outside the tree: a model of it, or its name."""
        return externals.find(self, path)

    def external_call(self, path: str, args: Args, function: Any) -> Any:
        """Call something outside the tree that has no model."""
        return externals.call_unmodelled(self, path, args, function)

    def external_attribute(self, obj: Any, base: External, name: str) -> Any:
        """An attribute that only a base class outside the tree may have."""
        return externals.inherited(self, obj, base, name)

    def external_super(self, obj: Any, base: External, name: str) -> Any:
        """``super().name`` where the next class is outside the tree."""
        return externals.super_method(self, obj, base, name)

    def external_item(self, obj: Any, key: Any) -> Any:
        """``external[key]``."""
        return Unknown(f"{operators.show(obj)}[{operators.show(key)}]", operators.roots_of(self, obj, key))

    # ------------------------------------------------------------------ containers
    def new_list(self, items: tuple[Any, ...]) -> ListV:
        """A new list."""
        return ListV(items)

    def new_set(self, items: tuple[Any, ...]) -> Any:
        """A new set."""
        if all(isinstance(item, str) for item in items):
            return SetV(dict.fromkeys(items, True))
        slots: dict[Any, Any] = {}
        for item in items:
            test, value = (item.test, item.value) if type(item) is Maybe else (True, item)
            for case, leaf in self.split(value):
                key = containers.hash_key(self, leaf)
                if key is ABSENT:
                    self.throw(TypeError, f"unhashable type: '{self.type_name(leaf)}'")
                slots[key] = self.conditions.either(slots.get(key) or False, self.conditions.both(test, case))
        return SetV(
            {key: True if test is True else self.conditions.ite(test, True, ABSENT) for key, test in slots.items()}
        )

    def set_items(self, obj: ListV, change: Callable[[tuple[Any, ...]], Any]) -> None:
        """Replace a list's contents by ``change(contents)``."""
        items = obj.slots[""]
        if type(items) is tuple:
            self.store(obj.slots, "", change(items), self.written(len(self.reads)))
        elif type(items) is Guarded:
            self.store(obj.slots, "", self.lift(lambda leaf: change(leaf) if type(leaf) is tuple else leaf, items))

    def set_slice(self, obj: Any, where: Any, new: tuple[Any, ...]) -> None:
        """``obj[a:b] = new``; what is not followed makes the list unknown."""
        if type(obj) is not ListV:
            return
        items = self.plain_items(obj)
        if items is None or type(where) is not slice:
            self.store(obj.slots, "", Unknown("list", frozenset()))
            return
        changed = list(items)
        self.native_call(changed.__setitem__, where, list(new))
        self.store(obj.slots, "", tuple(changed), self.written(len(self.reads)))

    def plain_items(self, obj: ListV) -> Any:
        """A list's elements if all of them are there unconditionally, else None."""
        items = obj.slots[""]
        if type(items) is not tuple or any(type(item) is Maybe for item in items):
            return None
        return items

    # ------------------------------------------------------------------ host values
    def host(self, value: Any) -> Any:
        """A host copy of a fully known value; ABSENT where some part is unknown."""
        value = operators.unbox(value)
        if operators.plain(value):
            return value
        kind = type(value)
        if kind is ListV or kind is tuple:
            items = value if kind is tuple else value.slots[""]
            if type(items) is not tuple:
                return ABSENT
            hosts = [ABSENT if type(item) is Maybe else self.host(item) for item in items]
            if any(item is ABSENT for item in hosts):
                return ABSENT
            return tuple(hosts) if kind is tuple else hosts
        if kind is DictV and not value.havoc:
            result = {key: self.host(item) for key, item in value.slots.items() if item is not ABSENT}
            return ABSENT if any(item is ABSENT for item in result.values()) else result
        if kind is SetV:
            if any(item is not True for item in value.slots.values() if item is not ABSENT):
                return ABSENT
            return {key for key, item in value.slots.items() if item is True}
        return ABSENT

    def lower(self, value: Any) -> Any:
        """An evaluated copy of a host value."""
        if isinstance(value, list):
            return self.new_list(tuple(self.lower(item) for item in value))
        if isinstance(value, tuple):
            return tuple(self.lower(item) for item in value)
        if isinstance(value, dict):
            return DictV({key: self.lower(item) for key, item in value.items()})
        if isinstance(value, (set, frozenset)):
            return SetV(dict.fromkeys(value, True), isinstance(value, frozenset))
        if operators.plain(value) or isinstance(value, (slice, Unknown)):
            return value
        return Unknown(type(value).__name__, frozenset())

    def native_call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a host function on host values; its exceptions become the tree's."""
        try:
            return function(*args, **kwargs)
        except (RecursionError, MemoryError):
            raise
        except Exception as error:  # whatever the function raises is what the tree's code would see
            self.throw(type(error), *[arg if isinstance(arg, (str, int)) else str(arg) for arg in error.args])

    def native_or_unknown(self, name: str, function: Callable[..., Any], args: Args) -> Any:
        """Call a pure host function if every argument is known."""
        if any(type(value) is Guarded for value in (*args.pos, *args.kw.values())):
            count = len(args.pos)
            return self.lift(
                lambda *leaves: self.native_or_unknown(
                    name, function, Args(list(leaves[:count]), dict(zip(args.kw, leaves[count:], strict=True)))
                ),
                *args.pos,
                *args.kw.values(),
            )
        hosts = [self.host(value) for value in args.pos]
        named = {key: self.host(value) for key, value in args.kw.items()}
        if any(value is ABSENT for value in (*hosts, *named.values())) or args.star_unknown is not None:
            listed = ", ".join(operators.show(value) for value in args.pos)
            return Unknown(f"{name}({listed})", operators.roots_of(self, *args.pos, *args.kw.values()))
        return self.lower(self.native_call(function, *hosts, **named))

    # ------------------------------------------------------------------ attributes with a default
    def get_attr(self, obj: Any, name: str) -> Any:
        """``obj.name``."""
        return objects.get_attr(self, obj, name)

    def get_attr_or(self, obj: Any, name: str, default: Any) -> Any:
        """``getattr(obj, name, default)``."""
        return calls.attempt(self, lambda: objects.get_attr(self, obj, name, default), AttributeError, default)

    def has_attr(self, obj: Any, name: str) -> Any:
        """``hasattr(obj, name)``."""
        if type(obj) is Guarded:
            return self.lift(lambda leaf: self.has_attr(leaf, name), obj)
        if type(obj) in (Unknown, External):
            return self.ask(f"hasattr({operators.show(obj)}, {name!r})", operators.roots_of(self, obj))
        marker = Instance(object)
        value = self.get_attr_or(obj, name, marker)
        if type(value) is Unknown and type(obj) is Instance and externals.is_config(self, obj):
            return self.ask(f"hasattr({operators.show(obj)}, {name!r})", value.roots)
        missing = operators.identical(self, value, marker)
        return self.conditions.negation(missing)

    def attempt(self, thunk: Callable[[], Any], kind: type, default: Any) -> Any:
        """The value of ``thunk()``, or ``default`` where it raises ``kind``."""
        return calls.attempt(self, thunk, kind, default)

    def special_attr(self, obj: Instance, name: str) -> Any:
        """Attributes of modelled objects (configs, parsers, fields)."""
        return externals.special_attribute(self, obj, name)

    # ------------------------------------------------------------------ delegates
    call = calls.call
    set_attr = objects.set_attr
    find_in_class = objects.find_in_class
    presence = containers.presence
    hash_key = containers.hash_key
    lookup = containers.lookup
    set_item = containers.set_item
    get_item = containers.get_item
    delete_item = containers.delete_item
    get_slice = containers.get_slice
    elements = containers.elements
    element_sources = containers.element_sources
    unpack = containers.unpack
    copy_items = containers.copy_items
    contains = operators.contains
    text_of = text.text_of
    repr_of = text.repr_of
    format_value = text.format_value
    format_percent = text.format_percent
    text_of_template = text.text_of_template
    call_type = builtin.call_type
    type_of = builtin.type_of
    type_name = builtin.type_name
    sorted_items = builtin.sorted_items
    with_manager = statements.with_manager
    make_fields = records.make_fields
    field_objects = records.field_objects
    base_init = records.base_init
    new_instance = records.new_instance
    new_from_super = records.new_from_super
    build_class = records.build_class
    enum_lookup = records.enum_lookup
    enum_members = records.enum_members
    next_enum_value = records.next_enum_value
    iterate_class = records.iterate_class
    class_item = records.class_item
    object_method = records.object_method
    scope_call = records.scope_call
    match_pattern = records.match_pattern
    is_typing = externals.is_typing
    typing_host = externals.typing_host
    suppresses = externals.suppresses

    @staticmethod
    def outside_bases(cls: Any) -> list[External]:
        """Bases outside the tree whose attributes are not known."""
        return objects.outside_bases(cls)
