"""Records and enums: dataclasses, structs, named tuples, enum look-up, and what ``object`` and ``type`` do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval import operators
from pathtrace.tracer.eval.calls import call
from pathtrace.tracer.eval.classes import finish_class, new_class
from pathtrace.tracer.eval.library.externals import native
from pathtrace.tracer.eval.objects import find_in_class, get_attr, set_attr
from pathtrace.tracer.eval.operators import show, truth
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
    Native,
    SuperV,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine
    from pathtrace.tracer.eval.scopes import Env


class Field:
    """One field of a dataclass or struct."""

    __slots__ = ("annotation", "default", "env", "factory", "init", "kw_only", "metadata", "name", "where")

    def __init__(self, name: str, annotation: Any, env: Any, default: Any) -> None:
        self.name = name
        self.annotation = annotation
        self.env = env
        self.default = default
        self.factory: Any = ABSENT
        self.init = True
        self.kw_only = False
        self.metadata: Any = None
        self.where: Any = None


def make_fields(m: Machine, cls: ClassV) -> None:
    """Collect the fields of a record class from its bases and its annotations, in order."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.mro[1:]):
        if isinstance(base, ClassV) and base.fields is not None:
            fields.update({field.name: field for field in base.fields})
    for name, (annotation, env) in cls.slots.get("*annotations*", {}).items():
        if _is_class_var(annotation):
            continue
        field = Field(name, annotation, env, cls.slots.get(name, ABSENT))
        default = field.default
        if type(default) is Instance and "*field*" in default.slots:
            options = default.slots["*field*"]
            field.default = options.get("default", ABSENT)
            field.factory = options.get("default_factory", ABSENT)
            field.init = options.get("init", True) is not False
            field.kw_only = options.get("kw_only", False) is True
            field.metadata = options.get("metadata")
            if field.default is ABSENT:
                cls.slots.pop(name, None)
            else:
                cls.slots[name] = field.default
        field.where = m.writers.get((cls.slots.number, name))
        fields[name] = field
    cls.fields = list(fields.values())


def _is_class_var(annotation: Any) -> bool:
    text = (
        annotation.value
        if isinstance(annotation, ast.Constant)
        else ast.unparse(annotation)
        if isinstance(annotation, ast.expr)
        else ""
    )
    return isinstance(text, str) and ("ClassVar" in text or text.startswith("KW_ONLY"))


def dataclass(m: Machine, args: Args) -> Any:
    """``@dataclass`` and ``@dataclass(...)``."""
    if args.pos and isinstance(args.pos[0], ClassV):
        cls = args.pos[0]
        cls.kind = "dataclass"
        cls.slots["*frozen*"] = args.kw.get("frozen") is True
        make_fields(m, cls)
        return cls
    options = dict(args.kw)
    return Native("dataclass", lambda mm, inner: dataclass(mm, Args(inner.pos, options)))


def field_call(m: Machine, args: Args) -> Any:
    """``field(default=..., default_factory=...)``."""
    made = Instance(External("dataclasses.Field"))
    made.slots["*field*"] = dict(args.kw)
    return made


def base_init(m: Machine, obj: Any, args: Args) -> Any:
    """The ``__init__`` that a class gets without writing one."""
    if not isinstance(obj, Instance) or not isinstance(obj.cls, ClassV):
        if isinstance(obj, Instance) and m.is_exception(obj.cls):
            obj.slots["args"] = tuple(args.pos)
        return None
    cls = obj.cls
    if m.is_exception(cls):
        obj.slots["args"] = tuple(args.pos)
        return None
    owner = next(
        (
            base
            for base in cls.mro
            if isinstance(base, ClassV)
            and base.kind in ("dataclass", "struct", "namedtuple")
            and base.fields is not None
        ),
        None,
    )
    if owner is not None:
        _init_record(m, obj, owner, args)
        return None
    for base in cls.mro:
        if type(base) is External:
            from pathtrace.tracer.eval.library.externals import base_initialiser

            model = base_initialiser(base.path)
            if model is not None:
                model(m, obj, args)
                return None
    outside = m.outside_bases(cls)
    if outside:
        for key, value in args.kw.items():
            obj.slots.setdefault("*given*", {})[key] = value
        return None
    if (
        (args.pos or args.kw)
        and cls.kind == "plain"
        and obj.native is ABSENT
        and find_in_class(m, cls, "__new__") is ABSENT
    ):
        m.throw(TypeError, f"{cls.name}() takes no arguments")
    return None


