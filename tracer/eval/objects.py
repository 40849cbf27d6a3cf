"""Attributes and classes: lookup order, descriptors, metaclasses, enums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.library.methods import method_of
from pathtrace.tracer.eval.operators import roots_of, show
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
    ModuleV,
    Native,
    SetV,
    SuperV,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine


def linearize(cls: ClassV, bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """The C3 method resolution order; bases outside the tree stand for themselves."""
    sequences = [list(base.mro) if isinstance(base, ClassV) else [base] for base in bases]
    sequences = [*sequences, list(bases)]
    order: list[Any] = [cls]
    while any(sequences):
        for sequence in sequences:
            if sequence and not any(sequence[0] in other[1:] for other in sequences):
                head = sequence[0]
                break
        else:
            head = next(sequence[0] for sequence in sequences if sequence)
        order.append(head)
        for sequence in sequences:
            if head in sequence:
                sequence.remove(head)
    return tuple(order)


def find_in_class(m: Machine, cls: Any, name: str) -> Any:
    """The attribute of a class over its resolution order; ``External`` where only a base outside has it."""
    if not isinstance(cls, ClassV):
        if isinstance(cls, type):
            return ABSENT
        return ABSENT
    for base in cls.mro:
        if isinstance(base, ClassV):
            value = base.slots.get(name, ABSENT)
            if value is not ABSENT:
                m.saw(base.slots, name)
                return value
    return ABSENT


def outside_bases(cls: Any) -> list[External]:
    """Bases that are not of the tree and whose attributes are therefore not known."""
    if not isinstance(cls, ClassV):
        return []
    return [base for base in cls.mro if type(base) is External and base.path not in KNOWN_BASES]


KNOWN_BASES = frozenset(
    {
        "abc.ABC", "enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag", "enum.StrEnum", "enum.EnumMeta",
        "enum.EnumType", "typing.Protocol", "typing.Generic", "typing.NamedTuple", "msgspec.Struct",
        "typing.TypedDict", "argparse.Action", "argparse.ArgumentParser", "argparse.Namespace", "abc.ABCMeta",
        "argparse.HelpFormatter",
    }
)  # fmt: skip


def get_attr(m: Machine, obj: Any, name: str, default: Any = ABSENT) -> Any:
    """``obj.name``; raises the tree's AttributeError, or gives ``default`` where one is passed."""
    kind = type(obj)
    if kind is Instance:
        return _instance_attr(m, obj, name, default)
    if kind is Guarded:
        return m.lift(lambda leaf: get_attr(m, leaf, name, default), obj)
    if kind is ModuleV:
        return _module_attr(m, obj, name, default)
    if kind is LazyModule or kind is LazyName:
        return get_attr(m, m.resolve(obj), name, default)
    if kind is ClassV:
        return class_attr(m, obj, name, default)
    if kind is Unknown:
        return Unknown(f"{obj.text}.{name}", obj.roots)
    if kind is External:
        return m.external(f"{obj.path}.{name}")
    if kind is SuperV:
        return _super_attr(m, obj, name, default)
    if kind is FunctionV:
        return _function_attr(m, obj, name, default)
    if kind is BoundV:
        if name == "__self__":
            return obj.self
        if name == "__func__":
            return obj.function
        return get_attr(m, obj.function, name, default)
    if kind is Descriptor and name in ("setter", "getter", "deleter", "fget"):
        if name == "fget":
            return obj.function
        return Native(
            name,
            lambda _m, args: (
                Descriptor("property", obj.function, args.pos[0] if name == "setter" else obj.setter)
                if name != "getter"
                else Descriptor("property", args.pos[0], obj.setter)
            ),
        )
    if kind is Native:
        if name in obj.attrs:
            return obj.attrs[name]
        if name in ("__name__", "__qualname__"):
            return obj.name
        if default is ABSENT:
            return Unknown(f"{obj.name}.{name}", frozenset({obj.name}))
    if kind is TypingV:
        if name == "__args__":
            return obj.args
        if name == "__origin__":
            return External(obj.origin)
        if name == "__metadata__":
            return obj.args[1:]
    if isinstance(obj, type):
        if name in ("__name__", "__qualname__"):
            return obj.__name__
        if name == "__module__":
            return "builtins"
        if name == "__mro__":
            return obj.__mro__
        if name in ("__setattr__", "__getattribute__", "__eq__", "__hash__", "__repr__", "__str__", "__delattr__"):
            return m.object_method(name)
        if name == "__new__":
            return Native(name, lambda mm, args: mm.new_from_super(args))
        if name == "__init__":
            return Native(name, lambda mm, args: mm.base_init(args.pos[0], Args(args.pos[1:], args.kw)))
        if hasattr(obj, name):
            return _host_member(m, obj, name)
    if name == "__class__":
        return m.type_of(obj)
    method = method_of(m, obj, name)
    if method is not ABSENT:
        return method
    return _missing(m, obj, name, default)


