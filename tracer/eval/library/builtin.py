"""Python's builtin functions and types."""

from __future__ import annotations

import builtins as host_builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.operators import equal, order, plain, roots_of, show, truth, unbox
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
    ListV,
    Maybe,
    ModuleV,
    Native,
    SetV,
    SuperV,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

Call = Callable[["Machine", Args], Any]
_COLLECTIONS = (list, dict, set, frozenset, tuple)


# ---------------------------------------------------------------- types
def type_of(m: Machine, value: Any) -> Any:
    """``type(value)``."""
    kind = type(value)
    if kind is Instance:
        return value.cls
    if kind is ClassV:
        return value.meta if value.meta is not None else type
    table: dict[type, Any] = {
        ListV: list,
        DictV: dict,
        FunctionV: External("types.FunctionType"),
        BoundV: External("types.MethodType"),
        ModuleV: External("types.ModuleType"),
    }
    if kind in table:
        return table[kind]
    if kind is SetV:
        return frozenset if value.frozen else set
    if kind is Native:
        return External("types.BuiltinFunctionType")
    if kind in (Unknown, External):
        return Unknown(f"type({show(value)})", roots_of(m, value))
    if kind is Guarded:
        return m.lift(lambda leaf: type_of(m, leaf), value)
    return kind


def type_name(m: Machine, value: Any) -> str:
    """The name of a value's type, for messages."""
    cls = type_of(m, value)
    return str(getattr(cls, "name", None) or getattr(cls, "__name__", None) or show(cls))


def is_instance(m: Machine, value: Any, classes: Any) -> Any:
    """``isinstance(value, classes)``."""
    if type(value) in (LazyModule, LazyName):
        value = m.resolve(value)
    if type(value) is Guarded or type(classes) is Guarded:
        return m.lift(lambda a, b: is_instance(m, a, b), value, classes)
    if type(classes) is tuple:
        found: Any = False
        for item in classes:
            found = m.conditions.either(found, truth(m, is_instance(m, value, item)))
        return m.conditions.restrict(found, m.pc)
    if type(classes) is TypingV:
        if classes.origin.endswith("Union"):
            return is_instance(m, value, tuple(type(None) if item is None else item for item in classes.args))
        return is_instance(m, value, m.typing_host(classes))
    if type(classes) in (LazyModule, LazyName):
        return is_instance(m, value, m.resolve(classes))
    if type(classes) is Native:
        classes = External(classes.name)
    if type(value) is Unknown:
        text = f"isinstance({value.text}, {show(classes)})"
        none = f"{value.text} is None"
        if none in m.conditions.atoms and m.conditions.implies(m.pc, m.conditions.atom(none, none, frozenset())):
            return classes is type(None)
        return m.ask(text, value.roots)
    return is_subclass(m, type_of(m, value), classes, value)


def is_subclass(m: Machine, cls: Any, classes: Any, value: Any = ABSENT) -> Any:
    """``issubclass(cls, classes)``; ``value`` is the instance that is asked about, if any."""
    if type(cls) is Guarded or type(classes) is Guarded:
        return m.lift(lambda a, b: is_subclass(m, a, b, value), cls, classes)
    if type(classes) is tuple:
        found: Any = False
        for item in classes:
            found = m.conditions.either(found, truth(m, is_subclass(m, cls, item, value)))
        return m.conditions.restrict(found, m.pc)
    if classes is object:
        return True
    if type(classes) is Native:
        classes = External(classes.name)
    abstract = _ABSTRACT.get(classes.path if type(classes) is External else "")
    if abstract is not None:
        return type(value) in abstract or isinstance(cls, type) and cls in abstract
    if isinstance(cls, ClassV):
        for base in cls.mro:
            if base is classes or (isinstance(base, type) and isinstance(classes, type) and issubclass(base, classes)):
                return True
            if type(base) is External and type(classes) is External and base.path == classes.path:
                return True
        if cls.kind == "enum" and classes in (int, str) and value is not ABSENT and type(value) is Instance:
            return isinstance(value.native, classes)
        if cls.kind == "dataclass":
            return False
        outside = [base for base in m.outside_bases(cls) if not base.path.startswith(("abc.", "typing.", "enum."))]
        if outside and type(classes) is External:
            return m.ask(f"issubclass({cls.name}, {classes.path})", frozenset({outside[0].path}))
        return False
    if type(classes) is ClassV:
        if type(cls) in (Unknown, External):
            return (
                False if type(cls) is External else m.ask(f"issubclass({show(cls)}, {classes.name})", roots_of(m, cls))
            )
        return False
    if isinstance(cls, type) and isinstance(classes, type):
        return issubclass(cls, classes)
    if type(cls) is External and type(classes) is External and cls.path == classes.path:
        return True
    if isinstance(cls, type) and type(classes) is External:
        return False
    if type(cls) is External and isinstance(classes, type):
        return False
    return m.ask(
        f"isinstance({show(value if value is not ABSENT else cls)}, {show(classes)})", roots_of(m, cls, classes)
    )