def _init_record(m: Machine, obj: Instance, owner: ClassV, args: Args) -> None:
    fields = [field for field in owner.fields or () if field.init]
    given = dict(args.kw)
    positional = [field for field in fields if not field.kw_only]
    if len(args.pos) > len(positional):
        m.throw(
            TypeError,
            f"{owner.name}.__init__() takes {len(positional) + 1} positional arguments "
            f"but {len(args.pos) + 1} were given",
        )
    missing = []
    for index, field in enumerate(fields):
        write = field.where
        if field in positional and positional.index(field) < len(args.pos):
            index = positional.index(field)
            value = args.pos[index]
            write = args.written(index)
        elif field.name in given:
            value = given.pop(field.name)
            write = args.kw_from.get(field.name)
        elif field.default is not ABSENT:
            value = field.default
        elif field.factory is not ABSENT:
            value = call(m, field.factory, Args())
        elif args.star_unknown is not None:
            value = Unknown(f"{field.name}", args.star_unknown.roots)
        else:
            missing.append(field.name)
            continue
        m.store(obj.slots, field.name, value, write)
    if missing:
        listed = ", ".join(repr(name) for name in missing)
        m.throw(TypeError, f"{owner.name}.__init__() missing {len(missing)} required positional arguments: {listed}")
    if given:
        m.throw(TypeError, f"{owner.name}.__init__() got an unexpected keyword argument '{next(iter(given))}'")
    for field in owner.fields or ():
        if not field.init and field.factory is not ABSENT:
            m.store(obj.slots, field.name, call(m, field.factory, Args()), field.where)
        elif not field.init and field.default is not ABSENT:
            m.store(obj.slots, field.name, field.default, field.where)
    hook = find_in_class(m, obj.cls, "__post_init__")
    if hook is not ABSENT:
        call(m, BoundV(hook, obj), Args())


def new_instance(m: Machine, cls: Any, args: Args) -> Any:
    """``object.__new__(cls)``, with the underlying value for subclasses of builtin types."""
    native_base = next((base for base in getattr(cls, "mro", ()) if base in (int, str, float, tuple, list, dict)), None)
    if native_base in (int, str, float):
        return Instance(cls, m.native_or_unknown(native_base.__name__, native_base, Args(args.pos[1:2])))
    if native_base in (list, dict):
        return Instance(cls, m.call_type(native_base, Args(args.pos[1:], args.kw)))
    return Instance(cls)


def new_from_super(m: Machine, args: Args) -> Any:
    """``super().__new__(cls, ...)`` in a class, or in a metaclass."""
    first = args.pos[0]
    if isinstance(first, ClassV) and len(args.pos) >= 4 and isinstance(args.pos[1], str):
        made = build_class(m, Args(args.pos[1:], args.kw))
        made.meta = first
        return made
    return new_instance(m, first, args)


def build_class(m: Machine, args: Args) -> Any:
    """``type(name, bases, namespace)``."""
    name, bases, namespace = args.pos[:3]
    module = m.stack[-1][0].module.name if m.stack else ""
    bases = tuple(value for _test, value in m.elements(bases))
    cls = new_class(m, str(name), bases, module, m.file, m.line)
    if type(namespace) is DictV:
        for key, value in namespace.slots.items():
            cls.slots[key] = value
            write = m.writers.get((namespace.slots.number, key))
            if write is not None:
                m.writers[(cls.slots.number, key)] = write
    finish_class(m, cls, args.kw)
    return cls