def _host_member(m: Machine, cls: type, name: str) -> Any:
    """``str.upper``, ``dict.fromkeys``: a method of a builtin type, called with its object first."""

    def run(mm: Machine, args: Args) -> Any:
        if cls is dict and name == "fromkeys":
            value = args.pos[1] if len(args.pos) > 1 else None
            return DictV({mm.hash_key(key): value for _test, key in mm.elements(args.pos[0])})
        if isinstance(getattr(cls, name), type(str.maketrans)) or not args.pos:
            return mm.native_or_unknown(f"{cls.__name__}.{name}", getattr(cls, name), args)
        return mm.call(get_attr(mm, args.pos[0], name), Args(args.pos[1:], args.kw))

    return Native(f"{cls.__name__}.{name}", run)


def _missing(m: Machine, obj: Any, name: str, default: Any) -> Any:
    if default is not ABSENT:
        return default
    m.throw(AttributeError, f"'{m.type_name(obj)}' object has no attribute '{name}'")


def _instance_attr(m: Machine, obj: Instance, name: str, default: Any) -> Any:
    cls = obj.cls
    special = m.special_attr(obj, name)
    if special is not ABSENT:
        return special
    getter = find_in_class(m, cls, "__getattribute__")
    if getter is not ABSENT:
        return m.call(BoundV(getter, obj), Args([name]))
    found = find_in_class(m, cls, name)
    if found is not ABSENT and _is_data_descriptor(m, found):
        return bind(m, found, obj, cls)
    value = obj.slots.get(name, ABSENT)
    m.saw(obj.slots, name)
    if value is not ABSENT:
        test, present = m.presence(value)
        if test is True:
            return present
        if test is not False:
            return m.fork(
                [
                    (test, lambda: m.conditions.restrict(present, m.pc)),
                    (m.conditions.negation(test), lambda: _after_slots(m, obj, name, found, default)),
                ]
            )
    return _after_slots(m, obj, name, found, default)


def _after_slots(m: Machine, obj: Instance, name: str, found: Any, default: Any) -> Any:
    cls = obj.cls
    if found is not ABSENT:
        test, present = m.presence(found)
        if test is not False:
            return bind(m, present, obj, cls)
    if name == "__class__":
        return cls
    if name == "__dict__":
        view = DictV()
        view.slots = obj.slots
        return view
    if name == "args" and m.is_exception(cls):
        return ()
    if name in ("name", "value") and isinstance(cls, ClassV) and cls.kind == "enum":
        return obj.slots.get("_name_" if name == "name" else "_value_")
    if obj.native is not ABSENT:
        method = method_of(m, obj.native, name)
        if method is not ABSENT:
            return method
    fallback = find_in_class(m, cls, "__getattr__")
    if fallback is not ABSENT:
        if default is ABSENT:
            return m.call(BoundV(fallback, obj), Args([name]))
        return m.attempt(lambda: m.call(BoundV(fallback, obj), Args([name])), AttributeError, default)
    if name == "__setattr__":
        return Native(name, lambda mm, args: set_slot(mm, obj, args.pos[0], args.pos[1], args.written(1)))
    if name in ("__init__", "__post_init__", "__init_subclass__", "__set_name__") and default is ABSENT:
        return Native(name, lambda _m, _args: None)
    outside = outside_bases(cls)
    if outside:
        return m.external_attribute(obj, outside[0], name)
    return _missing(m, obj, name, default)