_SEQ: tuple[Any, ...] = (list, tuple, str, range, ListV)
_ABSTRACT: dict[str, tuple[Any, ...]] = {
    "collections.abc.Sequence": _SEQ,
    "collections.abc.Mapping": (dict, DictV),
    "collections.abc.MutableMapping": (dict, DictV),
    "collections.abc.Iterable": (*_SEQ, dict, DictV, set, SetV),
    "collections.abc.Callable": (FunctionV, BoundV, Native, ClassV),
    "typing.Sequence": _SEQ,
    "typing.Mapping": (dict, DictV),
    "typing.Callable": (FunctionV, BoundV, Native, ClassV),
    "numbers.Number": (int, float, complex),
    "types.FunctionType": (FunctionV,),
    "types.ModuleType": (ModuleV,),
}


def call_type(m: Machine, cls: type, args: Args) -> Any:
    """Call a builtin type: conversions, containers, exceptions, descriptors."""
    if issubclass(cls, BaseException):
        instance = Instance(cls)
        instance.slots.update(args.kw)
        instance.slots["args"] = tuple(args.pos)  # not journalled: it outlives the branch that raises it
        return instance
    if cls is type:
        if len(args.pos) == 1:
            return type_of(m, args.pos[0])
        return m.build_class(args)
    if cls is object:
        return Instance(object)
    if cls is property:
        return Descriptor("property", args.pos[0], args.pos[1] if len(args.pos) > 1 else None)
    if cls in (classmethod, staticmethod):
        return Descriptor("class" if cls is classmethod else "static", args.pos[0])
    if cls in _COLLECTIONS or cls is dict:
        return _collection(m, cls, args)
    if cls in (enumerate, zip, map, filter, reversed):
        return BUILTINS[cls.__name__](m, args)
    value = args.pos[0] if args.pos else ABSENT
    if any(type(item) is Guarded for item in args.pos):
        return m.lift(lambda *leaves: call_type(m, cls, Args(list(leaves), args.kw)), *args.pos)
    if cls is bool:
        return truth(m, value) if value is not ABSENT else False
    if cls is str and value is not ABSENT:
        return m.text_of(value) if len(args.pos) == 1 else m.native_or_unknown("str", str, args)
    if cls in (int, float) and type(value) is Instance and value.native is ABSENT:
        return Unknown(f"{cls.__name__}({show(value)})", roots_of(m, value))
    return m.native_or_unknown(cls.__name__, cls, args)


def _list_of(items: Any) -> ListV:
    made = ListV()
    made.slots[""] = items
    return made


def _collection(m: Machine, cls: type, args: Args) -> Any:
    if cls is dict:
        result = DictV()
        from pathtrace.tracer.eval.library.methods import DICT

        if args.pos or args.kw:
            DICT["update"](m, result, args.pos, {})
            for key, value in args.kw.items():
                m.set_item(result, key, value, args.kw_from.get(key))
        if args.star_unknown is not None:
            for root in args.star_unknown.roots or {args.star_unknown.text}:
                result.havoc[root] = True
        return result
    if not args.pos:
        empty: dict[type, Any] = {list: ListV(), tuple: (), set: SetV(), frozenset: SetV(frozen=True)}
        return empty[cls]
    source = args.pos[0]
    if type(source) is Guarded:
        return m.lift(lambda leaf: _collection(m, cls, Args([leaf])), source)
    if type(source) in (Unknown, External):
        if cls is list:
            made = m.new_list(())
            made.slots[""] = Unknown(show(source), roots_of(m, source))
            return made
        return Unknown(f"{cls.__name__}({show(source)})", roots_of(m, source))
    if type(source) is ListV and type(source.slots[""]) is Unknown:
        return (
            _list_of(source.slots[""])
            if cls is list
            else Unknown(f"{cls.__name__}({show(source)})", roots_of(m, source.slots[""]))
        )
    items = tuple(value if test is True else Maybe(test, value) for test, value in m.elements(source))
    if cls is list:
        return m.new_list(items)
    if cls is tuple:
        return items
    made_set = m.new_set(items)
    if type(made_set) is SetV:
        made_set.frozen = cls is frozenset
    return made_set