def defstruct(m: Machine, args: Args) -> Any:
    """``msgspec.defstruct(name, fields, *, bases, namespace, ...)``."""
    name, fields = args.pos[0], args.pos[1]
    bases = tuple(value for _test, value in m.elements(args.kw.get("bases") or ()))
    cls = new_class(
        m,
        name,
        bases or (External("msgspec.Struct"),),
        m.stack[-1][0].module.name if m.stack else m.external_state.get("module", ""),
        m.file,
        m.line,
    )
    cls.kind = "struct"
    namespace = args.kw.get("namespace")
    if type(namespace) is DictV:
        for key, value in namespace.slots.items():
            test, present = m.presence(value)
            if test is False:
                continue
            if type(present) is FunctionV and present.owner is not None:
                present = _moved(present, cls)
            elif type(present) is Descriptor and type(present.function) is FunctionV:
                present = Descriptor(present.kind, _moved(present.function, cls), present.setter)
            cls.slots[key] = present
            write = m.writers.get((namespace.slots.number, key))
            if write is not None:
                m.writers[(cls.slots.number, key)] = write
        moved_module = namespace.slots.get("__module__")
        if isinstance(moved_module, str):
            cls.module = moved_module
    cls.slots.pop("*annotations*", None)
    made: list[Field] = []
    for _test, item in m.elements(fields):
        parts = (
            [item]
            if isinstance(item, str)
            else m.unpack(item, len(item) if type(item) is tuple else len(m.elements(item)))
        )
        field = Field(
            parts[0],
            parts[1] if len(parts) > 1 else External("typing.Any"),
            None,
            parts[2] if len(parts) > 2 else ABSENT,
        )
        if type(field.default) is Instance and "*field*" in field.default.slots:
            options = field.default.slots["*field*"]
            field.default, field.factory = options.get("default", ABSENT), options.get("default_factory", ABSENT)
        field.where = m.written(len(m.reads))
        made.append(field)
    cls.fields = made
    return cls


def _moved(function: FunctionV, cls: ClassV) -> FunctionV:
    copy = FunctionV(
        function.node,
        function.name,
        function.env,
        function.module,
        function.file,
        function.defaults,
        function.kw_defaults,
    )
    copy.qualname, copy.slots, copy.owner = function.qualname, function.slots, function.owner
    return copy


def field_object(m: Machine, field: Field) -> Instance:
    """The object that ``dataclasses.fields`` and ``msgspec.structs.fields`` list."""
    obj = Instance(External("dataclasses.Field"))
    missing = External("dataclasses.MISSING")
    obj.slots.update(
        {
            "name": field.name,
            "type": field_type(m, field),
            "default": missing if field.default is ABSENT else field.default,
            "default_factory": missing if field.factory is ABSENT else field.factory,
            "init": field.init,
            "metadata": field.metadata if field.metadata is not None else DictV(),
            "required": field.default is ABSENT and field.factory is ABSENT,
            "encode_name": field.name,
        }
    )
    return obj


def field_objects(m: Machine, cls: ClassV) -> Any:
    """The field objects of a record class."""
    return [field_object(m, field) for field in cls.fields or ()]


def field_type(m: Machine, field: Field) -> Any:
    """A field's annotation, evaluated."""
    if field.env is None or not isinstance(field.annotation, ast.expr):
        return evaluate_hint(m, field.annotation, None)
    return evaluate_hint(m, field.annotation, field.env)