def _is_data_descriptor(m: Machine, value: Any) -> bool:
    if type(value) is Descriptor:
        return value.kind == "property"
    return type(value) is Instance and find_in_class(m, value.cls, "__set__") is not ABSENT


def bind(m: Machine, value: Any, obj: Any, cls: Any) -> Any:
    """What a class attribute becomes when it is read through an instance (or, ``obj`` None, the class)."""
    kind = type(value)
    if kind is FunctionV:
        return value if obj is None else BoundV(value, obj)
    if kind is Descriptor:
        if value.kind == "static":
            return value.function
        if value.kind == "class":
            return BoundV(value.function, cls)
        if obj is None:
            return value
        result = m.call(value.function, Args([obj]))
        if value.kind == "cached" and isinstance(obj, Instance):
            m.store(obj.slots, value.function.name, result)
        return result
    if kind is Native and "method" in value.attrs and obj is not None:
        return BoundV(value, obj)
    if kind is Instance and type(value.cls) is ClassV and value.cls.kind != "enum":
        getter = find_in_class(m, value.cls, "__get__")
        if getter is not ABSENT:
            return m.call(BoundV(getter, value), Args([obj, cls]))
    if kind is Guarded:
        return m.lift(lambda leaf: bind(m, leaf, obj, cls), value)
    return value


def class_attr(m: Machine, cls: ClassV, name: str, default: Any = ABSENT) -> Any:
    """``cls.name``, metaclass included."""
    meta = cls.meta
    if meta is not None:
        found = find_in_class(m, meta, name)
        if found is not ABSENT and type(found) is Descriptor and found.kind == "property":
            return m.call(found.function, Args([cls]))
    found = find_in_class(m, cls, name)
    if found is not ABSENT:
        test, present = m.presence(found)
        if test is not False:
            return bind(m, present, None, cls)
    if meta is not None:
        found = find_in_class(m, meta, name)
        if found is not ABSENT:
            return bind(m, found, cls, meta)
    builtin = _class_builtin(m, cls, name)
    if builtin is not ABSENT:
        return builtin
    if meta is not None:
        fallback = find_in_class(m, meta, "__getattr__")
        if fallback is not ABSENT:
            if default is ABSENT:
                return m.call(BoundV(fallback, cls), Args([name]))
            return m.attempt(lambda: m.call(BoundV(fallback, cls), Args([name])), AttributeError, default)
    if name == "__init__":
        return Native(name, lambda _m, _args: None, {"method": True})
    if name == "__new__":
        return Native(name, lambda mm, args: mm.new_instance(args.pos[0], args))
    outside = outside_bases(cls)
    if outside:
        return m.external_attribute(cls, outside[0], name)
    if default is not ABSENT:
        return default
    m.throw(AttributeError, f"type object '{cls.name}' has no attribute '{name}'")