# ---------------------------------------------------------------- functions
def _len(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) is Guarded:
        return m.lift(lambda leaf: _len(m, Args([leaf])), value)
    value = unbox(value)
    if isinstance(value, (str, bytes, range)):
        return len(value)
    if type(value) in (Unknown, External) or (type(value) is ListV and type(value.slots[""]) is Unknown):
        return Unknown(f"len({show(value)})", roots_of(m, value, value.slots[""] if type(value) is ListV else None))
    if type(value) is Instance:
        return m.call(m.get_attr(value, "__len__"), Args())
    if type(value) is DictV and value.havoc:
        return Unknown(f"len({show(value)})", frozenset(value.havoc))
    total: Any = 0
    for test, _item in m.elements(value):
        more = m.lift(lambda n: n if type(n) is Unknown else n + 1, total)
        total = m.conditions.ite(test, more, total)
    return total


def _isinstance(m: Machine, args: Args) -> Any:
    return is_instance(m, args.pos[0], args.pos[1])


def _issubclass(m: Machine, args: Args) -> Any:
    return is_subclass(m, args.pos[0], args.pos[1])


def _getattr(m: Machine, args: Args) -> Any:
    obj, name = args.pos[0], args.pos[1]
    if type(name) is Guarded:
        return m.lift(lambda leaf: _getattr(m, Args([obj, leaf, *args.pos[2:]])), name)
    if not isinstance(name, str):
        return Unknown(f"getattr({show(obj)}, {show(name)})", roots_of(m, obj, name))
    default = args.pos[2] if len(args.pos) > 2 else ABSENT
    if default is ABSENT:
        return m.get_attr(obj, name)
    return m.get_attr_or(obj, name, default)


def _hasattr(m: Machine, args: Args) -> Any:
    obj, name = args.pos
    if type(obj) is External and isinstance(name, str):
        from pathtrace.tracer.eval.library.device import has_attribute

        known = has_attribute(m, obj.path, name)
        if known is not ABSENT:
            return known
    if type(obj) in (Unknown, External):
        return m.ask(f"hasattr({show(obj)}, {show(name)})", roots_of(m, obj))
    if not isinstance(name, str):
        return m.ask(f"hasattr({show(obj)}, {show(name)})", roots_of(m, name))
    return m.has_attr(obj, name)


def _setattr(m: Machine, args: Args) -> None:
    obj, name, value = args.pos
    if isinstance(name, str):
        m.set_attr(obj, name, value, args.written(2) or m.written(len(m.reads)))


def _delattr(m: Machine, args: Args) -> None:
    obj, name = args.pos
    if hasattr(obj, "slots"):
        m.store(obj.slots, name, ABSENT)


def _any_all(is_any: bool) -> Call:
    def run(m: Machine, args: Args) -> Any:
        result: Any = not is_any
        for test, item in m.elements(args.pos[0]):
            held = truth(m, item)
            if is_any:
                result = m.conditions.either(result, m.conditions.both(test, held))
            else:
                result = m.conditions.both(result, m.conditions.either(m.conditions.negation(test), held))
            if result is is_any:
                return is_any
        return m.conditions.restrict(result, m.pc)

    return run


def _zip(m: Machine, args: Args) -> Any:
    columns = [m.elements(value) for value in args.pos]
    if any(test is not True for column in columns for test, _item in column):
        return Unknown("zip(...)", roots_of(m, *args.pos))
    return m.new_list(tuple(zip(*[[item for _test, item in column] for column in columns], strict=False)))


def _enumerate(m: Machine, args: Args) -> Any:
    start = args.pos[1] if len(args.pos) > 1 else args.kw.get("start", 0)
    items: list[Any] = []
    number: Any = start
    for test, item in m.elements(args.pos[0]):
        items.append((number, item) if test is True else Maybe(test, (number, item)))
        if test is True and isinstance(number, int):
            number += 1
        else:
            number = Unknown(f"index in {show(args.pos[0])}", roots_of(m, test))
    return m.new_list(tuple(items))