def evaluate_hint(m: Machine, annotation: Any, env: Any) -> Any:
    """An annotation (an expression, or text) as ``typing.get_type_hints`` would evaluate it."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = annotation.value
    if isinstance(annotation, str):
        try:
            annotation = ast.parse(annotation, mode="eval").body
        except SyntaxError:
            return Unknown(f"annotation {annotation!r}", frozenset())
    if isinstance(annotation, ast.expr):
        if env is None:
            return Unknown(f"annotation {ast.unparse(annotation)}", frozenset())
        expression = annotation
        return m.attempt(lambda: m.eval(expression, env), NameError, Unknown("annotation", frozenset()))
    return annotation


def fields_of(m: Machine, args: Args) -> Any:
    """``dataclasses.fields(x)`` / ``msgspec.structs.fields(x)``."""
    cls = args.pos[0] if isinstance(args.pos[0], ClassV) else getattr(args.pos[0], "cls", None)
    if not isinstance(cls, ClassV):
        return Unknown(f"fields({show(args.pos[0])})", operators.roots_of(m, args.pos[0]))
    key = ("fields", id(cls))
    found = m.external_state.get(key)
    if found is None:
        owner = next((base for base in cls.mro if isinstance(base, ClassV) and base.fields is not None), None)
        if owner is None:
            m.throw(TypeError, "must be called with a dataclass type or instance")
        found = m.external_state[key] = (cls, tuple(field_object(m, field) for field in owner.fields or ()))
    return found[1]


def type_hints(m: Machine, args: Args) -> Any:
    """``typing.get_type_hints(cls, include_extras=True)``."""
    target = args.pos[0]
    if not isinstance(target, ClassV):
        return Unknown(f"get_type_hints({show(target)})", frozenset())
    known = m.external_state.get(("hints", id(target)))
    if known is not None:
        return DictV(dict(known[1]))
    with m.timeless():
        result = _type_hints(m, target)
    m.external_state[("hints", id(target))] = (target, dict(result.slots))
    return result


def _type_hints(m: Machine, target: ClassV) -> DictV:
    result = DictV()
    for base in reversed(target.mro):
        if not isinstance(base, ClassV):
            continue
        for name, (annotation, env) in base.slots.get("*annotations*", {}).items():
            result.slots[name] = evaluate_hint(m, annotation, env)
        if base.kind == "struct":
            for field in base.fields or ():
                if field.name not in result.slots:
                    result.slots[field.name] = field_type(m, field)
    return result


# ---------------------------------------------------------------- enums
def enum_members(m: Machine, cls: ClassV) -> list[tuple[str, Any]]:
    """Names and members, in order of definition."""
    return [(name, cls.slots[name]) for name in cls.slots.get("_member_names_", ())]


def enum_lookup(m: Machine, cls: ClassV, args: Args) -> Any:
    """``Enum(value)``."""
    value = args.pos[0]

    def find(leaf: Any) -> Any:
        if type(leaf) is Instance and leaf.cls is cls:
            return leaf

        def rest(members: list[tuple[str, Any]]) -> Any:
            if not members:
                hook = find_in_class(m, cls, "_missing_")
                if hook is not ABSENT:
                    found = call(m, get_attr(m, cls, "_missing_"), Args([leaf]))
                    if found is not None:
                        return found
                m.throw(ValueError, f"{show(leaf)} is not a valid {cls.name}")
            member = members[0][1]
            test = truth(m, operators.equal(m, member.slots["_value_"], leaf))
            if test is True:
                return member
            if test is False:
                return rest(members[1:])
            return m.fork([(test, lambda: member), (m.conditions.negation(test), lambda: rest(members[1:]))])

        return rest(enum_members(m, cls))

    return m.lift(find, value)


def next_enum_value(m: Machine, cls: ClassV, name: str, seen: list[Any], native_base: Any) -> Any:
    """The value that ``auto()`` stands for."""
    hook = find_in_class(m, cls, "_generate_next_value_")
    if hook is not ABSENT:
        function = hook.function if type(hook) is Descriptor else hook
        return call(m, function, Args([name, 1, len(seen), m.new_list(tuple(seen))]))
    if native_base is str:
        return name.lower()
    numbers = [value for value in seen if isinstance(value, int)]
    return (max(numbers) + 1) if numbers else 1


def iterate_class(m: Machine, cls: ClassV) -> list[Any]:
    """Iterating over a class: an enum's members, or its metaclass's ``__iter__``."""
    if cls.kind == "enum":
        return [member for _name, member in enum_members(m, cls)]
    if cls.meta is not None:
        method = find_in_class(m, cls.meta, "__iter__")
        if method is not ABSENT:
            return [value for _test, value in m.elements(call(m, BoundV(method, cls), Args()))]
    m.throw(TypeError, f"'type' object is not iterable ({cls.name})")


def class_item(m: Machine, cls: ClassV, key: Any) -> Any:
    """``cls[key]``: an enum's member by name, the metaclass's ``__getitem__``, or a generic's argument."""
    if cls.kind == "enum":

        def find(leaf: Any) -> Any:
            if type(leaf) in (Unknown, External):
                cases: list[tuple[Any, Any]] = []
                rest: Any = True
                for name, member in enum_members(m, cls):
                    test = m.conditions.both(rest, truth(m, operators.equal(m, leaf, name)))
                    cases.append((test, lambda member=member: member))
                    rest = m.conditions.both(rest, m.conditions.negation(test))
                cases.append((rest, lambda: m.throw(KeyError, leaf)))
                return m.fork(cases)
            if leaf in cls.slots.get("_member_names_", ()):
                return cls.slots[leaf]
            m.throw(KeyError, leaf)

        return m.lift(find, key)
    if cls.meta is not None:
        method = find_in_class(m, cls.meta, "__getitem__")
        if method is not ABSENT:
            return call(m, BoundV(method, cls), Args([key]))
    hook = find_in_class(m, cls, "__class_getitem__")
    if hook is not ABSENT:
        return call(m, get_attr(m, cls, "__class_getitem__"), Args([key]))
    return cls