def _class_builtin(m: Machine, cls: ClassV, name: str) -> Any:
    if name == "__name__":
        return cls.name
    if name == "__qualname__":
        return cls.qualname
    if name == "__module__":
        return cls.module
    if name == "__mro__":
        return cls.mro
    if name == "__bases__":
        return cls.bases
    if name == "__class__":
        return cls.meta if cls.meta is not None else type
    if name == "__dict__":
        view = DictV()
        view.slots = cls.slots
        return view
    if name == "__members__" and cls.kind == "enum":
        return DictV(dict(m.enum_members(cls)))
    if name == "__doc__":
        return None
    if name == "__struct_fields__" and cls.fields is not None:
        return tuple(field.name for field in cls.fields)
    if name == "__dataclass_fields__" and cls.kind in ("dataclass", "struct") and cls.fields is not None:
        return DictV({field.slots["name"]: field for field in m.field_objects(cls)})
    if name in ("__annotations__", "__subclasses__", "mro"):
        if name == "__annotations__":
            return DictV()
        if name == "mro":
            return Native("mro", lambda mm, _args: mm.new_list(cls.mro))
        return Native(name, lambda _m, _args: Unknown(f"{cls.name}.__subclasses__()", frozenset()))
    if name in ("__setattr__", "__getattribute__", "__eq__", "__hash__", "__repr__", "__str__"):
        return m.object_method(name)
    return ABSENT


def _super_attr(m: Machine, obj: SuperV, name: str, default: Any) -> Any:
    cls = obj.self if isinstance(obj.self, ClassV) else getattr(obj.self, "cls", None)
    search = cls.mro if isinstance(cls, ClassV) else ()
    if obj.owner not in search and isinstance(obj.self, ClassV) and obj.self.meta is not None:
        search = obj.self.meta.mro
    after = search[search.index(obj.owner) + 1 :] if obj.owner in search else ()
    for base in after:
        if isinstance(base, ClassV):
            value = base.slots.get(name, ABSENT)
            if value is not ABSENT:
                if isinstance(obj.self, ClassV) and name in ("__new__", "__init_subclass__"):
                    return value.function if type(value) is Descriptor else value
                return (
                    bind(m, value, obj.self if not isinstance(obj.self, ClassV) else None, cls)
                    if not (isinstance(obj.self, ClassV) and type(value) is FunctionV)
                    else BoundV(value, obj.self)
                )
        elif type(base) is External:
            model = m.external_super(obj.self, base, name)
            if model is not ABSENT:
                return model
    if name == "__setattr__":
        return Native(name, lambda mm, args: set_slot(mm, obj.self, args.pos[0], args.pos[1], args.written(1)))
    if name == "__getattribute__":
        return Native(name, lambda mm, args: get_attr(mm, obj.self, args.pos[0]))
    if name == "__getattr__":
        return Native(name, lambda mm, args: _missing(mm, obj.self, args.pos[0], ABSENT))
    if name == "__new__":
        return Native(name, lambda mm, args: mm.new_from_super(args))
    if name in ("__init__", "__post_init__", "__init_subclass__", "__enter__", "__exit__"):
        return Native(name, lambda mm, args: mm.base_init(obj.self, args) if name == "__init__" else None)
    if name in ("__eq__", "__hash__", "__repr__", "__str__"):
        return BoundV(m.object_method(name), obj.self)
    if isinstance(obj.self, Instance) and obj.self.native is not ABSENT:
        return method_of(m, obj.self.native, name)
    outside = outside_bases(cls)
    if outside:
        return m.external_attribute(obj.self, outside[0], name)
    if default is not ABSENT:
        return default
    m.throw(AttributeError, f"'super' object has no attribute '{name}'")


def _function_attr(m: Machine, obj: FunctionV, name: str, default: Any) -> Any:
    value = obj.slots.get(name, ABSENT)
    if value is not ABSENT:
        return value
    if name == "__name__":
        return obj.name
    if name == "__qualname__":
        return obj.qualname
    if name == "__module__":
        return obj.module.name
    if name == "__doc__":
        return None
    if name == "__dict__":
        view = DictV()
        view.slots = obj.slots
        return view
    if name == "__get__":
        return Native(name, lambda _m, args: BoundV(obj, args.pos[0]))
    if name == "cache_clear":
        return Native(name, lambda _m, _args: None)
    if default is not ABSENT:
        return default
    if name in ("__code__", "__annotations__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__"):
        return Unknown(f"{obj.name}.{name}", frozenset())
    m.throw(AttributeError, f"'function' object has no attribute '{name}'")


