"""Elements of lists, dictionaries and sets whose presence may hang on a condition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded, breadth
from pathtrace.tracer.eval.operators import equal, plain, roots_of, show, truth, unbox
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    BoundV,
    ClassV,
    DictV,
    External,
    FunctionV,
    Instance,
    ListV,
    Maybe,
    ModuleV,
    Native,
    SetV,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

MOST_KEYS = 24  # of a dictionary, that a key which is not known is compared with


def presence(m: Machine, stored: Any) -> tuple[Any, Any]:
    """When a slot holds something, and what: ``(condition, value)``."""
    if stored is ABSENT:
        return False, ABSENT
    if type(stored) is not Guarded:
        return True, stored
    stored = m.conditions.restrict(stored, m.pc)
    if type(stored) is not Guarded:
        return (False, ABSENT) if stored is ABSENT else (True, stored)
    gone = m.conditions.where(stored, ABSENT)
    if gone is False:
        return True, stored
    there = m.conditions.negation(gone)
    value = m.conditions.restrict(stored, there)
    return there, value


def hash_key(m: Machine, value: Any) -> Any:
    """The dictionary key for a value; ABSENT where it is not known or not hashable."""
    value = unbox(value)
    if plain(value):
        return value
    if isinstance(value, (ClassV, FunctionV, Instance, ModuleV, External, Native, type)):
        if type(value) is External:
            return ("external", value.path)
        return value
    if type(value) is tuple:
        parts = tuple(("guarded", item) if type(item) is Guarded else hash_key(m, item) for item in value)
        return ABSENT if any(part is ABSENT for part in parts) else parts
    if type(value) is BoundV:
        return (value.function, id(value.self))
    if type(value) is SetV and value.frozen:
        return frozenset(k for k, v in value.slots.items() if v is True)
    if type(value) is TypingV:
        return (value.origin, tuple(map(id, value.args)))
    if type(value) is Unknown:
        return ("unknown", value.text)
    return ABSENT


def lookup(m: Machine, obj: DictV, key: Any, missing: Callable[[], Any]) -> Any:
    """``obj[key]``, or ``missing()`` where (and only where) the key is not there."""
    if type(key) is Guarded:
        return m.lift(lambda leaf: lookup(m, obj, leaf, missing), key)
    if type(key) is Unknown:
        return _unknown_key(m, obj, key, missing)
    hashed = hash_key(m, key)
    if hashed is ABSENT:
        m.throw(TypeError, f"unhashable type: '{m.type_name(key)}'")
    stored = obj.slots.get(hashed, ABSENT)
    m.saw(obj.slots, hashed)
    test, value = presence(m, stored)
    if test is True:
        return m.conditions.restrict(value, m.pc)
    if obj.havoc:
        unknown = Unknown(f"{show(obj)}[{show(key)}]", frozenset(obj.havoc))
        if test is False:
            return unknown
        return m.conditions.ite(test, value, unknown)
    if test is False:
        return missing()
    return m.fork([(test, lambda: m.conditions.restrict(value, m.pc)), (m.conditions.negation(test), missing)])


def _unknown_key(m: Machine, obj: DictV, key: Unknown, missing: Callable[[], Any]) -> Any:
    keys = [k for k, v in obj.slots.items() if v is not ABSENT]
    if len(keys) > MOST_KEYS or obj.havoc:
        if not obj.havoc and all(type(obj.slots[item]) is ListV for item in keys):
            return _one_of_the_lists(m, obj, key, keys, missing)
        return Unknown(f"{show(obj)[:60]}[{key.text}]", key.roots)
    cases: list[tuple[Any, Callable[[], Any]]] = []
    rest: Any = True
    for item in keys:
        test = m.conditions.both(rest, truth(m, equal(m, key, item)))
        cases.append((test, partial(lookup, m, obj, item, missing)))
        rest = m.conditions.both(rest, m.conditions.negation(test))
    cases.append((rest, missing))
    return m.fork(cases)


def _one_of_the_lists(m: Machine, obj: DictV, key: Unknown, keys: list[Any], missing: Callable[[], Any]) -> Any:
    """The items of all the lists, each where ``key`` is its list's: what a registry gives for a key."""
    lists: dict[tuple[int, ...], list[Any]] = {}  # what is in a list: when it is the one, and itself
    for item in keys:
        items = obj.slots[item]
        same = lists.setdefault(tuple(map(id, items.slots[""])), [False, items])
        same[0] = m.conditions.either(same[0], truth(m, equal(m, key, item)))
    merged: list[Any] = []
    found: Any = False
    for test, items in lists.values():
        found = m.conditions.either(found, test)
        if breadth(test) > m.breadth:
            test = m.conditions.name(test, m.file, m.line)
        merged += [Maybe(m.conditions.both(test, inner), value) for inner, value in m.elements(items)]
    found = m.conditions.name(found, m.file, m.line)
    return m.fork([(found, lambda: m.new_list(tuple(merged))), (m.conditions.negation(found), missing)])