# ---------------------------------------------------------------- object and type
def object_method(m: Machine, name: str) -> Any:
    """Methods that every object has."""

    def run(mm: Machine, args: Args) -> Any:
        obj = args.pos[0]
        if name == "__setattr__":
            from pathtrace.tracer.eval.objects import set_slot

            set_slot(mm, obj, args.pos[1], args.pos[2], args.written(2))
            return None
        if name == "__getattribute__":
            if isinstance(obj, Instance):
                value = obj.slots.get(args.pos[1], ABSENT)
                if value is not ABSENT:
                    mm.saw(obj.slots, args.pos[1])
                    return mm.conditions.restrict(value, mm.pc)
            return get_attr(mm, obj, args.pos[1])
        if name == "__eq__":
            return obj is args.pos[1]
        if name == "__hash__":
            return Unknown("hash", frozenset({"object identity"}))
        return show(obj)

    return Native(name, run)


def scope_call(m: Machine, node: ast.Call, env: Env, function: Any) -> Any:
    """``super()``, ``locals()``, ``globals()``, ``vars()``: calls that look at the scope they stand in."""
    if not isinstance(function, (Native, type)) or node.args:
        return ABSENT
    name = function.name if isinstance(function, Native) else function.__name__
    if name == "super":
        scope: Any = env
        while scope is not None and not isinstance(scope.function, FunctionV):
            scope = scope.outer
        while scope is not None and (
            scope.function is None or isinstance(scope.function, str) or scope.function.owner is None
        ):
            scope = scope.outer
        if scope is None:
            m.throw(RuntimeError, "super(): no arguments")
        spec = scope.function.node.args
        first = (spec.posonlyargs + spec.args)[0].arg
        return SuperV(scope.function.owner, scope.slots[first])
    if name in ("locals", "vars"):
        return DictV(
            {key: value for key, value in env.slots.items() if isinstance(key, str) and not key.startswith("*")}
        )
    if name == "globals":
        view = DictV()
        view.slots = env.module.slots
        return view
    return ABSENT


