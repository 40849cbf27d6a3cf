"""The values of evaluated code that Python itself has no concrete value for.

``None``, booleans, numbers, strings, bytes, tuples and ranges are themselves. Everything that evaluated
code can mutate keeps its state in a dictionary called ``slots``: the heap journals writes to it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pathtrace.tracer.eval.slots import Slots


class _Absent:
    """The value of a variable, attribute or key that is not there."""

    def __repr__(self) -> str:
        return "<absent>"


ABSENT = _Absent()


class Unknown:
    """A value that the inputs do not give.

    ``text`` is the expression as a person would write it, and identity: equal texts are equal values.
    ``roots`` are the facts that would decide it.
    """

    __slots__ = ("roots", "text")

    def __init__(self, text: str, roots: frozenset[str]) -> None:
        self.text = text if len(text) <= 160 else text[:157] + "..."
        self.roots = roots

    def __repr__(self) -> str:
        return f"<unknown: {self.text}>"


class External:
    """A module, class, function or object outside the tree, known by its dotted path only."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Maybe:
    """A list element that is there only under a condition."""

    __slots__ = ("test", "value")

    def __init__(self, test: Any, value: Any) -> None:
        self.test = test
        self.value = value


class ListV:
    """A list; ``slots[""]`` is a tuple of elements (:class:`Maybe` where one may be missing)."""

    __slots__ = ("slots",)

    def __init__(self, items: tuple[Any, ...] = ()) -> None:
        self.slots = Slots({"": items})


class DictV:
    """A dictionary; ``slots`` maps its keys to values, ``ABSENT`` where a key was taken out.

    ``factory`` is a default factory; ``havoc`` is set once a key that is not known was written;
    ``boxed`` holds the original of a key that is an enum member equal to a string or number.
    """

    __slots__ = ("boxed", "factory", "havoc", "slots")

    def __init__(self, items: dict[Any, Any] | None = None, factory: Any = None) -> None:
        self.slots = Slots(items) if items is not None else Slots()
        self.factory = factory
        self.havoc = Slots()
        self.boxed: dict[Any, Any] = {}


class SetV:
    """A set; ``slots`` maps its elements to True (or ABSENT)."""

    __slots__ = ("frozen", "slots")

    def __init__(self, items: dict[Any, Any] | None = None, frozen: bool = False) -> None:
        self.slots = Slots(items) if items is not None else Slots()
        self.frozen = frozen


class ModuleV:
    """A module of the tree."""

    __slots__ = ("file", "is_package", "name", "slots", "state")

    def __init__(self, name: str, file: str, is_package: bool) -> None:
        self.name = name
        self.file = file
        self.is_package = is_package
        self.slots = Slots()
        self.state = "new"


class LazyModule:
    """A module of the tree bound by an import and not run yet."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class LazyName:
    """A name imported from a module of the tree that is not run yet."""

    __slots__ = ("early", "module", "name")

    def __init__(self, module: str, name: str, early: bool = False) -> None:
        self.module = module
        self.name = name
        self.early = early  # asked for while its module was still running


class ClassV:
    """A class of the tree (or one that evaluated code built)."""

    __slots__ = ("bases", "file", "kind", "line", "meta", "module", "mro", "name", "qualname", "slots", "fields")

    def __init__(self, name: str, bases: tuple[Any, ...], module: str, file: str, line: int) -> None:
        self.name = name
        self.qualname = name
        self.bases = bases
        self.module = module
        self.file = file
        self.line = line
        self.slots = Slots()
        self.mro: tuple[Any, ...] = (self,)
        self.meta: Any = None
        self.kind = "plain"  # plain, enum, dataclass, struct
        self.fields: list[Any] | None = None

    def __repr__(self) -> str:
        return f"<class {self.module}.{self.name}>"


class Instance:
    """An object of a :class:`ClassV` or of a builtin exception class.

    ``native`` is the underlying value where the class derives from ``int``, ``str`` and the like.
    """

    __slots__ = ("cls", "native", "slots")

    def __init__(self, cls: Any, native: Any = ABSENT) -> None:
        self.cls = cls
        self.native = native
        self.slots = Slots()

    def __repr__(self) -> str:
        return f"<{getattr(self.cls, 'name', getattr(self.cls, '__name__', '?'))} object>"


class FunctionV:
    """A function or lambda of the tree with its defaults and the scope it was defined in."""

    __slots__ = ("defaults", "env", "file", "kw_defaults", "module", "name", "node", "owner", "qualname", "slots")

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        name: str,
        env: Any,
        module: ModuleV,
        file: str,
        defaults: tuple[Any, ...],
        kw_defaults: dict[str, Any],
    ) -> None:
        self.node = node
        self.name = name
        self.qualname = name
        self.env = env
        self.module = module
        self.file = file
        self.defaults = defaults
        self.kw_defaults = kw_defaults
        self.owner: Any = None
        self.slots = Slots()


class BoundV:
    """A function bound to its first argument."""

    __slots__ = ("function", "self")

    def __init__(self, function: Any, self_: Any) -> None:
        self.function = function
        self.self = self_


class Native:
    """A builtin or library function that the evaluator provides: ``call(machine, args)``."""

    __slots__ = ("call", "name", "attrs")

    def __init__(self, name: str, call: Callable[[Any, Any], Any], attrs: dict[str, Any] | None = None) -> None:
        self.name = name
        self.call = call
        self.attrs = attrs or {}

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Descriptor:
    """``property``, ``classmethod``, ``staticmethod`` or ``cached_property`` around a function."""

    __slots__ = ("deleter", "function", "kind", "setter")

    def __init__(self, kind: str, function: Any, setter: Any = None) -> None:
        self.kind = kind
        self.function = function
        self.setter = setter
        self.deleter: Any = None


class SuperV:
    """``super()``: attribute lookup that starts after ``owner`` in the order of ``self``'s class."""

    __slots__ = ("owner", "self")

    def __init__(self, owner: Any, self_: Any) -> None:
        self.owner = owner
        self.self = self_


class TypingV:
    """A subscripted annotation: ``Optional[int]``, ``Annotated[T, Arg(...)]``."""

    __slots__ = ("args", "origin")

    def __init__(self, origin: str, args: tuple[Any, ...]) -> None:
        self.origin = origin
        self.args = args


class Args:
    """The arguments of one call, with where each came from."""

    __slots__ = ("kw", "kw_from", "pos", "pos_from", "self_from", "spread", "star_unknown")

    def __init__(self, pos: list[Any] | None = None, kw: dict[str, Any] | None = None) -> None:
        self.pos: list[Any] = pos if pos is not None else []
        self.kw: dict[str, Any] = kw if kw is not None else {}
        self.pos_from: list[Any] = []
        self.kw_from: dict[str, Any] = {}
        self.self_from: Any = None
        self.star_unknown: Unknown | None = None
        self.spread: Any = None  # ``**value`` whose value differs by case

    def written(self, index: int) -> Any:
        """Who made a positional argument, or None where that was not noted."""
        return self.pos_from[index] if index < len(self.pos_from) else None


CARRIERS = frozenset({ModuleV, FunctionV, BoundV, Native, Instance, SuperV})
"""Types of objects that are read on the way to a value."""


def is_value(obj: Instance) -> bool:
    """Whether an instance is a value itself: an enum member, or one of a class made from ``int`` or ``str``."""
    return obj.native is not ABSENT or getattr(obj.cls, "kind", None) == "enum"


def builtin_types() -> tuple[type, ...]:
    """Host types whose values stand for themselves."""
    return (type(None), bool, int, float, complex, str, bytes, tuple, range, slice, type(Ellipsis))
