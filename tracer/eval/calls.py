"""Calls: binding arguments to parameters, running bodies, building instances."""

from __future__ import annotations

import ast
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.exits import Dead, Raised, Signal
from pathtrace.tracer.eval.objects import find_in_class, get_attr
from pathtrace.tracer.eval.operators import roots_of, show
from pathtrace.tracer.eval.scopes import Env, local_names
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    BoundV,
    ClassV,
    Descriptor,
    DictV,
    External,
    FunctionV,
    Instance,
    LazyModule,
    LazyName,
    Native,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

MOST_DEPTH = 120


class CallReads(NamedTuple):
    """Which reads of a call made its result: those of its ``return`` expressions.

    Attributes:
        function: what was called.
        end: the number of reads when the call was over.
        returns: first read, and the one after the last, of each ``return`` that was reached.
        b0: the number of branches before the call.
        b1: and after it.
    """

    function: FunctionV
    end: int
    returns: tuple[tuple[int, int], ...]
    b0: int
    b1: int


class Options(NamedTuple):
    """The options that a function of the tree adds to a parser, under these values of the variables it read."""

    variables: tuple[tuple[str, Any], ...]
    actions: tuple[Any, ...]


def call(m: Machine, function: Any, args: Args) -> Any:
    """Call any value. An unknown callee gives an unknown result."""
    if args.spread is not None:
        return call_spread(m, function, args)
    kind = type(function)
    if kind is FunctionV:
        return call_function(m, function, args)
    if kind is BoundV:
        bound = Args([function.self, *args.pos], args.kw)
        bound.pos_from = [args.self_from, *args.pos_from]
        bound.kw_from = args.kw_from
        bound.star_unknown = args.star_unknown
        return call(m, function.function, bound)
    if kind is Native:
        return function.call(m, args)
    if kind is ClassV:
        return instantiate(m, function, args)
    if kind is Guarded:
        return m.fork([(test, partial(call, m, leaf, args)) for test, leaf in m.split(function)])
    if kind in (LazyModule, LazyName):
        return call(m, m.resolve(function), args)
    if kind is Instance:
        method = find_in_class(m, function.cls, "__call__")
        if method is not ABSENT:
            return call(m, BoundV(method, function), args)
        return m.external_call(f"{show(function)}", args, function)
    if kind is External:
        return m.external_call(function.path, args, function)
    if kind is Unknown:
        return m.external_call(function.text, args, function)
    if isinstance(function, type):
        return m.call_type(function, args)
    if kind is Descriptor:
        return call(m, function.function, args)
    if kind is TypingV:
        return Unknown(f"{show(function)}()", frozenset())
    m.throw(TypeError, f"'{m.type_name(function)}' object is not callable")


def call_function(m: Machine, function: FunctionV, args: Args) -> Any:
    """Run a function of the tree."""
    m.entered.add(function.file)
    model = m.models.get((function.module.name, function.qualname))
    if model is not None:
        return model(m, function, args)
    if m.depth > MOST_DEPTH and m.pc is True:
        m.give_up(f"calls nested deeper than {MOST_DEPTH}")
    if m.depth > MOST_DEPTH or _recurses_on_unknown(m, function, args):
        return Unknown(f"{function.name}() (calls nested too deep)", frozenset())
    parser = _fresh_parser(args) if m.pc is True else None
    if parser is not None:
        known = m.external_state.get(("parser", id(function.node)))
        if known is not None and all(m.environ.slots.get(name, ABSENT) == value for name, value in known.variables):
            m.env_reads.update((name, m.env_reads.get(name, 0) + 1) for name, _value in known.variables)
            m.store(parser.slots, "*actions*", known.actions)
            return None
        read_before = dict(m.env_reads)
    node = function.node
    env = Env(function.env, function.module, local_names(node), function)
    file, line, ctrl = m.file, m.line, m.ctrl
    bind_arguments(m, function, args, env)
    m.depth += 1
    m.file = function.file
    m.stack.append((function, file, line))
    r0, b0, returns, m.returns = len(m.reads), len(m.branches), m.returns, []
    try:
        if isinstance(node, ast.Lambda):
            return m.eval(node.body, env)
        if env.is_generator:
            return _run_generator(m, node, env)
        with m.timeless() if parser is not None else nullcontext():
            result = m.run_frame("function", lambda: _run_body(m, node, env))
        if m.opaque is not None and any(_is_worker(m, leaf) for leaf in m.conditions.terminals(result)):
            m.choosers.add(id(node))
            _note_choice(m, result)
        if parser is not None and m.pc is True and result is None:
            names = [name for name, count in m.env_reads.items() if count != read_before.get(name)]
            variables = tuple((name, m.environ.slots.get(name, ABSENT)) for name in names)
            if all(value is ABSENT or isinstance(value, str) for _name, value in variables):
                m.external_state[("parser", id(function.node))] = Options(variables, parser.slots["*actions*"])
        return result
    finally:
        if m.returns and len(m.reads) > r0:
            made = CallReads(function, len(m.reads), tuple(m.returns), b0, len(m.branches))
            m.calls.setdefault(r0, []).append(made)
        m.returns = returns
        m.stack.pop()
        m.depth -= 1
        m.file, m.line, m.ctrl = file, line, ctrl