def set_item(m: Machine, obj: Any, key: Any, value: Any, write: Any = None) -> None:
    """``obj[key] = value``."""
    if type(obj) is Guarded:
        m.lift(lambda leaf: set_item(m, leaf, key, value, write), obj)
        return
    if write is None:
        write = m.written(len(m.reads))
    if type(obj) is DictV:
        if type(key) is Guarded:
            m.lift(lambda leaf: set_item(m, obj, leaf, value, write), key)
            return
        hashed = hash_key(m, key)
        if hashed is ABSENT:
            m.throw(TypeError, f"unhashable type: '{m.type_name(key)}'")
        if type(key) is Unknown:
            for root in roots_of(m, key) or {show(key)}:
                m.store(obj.havoc, root, True)
            return
        if type(key) is Instance and hashed is not key:
            obj.boxed[hashed] = key
        m.store_visibly(obj, hashed, value, write)
    elif type(obj) is ListV:
        items = obj.slots[""]
        if isinstance(key, int) and type(items) is tuple and -len(items) <= key < len(items):
            changed = list(items)
            changed[key] = value
            m.store(obj.slots, "", tuple(changed), write)
        elif isinstance(key, int) and type(items) is tuple:
            m.throw(IndexError, "list assignment index out of range")
        else:
            m.store(obj.slots, "", Unknown("list", roots_of(m, key)), write)
    elif type(obj) is Instance:
        args = Args([key, value])
        args.pos_from = [None, write]
        m.call(m.get_attr(obj, "__setitem__"), args)


def delete_item(m: Machine, obj: Any, key: Any) -> None:
    """``del obj[key]``."""
    hashed = hash_key(m, key)
    if type(obj) is DictV and hashed is not ABSENT:
        m.store(obj.slots, hashed, ABSENT, m.written(len(m.reads)))
    elif type(obj) is Instance:
        m.call(m.get_attr(obj, "__delitem__"), Args([key]))
    elif type(obj) is ListV:
        m.call(m.get_attr(obj, "pop"), Args([key]))


def get_item(m: Machine, obj: Any, key: Any) -> Any:
    """``obj[key]``."""
    if type(obj) is Guarded or type(key) is Guarded:
        return m.lift(lambda a, b: get_item(m, a, b), obj, key)
    if type(obj) in (External, TypingV) or isinstance(obj, type):
        if m.is_typing(obj):
            return TypingV(
                obj.path if type(obj) is External else getattr(obj, "__name__", "typing"),
                key if type(key) is tuple else (key,),
            )
        return m.external_item(obj, key)
    if type(obj) is Unknown:
        return Unknown(f"{obj.text}[{show(key)}]", obj.roots | roots_of(m, key))
    if type(obj) is DictV:

        def missing() -> Any:
            if obj.factory is not None:
                value = m.call(obj.factory, Args())
                set_item(m, obj, key, value)
                return value
            m.throw(KeyError, key)

        return lookup(m, obj, key, missing)
    if type(obj) is Instance:
        native = unbox(obj)
        if native is obj:
            return m.call(m.get_attr(obj, "__getitem__"), Args([key]))
        obj = native
    if type(obj) is ClassV:
        return m.class_item(obj, key)
    if type(obj) is ListV:
        return _list_item(m, obj, key)
    key = unbox(key)
    if type(key) in (Unknown, External):
        return Unknown(f"{show(obj)}[{show(key)}]", roots_of(m, key))
    if isinstance(obj, (str, bytes, tuple, range)):
        if isinstance(obj, tuple) and any(type(item) is Maybe for item in obj):
            return Unknown(f"{show(obj)}[{show(key)}]", frozenset())
        return m.native_call(lambda: obj[key])
    m.throw(TypeError, f"'{m.type_name(obj)}' object is not subscriptable")


def _list_item(m: Machine, obj: ListV, key: Any) -> Any:
    items = obj.slots[""]
    key = unbox(key)
    if type(items) is Guarded:
        return m.lift(lambda leaf: _list_item(m, ListV(leaf) if type(leaf) is tuple else leaf, key), items)
    if not isinstance(key, int) or type(items) is not tuple:
        return Unknown(f"{show(obj)}[{show(key)}]", roots_of(m, items, key))
    if any(type(item) is Maybe for item in items):
        return _conditional_item(m, items, key)
    if not -len(items) <= key < len(items):
        m.throw(IndexError, "list index out of range")
    return items[key]


def _conditional_item(m: Machine, items: tuple[Any, ...], key: int) -> Any:
    order = items if key >= 0 else items[::-1]
    wanted = key if key >= 0 else -key - 1

    def pick(index: int, left: int) -> Any:
        if index == len(order):
            m.throw(IndexError, "list index out of range")
        item = order[index]
        test, value = (item.test, item.value) if type(item) is Maybe else (True, item)

        def here() -> Any:
            return m.conditions.restrict(value, m.pc) if left == 0 else pick(index + 1, left - 1)

        if test is True:
            return here()
        return m.fork([(test, here), (m.conditions.negation(test), lambda: pick(index + 1, left))])

    return pick(0, wanted)


