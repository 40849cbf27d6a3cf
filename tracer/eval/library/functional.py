"""``functools``, ``contextlib``, ``typing``, ``enum``, ``copy``, ``collections``: wrappers and small containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.library.records import replace, type_hints
from pathtrace.tracer.eval.operators import show
from pathtrace.tracer.eval.slots import Slots
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
    ListV,
    Native,
    SetV,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine


def _decorator(m: Machine, args: Args) -> Any:
    """A decorator that changes nothing an answer depends on (``lru_cache``, ``wraps``, ``final``)."""
    if len(args.pos) == 1 and not args.kw and isinstance(args.pos[0], (FunctionV, ClassV, Descriptor, BoundV, Native)):
        return args.pos[0]
    return Native("decorator", lambda _m, inner: inner.pos[0])


def _wraps(m: Machine, args: Args) -> Any:
    wrapped = args.pos[0]

    def apply(mm: Machine, inner: Args) -> Any:
        function = inner.pos[0]
        if isinstance(function, FunctionV):
            function.slots["__wrapped__"] = wrapped
            for name in ("__name__", "__qualname__"):
                value = mm.get_attr_or(wrapped, name, ABSENT) if isinstance(wrapped, FunctionV) else ABSENT
                if value is not ABSENT:
                    function.slots[name] = value
        return function

    return Native("wraps", apply)


def _memoised(m: Machine, args: Args) -> Any:
    """``lru_cache`` and ``cache``: the first call's result for equal known arguments."""
    if not (len(args.pos) == 1 and isinstance(args.pos[0], (FunctionV, Descriptor, BoundV, Native))):
        return Native("lru_cache", _memoised)
    function = args.pos[0]
    if not isinstance(function, FunctionV):
        return function
    memo = Slots()

    def run(mm: Machine, inner: Args) -> Any:
        key = tuple(mm.hash_key(value) for value in inner.pos) + tuple((k, mm.hash_key(v)) for k, v in inner.kw.items())
        known = any(type(value) in (Unknown, Guarded) for value in (*inner.pos, *inner.kw.values()))
        if known or ABSENT in key or inner.star_unknown is not None:
            return mm.call(function, inner)
        value = memo.get(key, ABSENT)
        if value is not ABSENT:
            mm.saw(memo, key)
            return mm.conditions.restrict(value, mm.pc)
        r0, before = len(mm.reads), mm.pc
        value = mm.call(function, inner)
        if mm.pc is before and (before is True or type(value) is not Guarded):
            mm.store(memo, key, value, mm.written(r0))
        return value

    def clear(mm: Machine, inner: Args) -> None:
        for key in list(memo):
            mm.store(memo, key, ABSENT)

    attrs = {
        "__name__": function.name,
        "__wrapped__": function,
        "method": True,
        "cache_clear": Native("cache_clear", clear),
    }
    return Native(function.name, run, attrs)


def _partial(m: Machine, args: Args) -> Any:
    function, pos, kw = args.pos[0], args.pos[1:], dict(args.kw)
    return Native(
        "partial", lambda mm, inner: mm.call(function, Args([*pos, *inner.pos], {**kw, **inner.kw})), {"func": function}
    )


def _reduce(m: Machine, args: Args) -> Any:
    values = [value for _test, value in m.elements(args.pos[1])]
    total = args.pos[2] if len(args.pos) > 2 else values.pop(0)
    for value in values:
        total = m.call(args.pos[0], Args([total, value]))
    return total


def _cached_property(m: Machine, args: Args) -> Any:
    return Descriptor("cached", args.pos[0])


def _contextmanager(m: Machine, args: Args) -> Any:
    function = args.pos[0]

    def enter(mm: Machine, inner: Args) -> Any:
        manager = Instance(External("contextlib.generator"))
        manager.slots["*generator*"] = (function, inner)
        return manager

    return Native("contextmanager", enter, {"method": True, "__name__": getattr(function, "name", "")})


def _suppress(m: Machine, args: Args) -> Any:
    manager = Instance(External("contextlib.suppress"))
    manager.slots["kinds"] = tuple(args.pos)
    manager.slots["__enter__"] = manager.slots["__exit__"] = Native("exit", lambda _m, _a: None)
    return manager


def _null_context(m: Machine, args: Args) -> Any:
    manager = Instance(External("contextlib.nullcontext"))
    value = args.pos[0] if args.pos else None
    manager.slots["__enter__"] = Native("enter", lambda _m, _a: value)
    manager.slots["__exit__"] = Native("exit", lambda _m, _a: None)
    return manager


def _get_origin(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) is TypingV:
        name = value.origin.rsplit(".", 1)[-1]
        hosts: dict[str, Any] = {
            "List": list,
            "list": list,
            "Dict": dict,
            "dict": dict,
            "Tuple": tuple,
            "tuple": tuple,
            "Set": set,
            "set": set,
        }
        if name == "Optional":
            return External("typing.Union")
        return hosts.get(name, External(value.origin if value.origin.startswith("typing") else f"typing.{name}"))
    return Unknown(f"get_origin({show(value)})", value.roots) if type(value) is Unknown else None


