"""Methods of strings, lists, dictionaries, sets and other host values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.operators import contains, equal, plain, roots_of, show, truth, unbox
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    DictV,
    Instance,
    ListV,
    Maybe,
    Native,
    SetV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

Method = Callable[["Machine", Any, list[Any], dict[str, Any]], Any]
_HOST = (str, bytes, int, float, complex, tuple, range)


def method_of(m: Machine, obj: Any, name: str) -> Any:
    """The method ``name`` of a builtin value, bound to it; ABSENT where it has none."""
    kind = type(obj)
    table = {ListV: LIST, DictV: DICT, SetV: SET}.get(kind)
    if table is not None:
        method = table.get(name)
        if method is not None:
            return Native(name, lambda mm, args: method(mm, obj, args.pos, args.kw))
        if kind is DictV and name == "default_factory":
            return obj.factory
        return ABSENT
    if isinstance(obj, _HOST) and hasattr(obj, name):
        if isinstance(obj, tuple) and name in ("count", "index"):
            return Native(name, lambda mm, args: LIST[name](mm, ListV(obj), args.pos, args.kw))
        attribute = getattr(obj, name)
        if not callable(attribute):
            return attribute
        return Native(name, lambda mm, args: _host_method(mm, obj, name, args))
    return ABSENT


def _host_method(m: Machine, obj: Any, name: str, args: Args) -> Any:
    if any(type(value) is Guarded for value in (*args.pos, *args.kw.values())):

        def again(*leaves: Any) -> Any:
            count = len(args.pos)
            return _host_method(
                m, obj, name, Args(list(leaves[:count]), dict(zip(args.kw, leaves[count:], strict=True)))
            )

        return m.lift(again, *args.pos, *args.kw.values())
    pos = [unbox(value) for value in args.pos]
    if name == "format" and isinstance(obj, str):
        return m.text_of_template(obj, pos, args.kw)
    if name == "join" and len(pos) == 1:
        return _join(m, obj, pos[0])
    if name in ("ljust", "rjust", "zfill", "center") and pos and isinstance(pos[0], int) and pos[0] > 100_000:
        return Unknown(f"{show(obj)}.{name}(...)", frozenset())
    hosts = [m.host(value) for value in pos]
    named = {key: m.host(value) for key, value in args.kw.items()}
    if ABSENT in hosts or ABSENT in named.values():
        roots = roots_of(m, *args.pos, *args.kw.values())
        text = f"{show(obj)}.{name}({', '.join(show(value) for value in args.pos)})"
        if name in ("startswith", "endswith", "isdigit", "isalnum"):
            return m.ask(text, roots)
        return Unknown(text, roots)
    result = m.native_call(getattr(obj, name), *hosts, **named)
    return m.lower(result)


def _join(m: Machine, separator: str, items: Any) -> Any:
    parts: list[Any] = []
    for test, item in m.elements(items):
        item = unbox(m.conditions.restrict(item, m.pc))
        if test is not True or not isinstance(item, (str, bytes)):
            if test is True and plain(item):
                m.throw(TypeError, f"sequence item {len(parts)}: expected str instance, {m.type_name(item)} found")
            return Unknown(f"{show(separator)}.join(...)", roots_of(m, item, test))
        parts.append(str(item) if isinstance(separator, str) else item)
    return separator.join(parts)


# ---------------------------------------------------------------- lists
def _append(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> None:
    m.set_items(obj, lambda items: (*items, pos[0]))


def _extend(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> None:
    added = tuple(value if test is True else Maybe(test, value) for test, value in m.elements(pos[0]))
    m.set_items(obj, lambda items: items + added)


def _insert(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> None:
    index = pos[0]
    if not isinstance(index, int):
        m.set_items(obj, lambda items: Unknown("list", roots_of(m, index)))
        return

    def put(items: tuple[Any, ...]) -> tuple[Any, ...]:
        changed = list(items)
        changed.insert(index, pos[1])
        return tuple(changed)

    m.set_items(obj, put)


def _pop(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> Any:
    items = m.plain_items(obj)
    index = pos[0] if pos else -1
    if items is None or not isinstance(index, int):
        m.store(obj.slots, "", Unknown("list", frozenset()))
        return Unknown("list.pop()", frozenset())
    if not -len(items) <= index < len(items):
        m.throw(IndexError, "pop from empty list" if not items else "pop index out of range")
    changed = list(items)
    value = changed.pop(index)
    m.store(obj.slots, "", tuple(changed), m.written(len(m.reads)))
    return value


def _remove(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> None:
    items = m.plain_items(obj)
    if items is None:
        m.store(obj.slots, "", Unknown("list", frozenset()))
        return
    for index, item in enumerate(items):
        test = truth(m, equal(m, item, pos[0]))
        if test is True:
            m.store(obj.slots, "", items[:index] + items[index + 1 :], m.written(len(m.reads)))
            return
        if test is not False:
            m.store(obj.slots, "", Unknown("list", roots_of(m, test)))
            return
    m.throw(ValueError, "list.remove(x): x not in list")


def _index(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> Any:
    for index, (test, item) in enumerate(m.elements(obj)):
        met = truth(m, equal(m, item, pos[0]))
        if test is not True or met not in (True, False):
            return Unknown(f"{show(obj)}.index({show(pos[0])})", roots_of(m, test, met))
        if met is True:
            return index
    m.throw(ValueError, f"{show(pos[0])} is not in list")


def _count(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> Any:
    total = 0
    for test, item in m.elements(obj):
        met = truth(m, equal(m, item, pos[0]))
        if test is not True or met not in (True, False):
            return Unknown(f"{show(obj)}.count({show(pos[0])})", roots_of(m, test, met))
        total += met
    return total


def _sort(m: Machine, obj: ListV, pos: list[Any], kw: dict[str, Any]) -> None:
    m.store(obj.slots, "", m.sorted_items(obj, kw), m.written(len(m.reads)))


LIST: dict[str, Method] = {
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "popleft": lambda m, obj, pos, kw: _pop(m, obj, [0], kw),
    "appendleft": lambda m, obj, pos, kw: _insert(m, obj, [0, pos[0]], kw),
    "remove": _remove,
    "index": _index,
    "count": _count,
    "sort": _sort,
    "copy": lambda m, obj, pos, kw: m.new_list(obj.slots[""]),
    "clear": lambda m, obj, pos, kw: m.store(obj.slots, "", (), m.written(len(m.reads))),
    "reverse": lambda m, obj, pos, kw: m.set_items(obj, lambda items: items[::-1]),
}


# ---------------------------------------------------------------- dictionaries
def _get(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
    default = pos[1] if len(pos) > 1 else kw.get("default")
    return m.lift(lambda key: m.lookup(obj, key, lambda: default), pos[0])


def _item(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
    return m.get_item(obj, pos[0])


def _set(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> None:
    m.set_item(obj, pos[0], pos[1])


def _setdefault(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
    default = pos[1] if len(pos) > 1 else None

    def put() -> Any:
        m.set_item(obj, pos[0], default)
        return default

    return m.lookup(obj, pos[0], put)


def _dict_pop(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
    def missing() -> Any:
        if len(pos) > 1:
            return pos[1]
        m.throw(KeyError, pos[0])

    value = m.lookup(obj, pos[0], missing)
    key = m.hash_key(pos[0])
    if key is not ABSENT and key in obj.slots:
        m.store(obj.slots, key, ABSENT, m.written(len(m.reads)))
    return value


def _update(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> None:
    for source in pos:
        if type(source) is DictV:
            m.copy_items(source, obj)
        elif type(source) in (Unknown, Guarded) or type(source) is Instance:
            _update_from(m, obj, source)
        else:
            for test, pair in m.elements(source):
                key, value = m.unpack(pair, 2)
                m.set_item(
                    obj, key, value if test is True else m.conditions.ite(test, value, obj.slots.get(key, ABSENT))
                )
    for key, value in kw.items():
        m.set_item(obj, key, value)


def _update_from(m: Machine, obj: DictV, source: Any) -> None:
    if type(source) is Guarded:
        m.lift(lambda leaf: _update(m, obj, [leaf], {}), source)
        return
    if type(source) is Instance and "keys" in source.slots:
        return
    for root in roots_of(m, source) or {show(source)}:
        m.store(obj.havoc, root, True)


def _view(kind: str) -> Method:
    def view(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
        items: list[Any] = []
        for key, stored in list(obj.slots.items()):
            test, value = m.presence(stored)
            if test is False:
                continue
            m.saw(obj.slots, key)
            original = obj.boxed.get(key, key)
            item = original if kind == "keys" else value if kind == "values" else (original, value)
            items.append(item if test is True else Maybe(test, item))
        if obj.havoc:
            return Unknown(f"{show(obj)}.{kind}()", frozenset(obj.havoc))
        if kind == "keys":
            return m.new_list(tuple(items))
        return m.new_list(tuple(items))

    return view


def _popitem(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
    for key in reversed(list(obj.slots)):
        test, value = m.presence(obj.slots[key])
        if test is False:
            continue
        if test is not True or obj.havoc:
            return Unknown("dict.popitem()", roots_of(m, test))
        m.store(obj.slots, key, ABSENT, m.written(len(m.reads)))
        return (obj.boxed.get(key, key), value)
    m.throw(KeyError, "popitem(): dictionary is empty")


def _dict_copy(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> Any:
    made = DictV({}, obj.factory)
    m.copy_items(obj, made)
    return made


def _dict_clear(m: Machine, obj: DictV, pos: list[Any], kw: dict[str, Any]) -> None:
    for key in list(obj.slots):
        m.store(obj.slots, key, ABSENT, m.written(len(m.reads)))


DICT: dict[str, Method] = {
    "get": _get,
    "setdefault": _setdefault,
    "pop": _dict_pop,
    "update": _update,
    "keys": _view("keys"),
    "values": _view("values"),
    "items": _view("items"),
    "copy": _dict_copy,
    "move_to_end": lambda m, obj, pos, kw: None,
    "popitem": _popitem,
    "clear": _dict_clear,
    "__contains__": lambda m, obj, pos, kw: contains(m, obj, pos[0]),
    "__getitem__": _item,
    "__setitem__": _set,
}


# ---------------------------------------------------------------- sets
def _add(m: Machine, obj: SetV, pos: list[Any], kw: dict[str, Any]) -> None:
    key = m.hash_key(pos[0])
    if key is not ABSENT:
        m.store(obj.slots, key, True, m.written(len(m.reads)))


def _set_remove(m: Machine, obj: SetV, pos: list[Any], kw: dict[str, Any]) -> None:
    key = m.hash_key(pos[0])
    if key is not ABSENT:
        m.store(obj.slots, key, ABSENT, m.written(len(m.reads)))


def _combine(keep: Callable[[bool, bool], bool]) -> Method:
    def combined(m: Machine, obj: SetV, pos: list[Any], kw: dict[str, Any]) -> Any:
        result = dict(obj.slots)
        for other in pos:
            there = {}
            for test, item in m.elements(other):
                key = m.hash_key(item)
                if test is not True or key is ABSENT:
                    return Unknown("set", roots_of(m, item))
                there[key] = True
            result = {k: True for k in {**result, **there} if keep(result.get(k, ABSENT) is True, k in there)}
        return SetV(result, obj.frozen)

    return combined


def _relation(check: Callable[[set[Any], set[Any]], bool]) -> Method:
    def related(m: Machine, obj: SetV, pos: list[Any], kw: dict[str, Any]) -> Any:
        there = set()
        for test, item in m.elements(pos[0]):
            key = m.hash_key(item)
            if test is not True or key is ABSENT:
                return m.ask(f"{show(obj)} against {show(pos[0])}", roots_of(m, item))
            there.add(key)
        return check({k for k, v in obj.slots.items() if v is True}, there)

    return related


def _set_update(m: Machine, obj: SetV, pos: list[Any], kw: dict[str, Any]) -> None:
    for other in pos:
        for test, item in m.elements(other):
            key = m.hash_key(item)
            if key is not ABSENT:
                m.store(obj.slots, key, test, m.written(len(m.reads)))


SET: dict[str, Method] = {
    "add": _add,
    "discard": _set_remove,
    "remove": _set_remove,
    "update": _set_update,
    "union": _combine(lambda a, b: a or b),
    "intersection": _combine(lambda a, b: a and b),
    "difference": _combine(lambda a, b: a and not b),
    "symmetric_difference": _combine(lambda a, b: a != b),
    "issubset": _relation(lambda a, b: a <= b),
    "issuperset": _relation(lambda a, b: a >= b),
    "isdisjoint": _relation(lambda a, b: not a & b),
    "copy": lambda m, obj, pos, kw: SetV(dict(obj.slots), obj.frozen),
}