def _note_choice(m: Machine, value: Any) -> None:
    """Remember the line where each worker class was first taken."""
    for leaf in m.conditions.terminals(value):
        if _is_worker(m, leaf):
            cls = leaf.cls if type(leaf) is Instance else leaf
            m.chosen_at.setdefault((cls.module, cls.name), (m.file, m.line))


def _is_worker(m: Machine, value: Any) -> bool:
    """Whether a value is a worker class, or an instance of one."""
    cls = value.cls if type(value) is Instance else value
    return isinstance(cls, ClassV) and m.opaque is not None and m.opaque(cls)


def _fresh_parser(args: Args) -> Any:
    """The empty parser that a call fills, if that is what it does: its options are the same every time."""
    last = args.pos[-1] if args.pos else None
    if type(last) is Instance and last.slots.get("*actions*") == () and len(args.pos) <= 2 and not args.kw:
        return last
    return None


def _recurses_on_unknown(m: Machine, function: FunctionV, args: Args) -> bool:
    """Recursion that only an unknown value drives would not end."""
    if not any(type(value) in (Unknown, Guarded) for value in args.pos):
        return False
    return sum(1 for frame in m.stack if frame[0] is function or frame[0].node is function.node) >= 2


def _run_body(m: Machine, node: Any, env: Env) -> Any:
    signal = m.exec_block(node.body, env)
    if signal is not None and signal.kind == "return":
        return signal.value
    return None


def _run_generator(m: Machine, node: Any, env: Env) -> Any:
    items: list[Any] = []
    start = m.pc

    def collect(value: Any) -> None:
        from pathtrace.tracer.eval.values import Maybe

        if m.pc is start:
            items.append(value)
        else:
            items.append(Maybe(m.pc, value))

    if m.on_yield is not None and m.on_yield[0] is None:
        env.on_yield = m.on_yield[1]
        m.on_yield = None
    else:
        env.on_yield = collect
    m.run_frame("function", lambda: _run_body(m, node, env))
    return m.new_list(tuple(items))


def bind_arguments(m: Machine, function: FunctionV, args: Args, env: Env) -> None:
    """Bind arguments as Python does; raises the TypeError that Python would."""
    spec = function.node.args
    slots = env.slots
    pos, pos_from, kw = args.pos, args.pos_from, args.kw
    names = [*spec.posonlyargs, *spec.args]
    taken = min(len(names), len(pos))
    kw_left = dict(kw) if kw else {}
    for index in range(taken):
        name = names[index].arg
        if name in kw_left and index >= len(spec.posonlyargs):
            m.throw(TypeError, f"{function.name}() got multiple values for argument '{name}'")
        m.store(slots, name, pos[index], pos_from[index] if index < len(pos_from) else None)
    if len(pos) > len(names) and spec.vararg is None:
        m.throw(
            TypeError,
            f"{function.name}() takes {len(names)} positional arguments but {len(pos)} were given",
        )
    if spec.vararg is not None:
        extra: Any = tuple(pos[len(names) :])
        m.store(slots, spec.vararg.arg, extra)
    first_default = len(names) - len(function.defaults)
    missing: list[str] = []
    for index in range(taken, len(names)):
        name = names[index].arg
        if name in kw_left:
            default = function.defaults[index - first_default] if index >= first_default else ABSENT
            m.store(slots, name, _or_default(m, kw_left.pop(name), default), args.kw_from.get(name))
        elif args.star_unknown is not None:
            m.store(slots, name, Unknown(f"{args.star_unknown.text}[{name!r}]", args.star_unknown.roots))
        elif index >= first_default:
            m.store(slots, name, function.defaults[index - first_default])
        else:
            missing.append(name)
    for parameter in spec.kwonlyargs:
        name = parameter.arg
        if name in kw_left:
            default = function.kw_defaults.get(name, ABSENT)
            m.store(slots, name, _or_default(m, kw_left.pop(name), default), args.kw_from.get(name))
        elif name in function.kw_defaults:
            m.store(slots, name, function.kw_defaults[name])
        elif args.star_unknown is not None:
            m.store(slots, name, Unknown(f"{args.star_unknown.text}[{name!r}]", args.star_unknown.roots))
        else:
            missing.append(name)
    if missing:
        word = "argument" if len(missing) == 1 else "arguments"
        listed = " and ".join(f"'{name}'" for name in missing)
        m.throw(TypeError, f"{function.name}() missing {len(missing)} required positional {word}: {listed}")
    if spec.kwarg is not None:
        rest = DictV()
        for name, value in kw_left.items():
            m.store(rest.slots, name, value, args.kw_from.get(name))
        if args.star_unknown is not None:
            for root in args.star_unknown.roots or {args.star_unknown.text}:
                rest.havoc[root] = True
        m.store(slots, spec.kwarg.arg, rest)
    elif kw_left:
        name = next(iter(kw_left))
        m.throw(TypeError, f"{function.name}() got an unexpected keyword argument '{name}'")


