"""Operators of Python on known, guarded and unknown values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.conditions import Guarded
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
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

BINARY: dict[type, tuple[Callable[[Any, Any], Any], str, str]] = {
    ast.Add: (operator.add, "add", "+"),
    ast.Sub: (operator.sub, "sub", "-"),
    ast.Mult: (operator.mul, "mul", "*"),
    ast.Div: (operator.truediv, "truediv", "/"),
    ast.FloorDiv: (operator.floordiv, "floordiv", "//"),
    ast.Mod: (operator.mod, "mod", "%"),
    ast.Pow: (operator.pow, "pow", "**"),
    ast.LShift: (operator.lshift, "lshift", "<<"),
    ast.RShift: (operator.rshift, "rshift", ">>"),
    ast.BitOr: (operator.or_, "or", "|"),
    ast.BitAnd: (operator.and_, "and", "&"),
    ast.BitXor: (operator.xor, "xor", "^"),
    ast.MatMult: (operator.matmul, "matmul", "@"),
}
ORDER: dict[type, tuple[Callable[[Any, Any], Any], str, str]] = {
    ast.Lt: (operator.lt, "__lt__", "<"),
    ast.LtE: (operator.le, "__le__", "<="),
    ast.Gt: (operator.gt, "__gt__", ">"),
    ast.GtE: (operator.ge, "__ge__", ">="),
}
# Objects made to be told apart by identity: equal to nothing but themselves.
SENTINELS = frozenset(
    {"dataclasses.MISSING", "msgspec.NODEFAULT", "msgspec.UNSET", "inspect.Parameter.empty", "inspect._empty"}
)
_FLIP = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


def plain(value: Any) -> bool:
    """Whether a value stands for itself all the way down."""
    if isinstance(value, _PLAIN):
        return True
    return type(value) is tuple and all(plain(item) for item in value)


def show(value: Any, depth: int = 0) -> str:
    """A short text for a value, as a person would write it."""
    if isinstance(value, (str, bytes)):
        text = repr(value)
        return text if len(text) <= 80 else text[:77] + "..."
    if isinstance(value, _PLAIN) or value is Ellipsis:
        return repr(value)
    if type(value) is Unknown:
        return value.text
    if type(value) is External:
        return value.path
    if isinstance(value, (FunctionV, ClassV, ModuleV, Native)):
        return value.name
    if isinstance(value, type):
        return value.__name__
    if type(value) is Guarded:
        return "<depends>"
    if depth > 2:
        return "..."
    if type(value) is tuple:
        return "(" + ", ".join(show(item, depth + 1) for item in value[:8]) + ")"
    if type(value) is ListV:
        items = value.slots[""]
        if type(items) is tuple:
            return "[" + ", ".join(show(item, depth + 1) for item in items[:8]) + "]"
        return "<list>"
    if type(value) is DictV:
        pairs = [(k, v) for k, v in value.slots.items() if v is not ABSENT][:8]
        return "{" + ", ".join(f"{show(k, depth + 1)}: {show(v, depth + 1)}" for k, v in pairs) + "}"
    if type(value) is SetV:
        return "{" + ", ".join(show(k, depth + 1) for k in list(value.slots)[:8]) + "}"
    if type(value) is Instance:
        if "*config*" in value.slots:
            return str(value.slots["*config*"][0])
        name = value.slots.get("_name_")
        cls = value.cls
        if name is not None and isinstance(cls, ClassV):
            return f"{cls.name}.{name}"
        return f"<{cls.name if isinstance(cls, ClassV) else getattr(cls, '__name__', '?')} object>"
    if type(value) is Maybe:
        return show(value.value, depth + 1)
    if type(value) is BoundV:
        return show(value.function, depth + 1)
    return f"<{type(value).__name__}>"


def roots_of(m: Machine, *values: Any) -> frozenset[str]:
    """The facts that unknown parts of these values wait for."""
    found: set[str] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if type(value) is Unknown:
            found |= value.roots
        elif type(value) is External:
            found.add(value.path)
        elif type(value) is Guarded:
            for atom in m.conditions.support(value).values():
                found |= atom.roots
        elif type(value) is tuple:
            stack += value
    return frozenset(found)


def unbox(value: Any) -> Any:
    """The host value of an instance of an ``int`` or ``str`` subclass (an ``IntEnum`` member)."""
    if type(value) is Instance and value.native is not ABSENT:
        return value.native
    return value


# ---------------------------------------------------------------- truth
def truth(m: Machine, value: Any) -> Any:
    """``bool(value)`` as True, False or a condition."""
    kind = type(value)
    if kind is bool:
        return value
    if kind is Guarded:
        if _is_condition(value):
            return m.conditions.restrict(value, m.pc)
        result: Any = False
        for test, leaf in m.split(value):
            result = m.conditions.ite(test, truth(m, leaf), result)
        return m.conditions.restrict(result, m.pc)
    if kind is Unknown:
        return _truth_of_unknown(m, value)
    if kind is ListV:
        return _non_empty(m, value.slots[""])
    if kind is DictV:
        return _any_present(m, value) if not value.havoc else m.question(f"{show(value)} is not empty", ())
    if kind is SetV:
        return _any_present(m, value)
    if kind is Instance:
        if value.native is not ABSENT and m.find_in_class(value.cls, "__bool__") is ABSENT:
            return bool(value.native)
        for name in ("__bool__", "__len__"):
            method = m.find_in_class(value.cls, name)
            if method is not ABSENT and method is not External:
                return truth(m, m.call(m.get_attr(value, name), Args()))
        return True
    if kind is LazyModule or kind is LazyName:
        return truth(m, m.resolve(value))
    if isinstance(value, (ClassV, FunctionV, BoundV, Native, External, ModuleV, TypingV, Descriptor, type)):
        return True
    return bool(value)


def _is_condition(value: Any) -> bool:
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if type(node) is Guarded:
            if id(node) not in seen:
                seen.add(id(node))
                stack += (node.hi, node.lo)
        elif type(node) is not bool:
            return False
    return True


def _truth_of_unknown(m: Machine, value: Unknown) -> Any:
    if value.text in m.present:
        return True
    none = m.conditions.atoms.get(f"{value.text} is None")
    if none is not None and m.conditions.implies(m.pc, m.conditions.atom(f"{value.text} is None", "", frozenset())):
        return False
    for constant, test in m.equalities.get(value.text, ()):
        if m.conditions.implies(m.pc, test):
            return bool(constant)
    return m.ask(value.text, value.roots)


def _non_empty(m: Machine, items: Any) -> Any:
    if type(items) is Guarded:
        result: Any = False
        for test, leaf in m.split(items):
            result = m.conditions.ite(test, _non_empty(m, leaf), result)
        return result
    if type(items) is Unknown:
        return m.ask(f"{items.text} is not empty", items.roots)
    found: Any = False
    for item in items:
        if type(item) is not Maybe:
            return True
        found = m.conditions.either(found, item.test)
    return m.conditions.restrict(found, m.pc)


def _any_present(m: Machine, value: Any) -> Any:
    found: Any = False
    for item in value.slots.values():
        test, _present = m.presence(item)
        if test is True:
            return True
        found = m.conditions.either(found, test)
    return m.conditions.restrict(found, m.pc)


# ---------------------------------------------------------------- equality, identity
def equal(m: Machine, left: Any, right: Any) -> Any:
    """``left == right`` as a value (usually True, False or a condition)."""
    if type(left) is Guarded or type(right) is Guarded:
        return m.lift(lambda a, b: equal(m, a, b), left, right)
    left, right = unbox_equal(m, left), unbox_equal(m, right)
    if type(left) is Unknown or type(right) is Unknown:
        return _unknown_equal(m, left, right)
    if plain(left) and plain(right):
        return bool(left == right)
    if left is right:
        return True
    for one, other in ((left, right), (right, left)):
        if type(one) is Instance:
            method = m.find_in_class(one.cls, "__eq__")
            if method is not ABSENT:
                return m.call(BoundV(method, one), Args([other]))
    if type(left) is Instance and type(right) is Instance and left.cls is right.cls:
        fields = left.cls.fields if isinstance(left.cls, ClassV) and left.cls.kind != "enum" else None
        if fields is not None:  # records compare field by field
            names = [field.name for field in fields]
            return _all_equal(m, *(tuple(side.slots.get(name, ABSENT) for name in names) for side in (left, right)))
    if type(left) is tuple and type(right) is tuple:
        return _all_equal(m, left, right)
    if type(left) is ListV and type(right) is ListV:
        a, b = left.slots[""], right.slots[""]
        if type(a) is tuple and type(b) is tuple and not any(type(x) is Maybe for x in a + b):
            return _all_equal(m, a, b)
        return m.question(f"{show(left)} == {show(right)}", (a, b))
    if type(left) is DictV and type(right) is DictV:
        if set(left.slots) != set(right.slots):
            return False
        return _all_equal(m, tuple(left.slots.values()), tuple(right.slots[k] for k in left.slots))
    if type(left) is SetV and type(right) is SetV:
        return {k for k, v in left.slots.items() if v is True} == {k for k, v in right.slots.items() if v is True}
    if type(left) is External and type(right) is External:
        return left.path == right.path
    for one, other in ((left, right), (right, left)):
        if type(one) is External and one.path in SENTINELS:
            return False
        if type(one) is External and not isinstance(other, (External, type(None), ClassV, FunctionV, Instance)):
            return m.question(f"{show(left)} == {show(right)}", (left, right))
    if isinstance(left, type) and isinstance(right, type):
        return left is right
    return False


def unbox_equal(m: Machine, value: Any) -> Any:
    if type(value) is Instance and value.native is not ABSENT and m.find_in_class(value.cls, "__eq__") is ABSENT:
        return value.native
    if type(value) is LazyModule or type(value) is LazyName:
        return m.resolve(value)
    return value


def _all_equal(m: Machine, left: tuple[Any, ...], right: tuple[Any, ...]) -> Any:
    if len(left) != len(right):
        return False
    result: Any = True
    for a, b in zip(left, right, strict=True):
        result = m.conditions.both(result, truth(m, equal(m, a, b)))
        if result is False:
            return False
    return result


def _unknown_equal(m: Machine, left: Any, right: Any) -> Any:
    if type(left) is Unknown and type(right) is Unknown:
        if left.text == right.text:
            return True
        first, second = sorted((left.text, right.text))
        return m.ask(f"{first} == {second}", left.roots | right.roots)
    unknown, other = (left, right) if type(left) is Unknown else (right, left)
    if other is None:
        return identical(m, unknown, None)
    text = f"{unknown.text} == {show(other)}"
    if not plain(other):
        return m.ask(text, unknown.roots | roots_of(m, other))
    test = m.conditions.atom(text, text, unknown.roots, m.file, m.line)
    known = m.equalities.setdefault(unknown.text, [])
    none = f"{unknown.text} is None"
    if none in m.conditions.atoms and m.conditions.implies(m.pc, m.conditions.atom(none, none, frozenset())):
        return False
    for constant, holds in known:
        if constant != other and m.conditions.implies(m.pc, holds):
            return False
    if all(constant != other for constant, _holds in known):
        known.append((other, test))
    return m.conditions.restrict(test, m.pc)


def identical(m: Machine, left: Any, right: Any) -> Any:
    """``left is right``."""
    if type(left) is Guarded or type(right) is Guarded:
        return m.lift(lambda a, b: identical(m, a, b), left, right)
    if type(left) is LazyName or type(left) is LazyModule:
        left = m.resolve(left)
    if type(right) is LazyName or type(right) is LazyModule:
        right = m.resolve(right)
    if type(left) is Unknown or type(right) is Unknown:
        unknown, other = (left, right) if type(left) is Unknown else (right, left)
        if type(other) is Unknown:
            return (
                True if other.text == unknown.text else m.ask(f"{left.text} is {right.text}", left.roots | right.roots)
            )
        if type(other) is Instance and other.cls is object:
            return False  # a marker made by the tree is nothing that comes from outside
        if other is True or other is False:
            return _unknown_equal(m, unknown, other)
        if other is None:
            if unknown.text in m.present:
                return False
            held = m.conditions.atoms.get(unknown.text)
            if held is not None and m.conditions.implies(m.pc, m.conditions.atom(unknown.text, "", frozenset())):
                return False
            for _constant, holds in m.equalities.get(unknown.text, ()):
                if m.conditions.implies(m.pc, holds):
                    return False
        return m.ask(f"{unknown.text} is {show(other)}", unknown.roots)
    if plain(left) and plain(right):
        if isinstance(left, (bool, type(None))) or isinstance(right, (bool, type(None))):
            return left is right
        return type(left) is type(right) and left == right
    if type(left) is External and type(right) is External:
        return left.path == right.path
    return left is right


# ---------------------------------------------------------------- comparison and membership
def compare(m: Machine, op: ast.cmpop, left: Any, right: Any) -> Any:
    """One comparison."""
    kind = type(op)
    if kind is ast.Eq:
        return equal(m, left, right)
    if kind is ast.NotEq:
        return negate(m, equal(m, left, right))
    if kind is ast.Is:
        return identical(m, left, right)
    if kind is ast.IsNot:
        return negate(m, identical(m, left, right))
    if kind is ast.In:
        return contains(m, right, left)
    if kind is ast.NotIn:
        return negate(m, contains(m, right, left))
    return order(m, kind, left, right)


def negate(m: Machine, value: Any) -> Any:
    """``not value``."""
    return m.conditions.negation(truth(m, value))


def order(m: Machine, kind: type, left: Any, right: Any) -> Any:
    """``<``, ``<=``, ``>``, ``>=``."""
    if type(left) is Guarded or type(right) is Guarded:
        return m.lift(lambda a, b: order(m, kind, a, b), left, right)
    function, name, sign = ORDER[kind]
    left, right = unbox(left), unbox(right)
    for value, method, other in ((left, name, right), (right, _FLIP[name], left)):
        if type(value) is Instance and m.find_in_class(value.cls, method) is not ABSENT:
            return m.call(m.get_attr(value, method), Args([other]))
    if type(left) in (Unknown, External) or type(right) in (Unknown, External):
        for known in (left, right):
            if known is None:
                m.throw(TypeError, f"'{sign}' not supported between instances")
        return m.ask(f"{show(left)} {sign} {show(right)}", roots_of(m, left, right))
    a, b = m.host(left), m.host(right)
    if a is ABSENT or b is ABSENT:
        return m.ask(f"{show(left)} {sign} {show(right)}", roots_of(m, left, right))
    return m.native_call(function, a, b)


def contains(m: Machine, container: Any, item: Any) -> Any:
    """``item in container``."""
    if type(container) is Guarded or type(item) is Guarded:
        return m.lift(lambda a, b: contains(m, a, b), container, item)
    item = unbox_equal(m, item)
    kind = type(container)
    if kind is Unknown or kind is External:
        return m.ask(f"{show(item)} in {show(container)}", roots_of(m, container, item))
    if isinstance(container, str):
        if isinstance(item, str):
            return item in container
        if type(item) in (Unknown, External):
            return m.ask(f"{show(item)} in {show(container)}", roots_of(m, item))
        m.throw(TypeError, f"'in <string>' requires string as left operand, not {m.type_name(item)}")
    if kind is DictV or kind is SetV:
        return _has_key(m, container, item)
    if kind is range and isinstance(item, (int, float)):
        return item in container
    if kind is Instance:
        method = m.special_attr(container, "__contains__")
        if method is ABSENT and m.find_in_class(container.cls, "__contains__") is not ABSENT:
            method = m.get_attr(container, "__contains__")
        if method is not ABSENT:
            return truth(m, m.call(method, Args([item])))
    found: Any = False
    for test, element in m.elements(container):
        met = m.conditions.both(test, truth(m, equal(m, element, item)))
        found = m.conditions.either(found, met)
        if found is True:
            return True
    return m.conditions.restrict(found, m.pc)


def _has_key(m: Machine, container: Any, item: Any) -> Any:
    if type(item) is Unknown:
        found: Any = False
        for key, value in container.slots.items():
            test, _ = m.presence(value)
            found = m.conditions.either(found, m.conditions.both(test, truth(m, equal(m, item, key))))
        return m.conditions.restrict(found, m.pc)
    key = m.hash_key(item)
    if key is ABSENT:
        m.throw(TypeError, f"unhashable type: '{m.type_name(item)}'")
    value = container.slots.get(key, ABSENT)
    m.saw(container.slots, key)
    test, _ = m.presence(value)
    if test is False and type(container) is DictV and container.havoc:
        return m.ask(f"{show(item)} in {show(container)}", frozenset(container.havoc))
    return m.conditions.restrict(test, m.pc)


# ---------------------------------------------------------------- arithmetic
def binary(m: Machine, op: ast.operator, left: Any, right: Any) -> Any:
    """``left <op> right``."""
    if type(left) is Guarded or type(right) is Guarded:
        return m.lift(lambda a, b: binary(m, op, a, b), left, right)
    function, name, sign = BINARY[type(op)]
    for value, method, other in ((left, f"__{name}__", right), (right, f"__r{name}__", left)):
        if type(value) is Instance and m.find_in_class(value.cls, method) is not ABSENT:
            return m.call(m.get_attr(value, method), Args([other]))
        if type(value) is Instance and value.native is ABSENT:
            special = m.special_attr(value, method)
            if special is not ABSENT:
                return m.call(special, Args([other]))
    left, right = unbox(left), unbox(right)
    if sign == "|" and _is_type(left) and _is_type(right):
        return TypingV("typing.Union", (left, right))
    if type(left) in (Unknown, External) or type(right) in (Unknown, External):
        return Unknown(f"({show(left)} {sign} {show(right)})", roots_of(m, left, right))
    if sign == "+" and type(left) is ListV and type(right) is ListV:
        a, b = left.slots[""], right.slots[""]
        if type(a) is tuple and type(b) is tuple:
            return m.new_list(a + b)
        return m.lift(
            lambda x, y: m.new_list(x + y) if type(x) is type(y) is tuple else Unknown("list", frozenset()), a, b
        )
    if sign == "*" and type(left) is ListV and isinstance(right, int) and type(left.slots[""]) is tuple:
        return m.new_list(left.slots[""] * min(right, 10_000))
    if type(left) is DictV and type(right) is DictV and sign == "|":
        return DictV({**left.slots, **right.slots})
    if type(left) is SetV and type(right) is SetV:
        return _set_binary(sign, left, right)
    if sign == "%" and isinstance(left, str):
        values = right if type(right) is tuple else (right,)
        return m.format_percent(left, values)
    if type(left) is tuple and type(right) is tuple and sign == "+":
        return left + right
    if sign == "*" and isinstance(left, (str, bytes, tuple)) and isinstance(right, int) and right > 100_000:
        return Unknown(f"{show(left)} * {right}", frozenset())
    if sign == "**" and isinstance(right, (int, float)) and abs(right) > 1000:
        return Unknown(f"{show(left)} ** {right}", frozenset())
    if sign == "<<" and isinstance(right, int) and right > 4096:
        return Unknown(f"{show(left)} << {right}", frozenset())
    if plain(left) and plain(right):
        if isinstance(left, (str, bytes)) and len(left) > 10_000_000:
            m.give_up("a text of more than 10 MB")
        return m.native_call(function, left, right)
    if isinstance(left, _PLAIN) or isinstance(right, _PLAIN):
        m.throw(
            TypeError,
            f"unsupported operand type(s) for {sign}: '{m.type_name(left)}' and '{m.type_name(right)}'",
        )
    return Unknown(f"({show(left)} {sign} {show(right)})", roots_of(m, left, right))


def _is_type(value: Any) -> bool:
    return value is None or isinstance(value, (ClassV, TypingV, External, type))


def _set_binary(sign: str, left: SetV, right: SetV) -> Any:
    a = {k: v for k, v in left.slots.items() if v is not ABSENT}
    b = {k: v for k, v in right.slots.items() if v is not ABSENT}
    if sign == "|":
        return SetV({**a, **b}, left.frozen)
    if sign == "&":
        return SetV({k: v for k, v in a.items() if k in b}, left.frozen)
    if sign == "-":
        return SetV({k: v for k, v in a.items() if k not in b}, left.frozen)
    if sign == "^":
        return SetV({k: v for k, v in {**a, **b}.items() if (k in a) != (k in b)}, left.frozen)
    return Unknown("set", frozenset())


def unary(m: Machine, op: ast.unaryop, value: Any) -> Any:
    """``-value``, ``+value``, ``~value``, ``not value``."""
    if type(op) is ast.Not:
        return negate(m, value)
    if type(value) is Guarded:
        return m.lift(lambda leaf: unary(m, op, leaf), value)
    value = unbox(value)
    if type(value) in (Unknown, External):
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(op)]
        return Unknown(f"{sign}{show(value)}", roots_of(m, value))
    functions: dict[type, Callable[..., Any]] = {
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
        ast.Invert: operator.invert,
    }
    if not plain(value):
        return Unknown(f"-{show(value)}", frozenset())
    return m.native_call(functions[type(op)], value)