def _map(m: Machine, args: Args) -> Any:
    function = args.pos[0]
    items: list[Any] = []
    for test, item in m.elements(args.pos[1]):
        value = m.call(function, Args([item]))
        items.append(value if test is True else Maybe(test, value))
    return m.new_list(tuple(items))


def _filter(m: Machine, args: Args) -> Any:
    function = args.pos[0]
    items: list[Any] = []
    for test, item in m.elements(args.pos[1]):
        kept = m.conditions.both(test, truth(m, item if function is None else m.call(function, Args([item]))))
        if kept is not False:
            items.append(item if kept is True else Maybe(kept, item))
    return m.new_list(tuple(items))


def _reversed(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) in (Unknown, External):
        return Unknown(f"reversed({show(value)})", roots_of(m, value))
    return m.new_list(tuple(item if test is True else Maybe(test, item) for test, item in reversed(m.elements(value))))


def _sorted(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) in (Unknown, External):
        return Unknown(f"sorted({show(value)})", roots_of(m, value))
    made = m.new_list(tuple(item if test is True else Maybe(test, item) for test, item in m.elements(value)))
    made.slots[""] = m.sorted_items(made, args.kw)
    return made


def sorted_items(m: Machine, obj: ListV, kw: dict[str, Any]) -> Any:
    """The items in order, each with the condition it had; unknown where the order hangs on something unknown."""
    items = obj.slots[""]
    if type(items) is Guarded:
        return Unknown(f"sorted({show(obj)})", roots_of(m, items))
    key = kw.get("key")
    values = [item.value if type(item) is Maybe else item for item in items]
    keys = [m.host(value if key is None else m.call(key, Args([value]))) for value in values]
    backwards = m.host(kw.get("reverse", False))
    if ABSENT in keys or backwards is ABSENT:
        return Unknown(f"sorted({show(obj)})", roots_of(m, *items))
    order = m.native_call(lambda: sorted(range(len(keys)), key=keys.__getitem__, reverse=bool(backwards)))
    return tuple(items[index] for index in order)


def _extreme(is_max: bool) -> Call:
    word = "max" if is_max else "min"

    def run(m: Machine, args: Args) -> Any:
        import ast

        cells = m.elements(args.pos[0]) if len(args.pos) == 1 else [(True, value) for value in args.pos]
        if any(test is not True for test, _item in cells):
            return Unknown(f"{word}(...)", roots_of(m, *args.pos, *[test for test, _ in cells]))
        items = [item for _test, item in cells]
        if not items:
            if "default" in args.kw:
                return args.kw["default"]
            m.throw(ValueError, f"{word}() iterable argument is empty")
        key = args.kw.get("key")

        def better(a: Any, b: Any) -> Any:
            left, right = (a, b) if key is None else (m.call(key, Args([a])), m.call(key, Args([b])))
            if type(left) in (Unknown, External) or type(right) in (Unknown, External):
                return Unknown(f"{word}({show(a)}, {show(b)})", roots_of(m, a, b))
            test = truth(m, order(m, ast.Gt if is_max else ast.Lt, right, left))
            return m.conditions.ite(test, b, a)

        best = items[0]
        for item in items[1:]:
            best = m.lift(better, best, item)
        return best

    return run


def _sum(m: Machine, args: Args) -> Any:
    import ast

    from pathtrace.tracer.eval.operators import binary

    total: Any = args.pos[1] if len(args.pos) > 1 else args.kw.get("start", 0)
    for test, item in m.elements(args.pos[0]):
        added = binary(m, ast.Add(), total, item)
        total = added if test is True else m.conditions.ite(test, added, total)
    return total


def _callable(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) is Unknown:
        return m.ask(f"callable({value.text})", value.roots)
    if type(value) is Instance:
        return m.find_in_class(value.cls, "__call__") is not ABSENT
    return isinstance(value, (FunctionV, BoundV, ClassV, Native, External, type))


def _next(m: Machine, args: Args) -> Any:
    cells = m.elements(args.pos[0])
    if type(args.pos[0]) is Instance:
        return m.call(m.get_attr(args.pos[0], "__next__"), Args())

    def pick(index: int) -> Any:
        if index == len(cells):
            if len(args.pos) > 1:
                return args.pos[1]
            m.throw(StopIteration)
        test, value = cells[index]
        if test is True:
            return m.conditions.restrict(value, m.pc)
        return m.fork(
            [(test, lambda: m.conditions.restrict(value, m.pc)), (m.conditions.negation(test), lambda: pick(index + 1))]
        )

    return pick(0)