def _or_default(m: Machine, value: Any, default: Any) -> Any:
    """An argument that ``**kwargs`` may or may not hold."""
    if type(value) is not Guarded or default is ABSENT:
        return value
    test, present = m.presence(value)
    return present if test is True else m.conditions.ite(test, present, default)


def instantiate(m: Machine, cls: ClassV, args: Args) -> Any:
    """``cls(*args)``: metaclass ``__call__``, ``__new__``, ``__init__``; enums look a member up."""
    if cls.meta is not None:
        maker = find_in_class(m, cls.meta, "__call__")
        if maker is not ABSENT:
            return call(m, BoundV(maker, cls), args)
    return make_instance(m, cls, args)


def make_instance(m: Machine, cls: ClassV, args: Args) -> Any:
    """``type.__call__``."""
    if cls.kind == "enum" and cls.slots.get("_member_names_"):
        return m.enum_lookup(cls, args)
    if m.opaque is not None and m.opaque(cls):
        made = Instance(cls)
        _note_choice(m, made)
        return made
    maker = find_in_class(m, cls, "__new__")
    if maker is not ABSENT:
        function = maker.function if type(maker) is Descriptor else maker
        obj = call(m, function, Args([cls, *args.pos], args.kw))
        if not (type(obj) is Instance and isinstance(obj.cls, ClassV) and cls in obj.cls.mro):
            return obj
    else:
        obj = m.new_instance(cls, Args([cls, *args.pos], args.kw))
        if type(obj) is not Instance:
            return obj
    init = find_in_class(m, cls, "__init__")
    if init is not ABSENT:
        call(m, BoundV(init, obj), args)
    else:
        m.base_init(obj, args)
    return obj


def call_args(m: Machine, node: ast.Call, env: Env) -> Args:
    """Evaluate the arguments of a call, with the reads that each was made from."""
    args = Args()
    for item in node.args:
        r0 = len(m.reads)
        if isinstance(item, ast.Starred):
            value = m.eval(item.value, env)
            for test, element in m.elements(value):
                if test is not True:
                    element = Unknown(f"element of {show(value)}", roots_of(m, test, value))
                args.pos.append(element)
                args.pos_from.append(m.written(r0))
        else:
            args.pos.append(m.eval(item, env))
            args.pos_from.append(m.written(r0))
    for keyword in node.keywords:
        r0 = len(m.reads)
        value = m.eval(keyword.value, env)
        if keyword.arg is not None:
            args.kw[keyword.arg] = value
            args.kw_from[keyword.arg] = m.written(r0)
            continue
        if type(value) is Guarded and len(cases := m.split(value)) > 1:
            args.spread = (cases, r0)
        else:
            spread(m, args, m.split(value)[0][1], r0)
    return args


def spread(m: Machine, args: Args, value: Any, r0: int) -> None:
    """Add ``**value`` to the arguments of a call."""
    if type(value) is DictV:
        for key, stored in value.slots.items():
            test, present = m.presence(stored)
            if test is False or not isinstance(key, str):
                continue
            args.kw[key] = present if test is True else m.conditions.restrict(stored, m.pc)  # may hold ABSENT
            args.kw_from[key] = m.writers.get((value.slots.number, key)) or m.written(r0)
        if value.havoc:
            args.star_unknown = Unknown(show(value), frozenset(value.havoc))
    elif type(value) in (Unknown, External):
        args.star_unknown = Unknown(show(value), roots_of(m, value))


def call_spread(m: Machine, function: Any, args: Args) -> Any:
    """A call with ``**value`` where the value differs by case: one call a case."""
    cases, r0 = args.spread

    def one(leaf: Any) -> Any:
        made = Args(list(args.pos), dict(args.kw))
        made.pos_from, made.kw_from = args.pos_from, dict(args.kw_from)
        made.star_unknown = args.star_unknown
        spread(m, made, leaf, r0)
        return call(m, function, made)

    return m.fork([(test, partial(one, leaf)) for test, leaf in cases])


def attempt(m: Machine, thunk: Any, kind: type, default: Any) -> Any:
    """The value of ``thunk()``, or ``default`` where it raises ``kind`` (conditionally or not)."""
    from pathtrace.tracer.eval.statements import catch

    return catch(m, thunk, lambda raised: m.exception_matches(raised.exc, kind), lambda _raised: default)


__all__ = ["Dead", "Raised", "Signal", "attempt", "call", "call_args", "call_function", "get_attr", "instantiate"]
