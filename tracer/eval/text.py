"""Texts made of values: ``str``, ``repr``, ``format``, f-strings."""

from __future__ import annotations

import re
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
        left, right = ("(", ")") if kind is tuple else ("[", "]")
        return _joined(m, [repr_of(m, item.value if type(item) is Maybe else item) for item in items], left, right)
    if kind is DictV:
        parts: list[Any] = []
        for key, item in value.slots.items():
            test, present = m.presence(item)
            if test is not False:
                key_text, item_text = repr_of(m, key), repr_of(m, present)
                parts.append(
                    f"{key_text}: {item_text}"
                    if isinstance(key_text, str) and isinstance(item_text, str)
                    else Unknown("item", roots_of(m, item_text))
                )
        return _joined(m, parts, "{", "}")
    if kind is SetV:
        return _joined(m, [repr_of(m, key) for key in value.slots], "{", "}") if value.slots else "set()"
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


def _joined(m: Machine, parts: list[Any], left: str, right: str) -> Any:
    if all(isinstance(part, str) for part in parts):
        return left + ", ".join(parts) + right
    return Unknown(left + ", ".join(show(part) for part in parts) + right, roots_of(m, *parts))


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
