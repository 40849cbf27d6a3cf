"""Class definitions: bodies, metaclasses, enums, fields."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.calls import call
from pathtrace.tracer.eval.objects import find_in_class, linearize
from pathtrace.tracer.eval.operators import show
from pathtrace.tracer.eval.scopes import Env
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    BoundV,
    ClassV,
    Descriptor,
    External,
    FunctionV,
    Instance,
    Native,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

_ENUMS = {"enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag", "enum.StrEnum"}


def class_def(m: Machine, node: ast.ClassDef, env: Env) -> None:
    """``class Name(bases): body``."""
    r0 = len(m.reads)
    decorators = [m.eval(item, env) for item in node.decorator_list]
    bases: list[Any] = []
    for item in node.bases:
        if isinstance(item, ast.Starred):
            continue
        bases.append(_as_base(m, m.eval(item, env)))
    keywords = {item.arg: m.eval(item.value, env) for item in node.keywords if item.arg}
    meta = keywords.pop("metaclass", None)
    m.line = node.lineno
    cls = new_class(m, node.name, tuple(bases), env.module.name, m.file, node.lineno, meta)
    cls.qualname = f"{env.cls.qualname}.{node.name}" if env.is_class and env.cls is not None else node.name
    body = Env(env, env.module, (frozenset(), frozenset(), frozenset(), False))
    body.is_class = True
    body.slots = cls.slots
    body.cls = cls
    m.exec_block(node.body, body)
    finish_class(m, cls, keywords)
    value: Any = cls
    for decorator in reversed(decorators):
        m.line = node.lineno
        value = decorate(m, decorator, value)
    m.line = node.lineno
    m.bind_name(node.name, value, env, m.written(r0))


def decorate(m: Machine, decorator: Any, value: Any) -> Any:
    """Apply a decorator. One from outside the tree that has no model is taken to keep what it decorates."""
    if type(decorator) in (External, Unknown):
        return value
    return call(m, decorator, Args([value]))


def _as_base(m: Machine, value: Any) -> Any:
    if type(value) is TypingV:
        return External(value.origin)
    if type(value) is Unknown:
        return External(value.text)
    if isinstance(value, (ClassV, External, type)):
        return value
    if type(value) is Native:
        return External(f"builtins.{value.name}")
    if type(value) is FunctionV:
        return External(show(value))
    return m.lift(lambda leaf: leaf, value) if not isinstance(value, (str, int)) else External(show(value))


def new_class(
    m: Machine, name: str, bases: tuple[Any, ...], module: str, file: str, line: int, meta: Any = None
) -> ClassV:
    """An empty class: resolution order, metaclass and kind (enum, dataclass, struct) from the bases."""
    bases = tuple(base if isinstance(base, (ClassV, External, type)) else External(show(base)) for base in bases)
    cls = ClassV(name, bases, module, file, line)
    cls.mro = linearize(cls, bases)
    cls.meta = meta if isinstance(meta, ClassV) else None
    for base in bases:
        if isinstance(base, ClassV):
            if base.kind in ("enum", "struct"):
                cls.kind = base.kind
            if cls.meta is None:
                cls.meta = base.meta
        elif type(base) is External:
            if base.path in _ENUMS:
                cls.kind = "enum"
            elif base.path == "msgspec.Struct":
                cls.kind = "struct"
            elif base.path == "typing.NamedTuple":
                cls.kind = "namedtuple"
    return cls


def finish_class(m: Machine, cls: ClassV, keywords: dict[str, Any]) -> None:
    """What ``type.__new__`` does after the body: enum members, ``__set_name__``, ``__init_subclass__``."""
    if cls.kind == "enum":
        make_members(m, cls)
    for name, value in list(cls.slots.items()):
        if type(value) is Instance and isinstance(name, str):
            hook = find_in_class(m, value.cls, "__set_name__")
            if hook is not ABSENT:
                call(m, BoundV(hook, value), Args([cls, name]))
    for base in cls.mro[1:]:
        if isinstance(base, ClassV) and "__init_subclass__" in base.slots:
            hook = base.slots["__init_subclass__"]
            function = hook.function if type(hook) is Descriptor else hook
            call(m, BoundV(function, cls), Args([], keywords))
            break
    if cls.kind in ("struct", "namedtuple"):
        m.make_fields(cls)


def make_members(m: Machine, cls: ClassV) -> None:
    """Turn the plain assignments of an enum's body into members, in order."""
    native_base = next((base for base in cls.mro if base in (int, str, float)), None)
    for base in cls.mro:
        if type(base) is External and base.path in ("enum.IntEnum", "enum.IntFlag"):
            native_base = int
        elif type(base) is External and base.path == "enum.StrEnum":
            native_base = str
    members: list[str] = []
    seen: dict[Any, Any] = {}
    for name, value in list(cls.slots.items()):
        if not isinstance(name, str) or name.startswith(("__", "*")) or (name.startswith("_") and name.endswith("_")):
            continue
        if isinstance(value, (FunctionV, Descriptor, ClassV, BoundV)) or type(value) is Native:
            continue
        if type(value) is Instance and find_in_class(m, value.cls, "__get__") is not ABSENT:
            continue
        if type(value) is External and value.path == "enum.auto()":
            value = m.next_enum_value(cls, name, list(seen), native_base)
        key = m.hash_key(value)
        if key is not ABSENT and key in seen:
            cls.slots[name] = seen[key]
            continue
        native = value if native_base is not None and not isinstance(value, (Unknown, Instance)) else ABSENT
        member = Instance(cls, native)
        member.slots["_name_"] = name
        member.slots["_value_"] = value
        init = find_in_class(m, cls, "__init__")
        if init is not ABSENT:
            call(m, BoundV(init, member), Args(list(value) if type(value) is tuple else [value]))
        seen[key] = member
        cls.slots[name] = member
        members.append(name)
    cls.slots["_member_names_"] = tuple(members) if members else ()