def _get_args(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) is not TypingV:
        return ()
    if value.origin.endswith("Optional"):
        return (*_flatten(value.args), type(None))
    if value.origin.endswith("Union"):
        return _flatten(value.args)
    return value.args


def _flatten(args: tuple[Any, ...]) -> tuple[Any, ...]:
    flat: list[Any] = []
    for item in args:
        if type(item) is TypingV and item.origin.endswith("Union"):
            flat += _flatten(item.args)
        elif type(item) is TypingV and item.origin.endswith("Optional"):
            flat += [*_flatten(item.args), type(None)]
        else:
            flat.append(type(None) if item is None else item)
    return tuple(flat)


def _cast(m: Machine, args: Args) -> Any:
    return args.pos[1]


def _type_var(m: Machine, args: Args) -> Any:
    return External(f"typing.TypeVar.{show(args.pos[0])}")


def _default_dict(m: Machine, args: Args) -> Any:
    result = DictV(factory=args.pos[0] if args.pos else None)
    for source in args.pos[1:]:
        m.call(m.get_attr(result, "update"), Args([source]))
    return result


def _dict(m: Machine, args: Args) -> Any:
    return m.call_type(dict, args)


def _deque(m: Machine, args: Args) -> Any:
    return m.call_type(list, Args(args.pos[:1]))


def _copy(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) is ListV:
        return ListV(value.slots[""])
    if type(value) is DictV:
        made = DictV({}, value.factory)
        m.copy_items(value, made)
        return made
    if type(value) is SetV:
        return SetV(dict(value.slots), value.frozen)
    if type(value) is Instance and isinstance(value.cls, ClassV) and value.cls.kind != "enum":
        return replace(m, Args([value]))
    return m.lift(lambda leaf: _copy(m, Args([leaf])), value) if type(value).__name__ == "Guarded" else value


def _deepcopy(m: Machine, args: Args) -> Any:
    def deep(value: Any) -> Any:
        if type(value) is ListV and type(value.slots[""]) is tuple:
            return ListV(tuple(deep(item) for item in value.slots[""]))
        if type(value) is DictV:
            made = DictV({key: deep(item) for key, item in value.slots.items()}, value.factory)
            made.havoc.update(value.havoc)
            return made
        return _copy(m, Args([value]))

    return deep(args.pos[0])


def _chain(m: Machine, args: Args) -> Any:
    from pathtrace.tracer.eval.values import Maybe

    return m.new_list(
        tuple(value if test is True else Maybe(test, value) for item in args.pos for test, value in m.elements(item))
    )


def _named(path: str) -> Any:
    return External(path)


MODELS: dict[str, Any] = {
    "functools.lru_cache": _memoised,
    "functools.cache": _memoised,
    "functools.wraps": _wraps,
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "functools.cached_property": _cached_property,
    "functools.total_ordering": _decorator,
    "functools.singledispatch": _decorator,
    "abc.abstractmethod": _decorator,
    "typing.final": _decorator,
    "typing.overload": _decorator,
    "typing.runtime_checkable": _decorator,
    "typing.no_type_check": _decorator,
    "typing_extensions.override": _decorator,
    "typing_extensions.deprecated": _decorator,
    "typing.dataclass_transform": _decorator,
    "enum.unique": _decorator,
    "atexit.register": _decorator,
    "contextlib.contextmanager": _contextmanager,
    "contextlib.asynccontextmanager": _contextmanager,
    "contextlib.suppress": _suppress,
    "contextlib.nullcontext": _null_context,
    "typing.get_origin": _get_origin,
    "typing.get_args": _get_args,
    "typing.cast": _cast,
    "typing.TypeVar": _type_var,
    "typing.ParamSpec": _type_var,
    "typing.NewType": lambda m, args: args.pos[1],
    "typing_extensions.get_type_hints": type_hints,
    "enum.auto": lambda m, args: External("enum.auto()"),
    "collections.defaultdict": _default_dict,
    "collections.OrderedDict": _dict,
    "collections.Counter": lambda m, args: Unknown("Counter", frozenset()),
    "collections.deque": _deque,
    "types.MappingProxyType": lambda m, args: args.pos[0],
    "types.SimpleNamespace": lambda m, args: _namespace(m, args),
    "copy.copy": _copy,
    "copy.deepcopy": _deepcopy,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": lambda m, args: _chain(m, Args([value for _t, value in m.elements(args.pos[0])])),
}


def _namespace(m: Machine, args: Args) -> Any:
    obj = Instance(External("types.SimpleNamespace"))
    for key, value in args.kw.items():
        m.store(obj.slots, key, value, args.kw_from.get(key))
    return obj