def _super(m: Machine, args: Args) -> Any:
    return SuperV(args.pos[0], args.pos[1])


def _of_the_scope(m: Machine, args: Args) -> Any:
    """``locals`` or ``globals`` under another name: whose scope is meant is not followed."""
    return Unknown("the variables of a scope", frozenset())


def _exec(m: Machine, args: Args) -> Any:
    """Text run as a program may do anything: nothing that follows is known."""
    m.give_up("exec(...), which may do anything")


def _vars(m: Machine, args: Args) -> Any:
    return m.get_attr(args.pos[0], "__dict__")


def _dir(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if type(value) is ModuleV:
        m.run_module(value)
    if type(value) in (ModuleV, ClassV, Instance):
        names = [
            key
            for key, item in value.slots.items()
            if isinstance(key, str) and item is not ABSENT and not key.startswith("*")
        ]
        return m.new_list(tuple(sorted(names)))
    return Unknown(f"dir({show(value)})", roots_of(m, value))


def _import(m: Machine, args: Args) -> Any:
    return m.import_module(args.pos[0]) if isinstance(args.pos[0], str) else Unknown("__import__", frozenset())


def _ignored(m: Machine, args: Args) -> None:
    return None


def _iter(m: Machine, args: Args) -> Any:
    return args.pos[0]


def _repr(m: Machine, args: Args) -> Any:
    return m.lift(lambda leaf: m.repr_of(leaf), args.pos[0])


def _hash(m: Machine, args: Args) -> Any:
    value = args.pos[0]
    if isinstance(value, (ListV, DictV)) or (type(value) is SetV and not value.frozen):
        m.throw(TypeError, f"unhashable type: '{type_name(m, value)}'")
    return (
        hash(value)
        if isinstance(value, (int, float)) and plain(value)
        else Unknown(f"hash({show(value)})", roots_of(m, value))
    )


def _id(m: Machine, args: Args) -> Any:
    return Unknown(f"id({show(args.pos[0])})", frozenset({"object identity"}))


def _pure(name: str) -> Call:
    function = getattr(host_builtins, name)
    return lambda m, args: m.native_or_unknown(name, function, args)


BUILTINS: dict[str, Call] = {
    "len": _len,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "any": _any_all(True),
    "all": _any_all(False),
    "zip": _zip,
    "enumerate": _enumerate,
    "map": _map,
    "filter": _filter,
    "reversed": _reversed,
    "sorted": _sorted,
    "max": _extreme(True),
    "min": _extreme(False),
    "sum": _sum,
    "callable": _callable,
    "next": _next,
    "iter": _iter,
    "super": _super,
    "vars": _vars,
    "locals": _of_the_scope,
    "globals": _of_the_scope,
    "exec": _exec,
    "dir": _dir,
    "print": _ignored,
    "repr": _repr,
    "hash": _hash,
    "id": _id,
    "__import__": _import,
    **{
        name: _pure(name)
        for name in ("abs", "round", "divmod", "pow", "ord", "chr", "hex", "bin", "oct", "format", "ascii")
    },
}


def table() -> dict[str, Any]:
    """Every builtin name: functions as natives, types and constants as themselves."""
    names: dict[str, Any] = {name: Native(name, call) for name, call in BUILTINS.items()}
    for name in dir(host_builtins):
        value = getattr(host_builtins, name)
        if isinstance(value, type) and (issubclass(value, BaseException) or value in _TYPES):
            names[name] = value
    names.update(
        {
            "True": True,
            "False": False,
            "None": None,
            "Ellipsis": Ellipsis,
            "NotImplemented": External("builtins.NotImplemented"),
            "__debug__": True,
        }
    )
    return names


_TYPES = (
    bool, int, float, complex, str, bytes, bytearray, list, dict, set, frozenset, tuple, range, slice, object, type,
    property, classmethod, staticmethod, memoryview,
)  # fmt: skip

__all__ = [
    "BUILTINS",
    "call_type",
    "equal",
    "is_instance",
    "is_subclass",
    "sorted_items",
    "table",
    "type_name",
    "type_of",
]