def match_pattern(m: Machine, pattern: ast.pattern, subject: Any, env: Env) -> Any:
    """When a pattern matches; binds its names."""
    if isinstance(pattern, ast.MatchValue):
        return truth(m, operators.equal(m, subject, m.eval(pattern.value, env)))
    if isinstance(pattern, ast.MatchSingleton):
        return truth(m, operators.identical(m, subject, pattern.value))
    if isinstance(pattern, ast.MatchOr):
        found: Any = False
        for item in pattern.patterns:
            found = m.conditions.either(found, match_pattern(m, item, subject, env))
        return found
    if isinstance(pattern, ast.MatchAs):
        test = True if pattern.pattern is None else match_pattern(m, pattern.pattern, subject, env)
        if pattern.name and test is not False:
            m.bind_name(pattern.name, subject, env, None)
        return test
    if isinstance(pattern, ast.MatchClass):
        test = truth(m, m.call(m.builtins["isinstance"], Args([subject, m.eval(pattern.cls, env)])))
        if not (pattern.patterns or pattern.kwd_patterns):
            return test
    return m.ask(f"{show(subject)} matches {ast.unparse(pattern)}", operators.roots_of(m, subject))


def named_tuple(m: Machine, args: Args) -> Any:
    """``collections.namedtuple(name, fields)``."""
    cls = new_class(m, args.pos[0], (), "", m.file, m.line)
    cls.kind = "namedtuple"
    names = (
        args.pos[1].replace(",", " ").split()
        if isinstance(args.pos[1], str)
        else [value for _test, value in m.elements(args.pos[1])]
    )
    cls.fields = [Field(name, None, None, ABSENT) for name in names]
    return cls


def as_dict(m: Machine, args: Args) -> Any:
    """``dataclasses.asdict(x)``."""
    obj = args.pos[0]
    if isinstance(obj, Instance):
        result = DictV()
        for key, value in obj.slots.items():
            if isinstance(key, str) and not key.startswith(("_", "*")):
                m.store(result.slots, key, value, m.writers.get((obj.slots.number, key)))
        return result
    return Unknown(f"asdict({show(obj)})", frozenset())


def replace(m: Machine, args: Args) -> Any:
    """``dataclasses.replace(x, **changes)`` and ``copy.copy(x)``."""
    obj = args.pos[0]
    if not isinstance(obj, Instance):
        return obj
    copy = Instance(obj.cls, obj.native)
    for key, value in obj.slots.items():
        if isinstance(key, str) and key.startswith("*"):
            copy.slots[key] = value  # what the object is, not its state
        else:
            m.store(copy.slots, key, value, m.writers.get((obj.slots.number, key)))
    for key, value in args.kw.items():
        m.store(copy.slots, key, value, args.kw_from.get(key))
    return copy


def is_dataclass(m: Machine, args: Args) -> Any:
    """``dataclasses.is_dataclass(x)``."""
    cls = args.pos[0] if isinstance(args.pos[0], ClassV) else getattr(args.pos[0], "cls", None)
    return isinstance(cls, ClassV) and any(isinstance(base, ClassV) and base.kind == "dataclass" for base in cls.mro)


MODELS = {
    "dataclasses.dataclass": dataclass,
    "dataclasses.field": field_call,
    "dataclasses.fields": fields_of,
    "dataclasses.asdict": as_dict,
    "dataclasses.replace": replace,
    "dataclasses.is_dataclass": is_dataclass,
    "msgspec.structs.fields": fields_of,
    "msgspec.structs.asdict": as_dict,
    "msgspec.structs.replace": replace,
    "msgspec.Struct.__setattr__": lambda m, args: object_method(m, "__setattr__").call(m, args),
    "msgspec.Struct.__getattribute__": lambda m, args: object_method(m, "__getattribute__").call(m, args),
    "msgspec.field": field_call,
    "msgspec.defstruct": defstruct,
    "typing.get_type_hints": type_hints,
    "collections.namedtuple": named_tuple,
}

__all__ = ["MODELS", "TypingV", "native", "set_attr"]
