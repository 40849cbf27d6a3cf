"""Texts made of values: ``str``, ``repr``, ``format``, f-strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.operators import plain, roots_of, show, unbox
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    ClassV,
    DictV,
    External,
    FunctionV,
    Instance,
    ListV,
    Maybe,
    SetV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine


MOST_OPEN = 3  # items that may be missing, in a text that is still told apart by case


def text_of(m: Machine, value: Any) -> Any:
    """``str(value)``."""
    if isinstance(value, str):
        return value
    if type(value) is Instance:
        if m.is_exception(value.cls):
            return exception_text(m, value)
        for name in ("__str__", "__repr__"):
            method = m.find_in_class(value.cls, name)
            if method is not ABSENT:
                return m.call(m.get_attr(value, name), Args())
        if value.native is not ABSENT:
            return str(value.native)
        method = m.special_attr(value, "__str__")
        if method is not ABSENT:
            return m.call(method, Args())
    return repr_of(m, value)


def exception_text(m: Machine, exc: Instance) -> Any:
    """``str(exception)``: its own ``__str__``, else its arguments as Python joins them."""
    method = m.find_in_class(exc.cls, "__str__")
    if method is not ABSENT:
        return m.call(m.get_attr(exc, "__str__"), Args())
    args = exc.slots.get("args", ())
    if type(args) is not tuple:
        return Unknown("message", roots_of(m, args))
    if not args:
        return ""
    if len(args) == 1:
        return repr_of(m, args[0]) if exc.cls is KeyError else m.lift(lambda leaf: text_of(m, leaf), args[0])
    return repr_of(m, args)


def repr_of(m: Machine, value: Any) -> Any:
    """``repr(value)``; an unknown part makes the whole text unknown."""
    m.spend()
    if plain(value):
        return repr(value)
    kind = type(value)
    if kind is Unknown:
        return Unknown(f"str({value.text})", value.roots)
    if kind is Guarded:
        return m.lift(lambda leaf: repr_of(m, leaf), value)
    if kind is ListV or kind is tuple:
        items = value if kind is tuple else value.slots[""]
        if type(items) is not tuple:
            return Unknown(f"str({show(value)})", roots_of(m, items))
        held = [(item.test, item.value) if type(item) is Maybe else (True, item) for item in items]
        left, right = ("(", ")") if kind is tuple else ("[", "]")
        right = ",)" if kind is tuple and len(items) == 1 else right
        return _by_presence(m, held, lambda there: _joined(m, [repr_of(m, item) for item in there], left, right))
    if kind is DictV:
        pairs = [(test, (key, item)) for key, stored in value.slots.items() for test, item in [m.presence(stored)]]
        return _by_presence(m, pairs, lambda there: _joined(m, [_pair(m, *pair) for pair in there], "{", "}"))
    if kind is SetV:
        keys = [(True if there is True else m.presence(there)[0], key) for key, there in value.slots.items()]
        return _by_presence(m, keys, lambda there: _set_text(m, there, value.frozen))
    if kind is Instance:
        method = m.find_in_class(value.cls, "__repr__")
        if method is not ABSENT:
            return m.call(m.get_attr(value, "__repr__"), Args())
        name = value.slots.get("_name_")
        if name is not None and isinstance(value.cls, ClassV):
            return f"<{value.cls.name}.{name}: {show(value.slots.get('_value_'))}>"
        return Unknown(show(value), frozenset())
    if kind is ClassV:
        return f"<class '{value.module}.{value.qualname}'>"
    if isinstance(value, type):
        return repr(value)
    if kind is External:
        return Unknown(f"str({value.path})", frozenset({value.path}))
    if kind is FunctionV:
        return f"<function {value.qualname}>"
    return Unknown(show(value), frozenset())


def _pair(m: Machine, key: Any, value: Any) -> Any:
    key_text, text = repr_of(m, key), repr_of(m, value)
    if isinstance(key_text, str) and isinstance(text, str):
        return f"{key_text}: {text}"
    return Unknown("item", roots_of(m, text))


def _by_presence(m: Machine, held: list[tuple[Any, Any]], text: Callable[[list[Any]], Any]) -> Any:
    """The text of a container whose items are there under conditions: one for every combination."""
    held = [(m.conditions.restrict(test, m.pc), item) for test, item in held if m.feasible(test) is not False]
    open_ = [index for index, (test, _item) in enumerate(held) if test is not True]
    if len(open_) > MOST_OPEN:
        return Unknown("[...]", roots_of(m, *(test for test, _item in held)))
    if not open_:
        return text([item for _test, item in held])
    before, (test, item), after = held[: open_[0]], held[open_[0]], held[open_[0] + 1 :]
    return m.fork(
        [
            (test, lambda: _by_presence(m, [*before, (True, item), *after], text)),
            (m.conditions.negation(test), lambda: _by_presence(m, [*before, *after], text)),
        ]
    )


def _joined(m: Machine, parts: list[Any], left: str, right: str) -> Any:
    if all(isinstance(part, str) for part in parts):
        return left + ", ".join(parts) + right
    return Unknown(left + ", ".join(show(part) for part in parts) + right, roots_of(m, *parts))


def _set_text(m: Machine, keys: list[Any], frozen: bool) -> Any:
    """The text of a set. Python orders texts by a hash that differs from process to process: then it is unknown."""
    left, right = ("frozenset({", "})") if frozen else ("{", "}")
    if not keys:
        return "frozenset()" if frozen else "set()"
    if all(type(key) in (int, bool, float, type(None)) for key in keys):
        return left + repr(set(keys))[1:-1] + right
    whole = _joined(m, [repr_of(m, key) for key in keys], left, right)
    if len(keys) == 1 or not isinstance(whole, str):
        return whole
    return Unknown(whole, frozenset({"order of a set"}))


def format_value(m: Machine, value: Any, spec: Any, conversion: str) -> Any:
    """One replacement field of an f-string."""
    if conversion == "r":
        value = repr_of(m, value)
    elif conversion == "s" or not plain(value):
        native = unbox(value)
        value = native if plain(native) and spec and not isinstance(native, str) else text_of(m, value)
    if type(value) is Guarded:
        return m.lift(lambda leaf: format_value(m, leaf, spec, ""), value)
    if type(value) is Unknown or type(spec) is Unknown:
        return Unknown(show(value), roots_of(m, value))
    if not spec:
        return value if isinstance(value, str) else str(value)
    if isinstance(spec, str) and re.search(r"\d{6}", spec):
        m.give_up("a text of more than 100,000 characters")
    return m.native_call(format, value, spec)


def format_percent(m: Machine, template: str, values: tuple[Any, ...]) -> Any:
    """``template % values`` with values that Python itself cannot format."""
    if any(type(value) is Guarded for value in values):
        return m.lift(lambda *leaves: format_percent(m, template, leaves), *values)
    texts = tuple(value if plain(value) else text_of(m, value) for value in values)
    if re.search(r"\d{6}", template):
        m.give_up("a text of more than 100,000 characters")
    if all(plain(text) for text in texts):
        return m.native_call(lambda: template % texts)
    return Unknown(f"{template!r} % {show(values)}", roots_of(m, *values))


def text_of_template(m: Machine, template: str, pos: list[Any], kw: dict[str, Any]) -> Any:
    """``template.format(...)``."""
    hosts = [value if plain(value) else text_of(m, value) for value in pos]
    named = {key: value if plain(value) else text_of(m, value) for key, value in kw.items()}
    if all(plain(value) for value in (*hosts, *named.values())):
        return m.native_call(lambda: template.format(*hosts, **named))
    return Unknown(f"{template!r}.format(...)", roots_of(m, *hosts, *named.values()))