def _module_attr(m: Machine, obj: ModuleV, name: str, default: Any) -> Any:
    m.run_module(obj)
    value = obj.slots.get(name, ABSENT)
    if value is not ABSENT:
        m.saw(obj.slots, name)
        test, present = m.presence(value)
        if test is True:
            if type(present) in (LazyModule, LazyName):
                return m.resolve(present)
            return present
        if test is not False:
            m.leave_if(m.conditions.negation(test), AttributeError, f"module '{obj.name}' has no attribute '{name}'")
            return m.conditions.restrict(present, m.pc)
    if name == "__name__":
        return obj.name
    if name == "__file__":
        return obj.file
    if name == "__path__" and obj.is_package:
        return m.new_list((obj.file.rsplit("/", 1)[0],))
    if name == "__dict__":
        view = DictV()
        view.slots = obj.slots
        return view
    if obj.is_package and m.loaded(f"{obj.name}.{name}") is not None:
        return m.loaded(f"{obj.name}.{name}")
    found = m.star_imported(obj, name)
    if found is not ABSENT:
        return found
    hook = obj.slots.get("__getattr__", ABSENT)
    if hook is not ABSENT:
        if default is ABSENT:
            return m.call(hook, Args([name]))
        return m.attempt(lambda: m.call(hook, Args([name])), AttributeError, default)
    if obj.state == "unreadable":
        return Unknown(f"{obj.name}.{name}", frozenset({f"a readable {obj.file}"}))
    if default is not ABSENT:
        return default
    m.throw(AttributeError, f"module '{obj.name}' has no attribute '{name}'")


# ---------------------------------------------------------------- writing
def set_attr(m: Machine, obj: Any, name: str, value: Any, write: Any = None) -> None:
    """``obj.name = value`` by the rules of Python."""
    kind = type(obj)
    if kind is Instance:
        setter = find_in_class(m, obj.cls, "__setattr__")
        if setter is not ABSENT and type(setter) is FunctionV:
            args = Args([name, value])
            args.pos_from = [None, write]
            m.call(BoundV(setter, obj), args)
            return
        set_slot(m, obj, name, value, write)
    elif kind is Guarded:
        m.lift(lambda leaf: set_attr(m, leaf, name, value, write), obj)
    elif kind is ClassV or kind is FunctionV or kind is ModuleV:
        m.store_visibly(obj, name, value, write)
    elif kind is LazyModule or kind is LazyName:
        set_attr(m, m.resolve(obj), name, value, write)
    elif kind in (Unknown, External, Native, BoundV, SuperV):
        return
    else:
        m.throw(AttributeError, f"'{m.type_name(obj)}' object has no attribute '{name}'")


def set_slot(m: Machine, obj: Any, name: str, value: Any, write: Any = None) -> None:
    """``object.__setattr__``: properties and data descriptors, then the instance itself."""
    if not isinstance(obj, Instance):
        set_attr(m, obj, name, value, write)
        return
    found = find_in_class(m, obj.cls, name)
    if type(found) is Descriptor and found.kind == "property":
        if found.setter is None:
            m.throw(AttributeError, f"property '{name}' of '{m.type_name(obj)}' object has no setter")
        m.call(found.setter, Args([obj, value]))
        return
    if type(found) is Instance:
        setter = find_in_class(m, found.cls, "__set__")
        if setter is not ABSENT:
            m.call(BoundV(setter, found), Args([obj, value]))
            return
    m.store_visibly(obj, name, value, write)


def describe_missing(m: Machine, obj: Any, name: str) -> Unknown:
    """An attribute that only something outside the tree could supply."""
    return Unknown(f"{show(obj)}.{name}", roots_of(m, obj))


__all__ = ["bind", "class_attr", "find_in_class", "get_attr", "linearize", "set_attr", "set_slot", "ListV", "SetV"]