def get_slice(m: Machine, obj: Any, parts: list[Any]) -> Any:
    """``obj[a:b:c]``."""
    if type(obj) is Guarded or any(type(part) is Guarded for part in parts):
        return m.lift(lambda value, *bounds: get_slice(m, value, list(bounds)), obj, *parts)
    parts = [unbox(part) for part in parts]
    if type(obj) is ListV:
        items = obj.slots[""]
        if (
            type(items) is tuple
            and all(isinstance(part, (int, type(None))) for part in parts)
            and not any(type(item) is Maybe for item in items)
        ):
            return m.new_list(items[slice(*parts)])
        return Unknown(f"{show(obj)}[:]", roots_of(m, items, *parts))
    if isinstance(obj, (str, bytes, tuple, range)) and all(isinstance(part, (int, type(None))) for part in parts):
        return obj[slice(*parts)]
    return Unknown(f"{show(obj)}[:]", roots_of(m, obj, *parts))


def elements(m: Machine, obj: Any) -> list[tuple[Any, Any]]:
    """``(condition, element)`` for everything that iterating over a value may give."""
    return [(test, value) for test, value, _source in element_sources(m, obj)]


def element_sources(m: Machine, obj: Any) -> list[tuple[Any, Any, Any]]:
    """Like :func:`elements`, with the write that put each element there."""
    kind = type(obj)
    if kind is Guarded:
        return [
            (m.conditions.both(test, inner), value, source)
            for test, leaf in m.split(obj)
            for inner, value, source in element_sources(m, leaf)
        ]
    if kind is ListV:
        items = obj.slots[""]
        if type(items) is Guarded:
            return [
                (m.conditions.both(test, inner), value, None)
                for test, leaf in m.split(items)
                for inner, value in elements(m, ListV(leaf) if type(leaf) is tuple else leaf)
            ]
        if type(items) is Unknown:
            return element_sources(m, items)
        return [_cell(item) for item in items]
    if kind is tuple:
        return [_cell(item) for item in obj]
    if kind is DictV:
        return [
            (*_present(m, value, obj.boxed.get(key, key)), m.writers.get((obj.slots.number, key)))
            for key, value in list(obj.slots.items())
            if value is not ABSENT
        ]
    if kind is SetV:
        return [(*_present(m, value, key), None) for key, value in list(obj.slots.items()) if value is not ABSENT]
    if isinstance(obj, (str, bytes, range)):
        if len(obj) > 100_000:
            m.give_up("a sequence of more than 100,000 elements")
        return [(True, item, None) for item in obj]
    if kind is ClassV:
        return [(True, item, None) for item in m.iterate_class(obj)]
    if kind is Instance:
        method = m.find_in_class(obj.cls, "__iter__")
        if method is not ABSENT:
            return element_sources(m, m.call(m.get_attr(obj, "__iter__"), Args()))
        if obj.native is not ABSENT:
            return element_sources(m, obj.native)
    if kind in (Unknown, External, Instance):
        some = m.ask(f"{show(obj)} is not empty", roots_of(m, obj))
        return [] if some is False else [(some, Unknown(f"element of {show(obj)}", roots_of(m, obj)), None)]
    m.throw(TypeError, f"'{m.type_name(obj)}' object is not iterable")


def _cell(item: Any) -> tuple[Any, Any, Any]:
    return (item.test, item.value, None) if type(item) is Maybe else (True, item, None)


def _present(m: Machine, stored: Any, key: Any) -> tuple[Any, Any]:
    test, _value = presence(m, stored)
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "external":
        return test, External(key[1])
    return test, key


def unpack(m: Machine, value: Any, count: int, star: int | None = None) -> list[Any]:
    """The ``count`` values of an unpacking assignment (``star``: index of a starred target)."""
    if type(value) in (Unknown, External):
        return [Unknown(f"{show(value)}[{index}]", roots_of(m, value)) for index in range(count)]
    if type(value) is Guarded:
        cases = m.split(value)
        columns = []
        for index in range(count):
            result: Any = None
            for test, leaf in cases:
                items = unpack(m, leaf, count, star)
                result = m.conditions.ite(test, items[index], result)
            columns.append(result)
        return columns
    cells = elements(m, value)
    if any(test is not True for test, _item in cells):
        return [Unknown(f"{show(value)}[{index}]", frozenset()) for index in range(count)]
    items = [item for _test, item in cells]
    if star is not None and len(items) >= count - 1:
        after = count - star - 1
        middle = items[star : len(items) - after]
        return [*items[:star], m.new_list(tuple(middle)), *items[len(items) - after :]]
    if len(items) != count:
        if len(items) > count:
            m.throw(ValueError, f"too many values to unpack (expected {count})")
        m.throw(ValueError, f"not enough values to unpack (expected {count}, got {len(items)})")
    return items


def copy_items(m: Machine, source: DictV, target: DictV) -> None:
    """Write every item of one dictionary into another, keeping who wrote it."""
    target.boxed.update(source.boxed)
    for key, stored in list(source.slots.items()):
        test, value = presence(m, stored)
        if test is False:
            continue
        write = m.writers.get((source.slots.number, key))
        if test is not True:
            value = m.conditions.ite(test, value, target.slots.get(key, ABSENT))
        m.store(target.slots, key, value, write)
    for root in source.havoc:
        m.store(target.havoc, root, True)
