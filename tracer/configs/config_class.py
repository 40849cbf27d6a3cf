"""What a configuration class of transformers gives a key that config.json leaves out.

The class is read, never imported. Only what is plain in its source counts: a default that reaches the
attribute unchanged, an alias of ``attribute_map``, or a name that nothing in the class and its bases
mentions. Anything else stays unknown.

Source of the rules: ``PretrainedConfig`` (transformers/configuration_utils.py) sets every key of
config.json as an attribute, hands the rest to ``__init__`` (before 5.4) or to a dataclass's
``__init__`` and ``__post_init__`` (since), and maps names by ``attribute_map``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

# Methods that run when a configuration is made from config.json; what they name runs, too.
_MAKING = (
    "__init__", "__init_subclass__", "__new__", "__post_init__", "__setattr__",
    "from_dict", "from_pretrained", "get_config_dict", "_get_config_dict",
)  # fmt: skip

# What the decorator `strict` of huggingface_hub adds to a class.
_BY_DECORATOR = "validate"


@dataclass(frozen=True)
class Default:
    """A key that config.json leaves out has this value; it stands in ``file`` at ``line``."""

    value: Any
    file: str
    line: int


@dataclass(frozen=True)
class ConfigClass:
    """One configuration class, as far as its source is plain.

    Attributes:
        name: the class.
        defaults: keys whose value is known where config.json has none.
        aliases: names that stand for another attribute (``attribute_map``).
        mentioned: every name that the class or a base may set or answer when it is made.
        closed: whether a name that is not mentioned is certainly no attribute.
        files: the files that the class and its bases stand in.
    """

    name: str
    defaults: Mapping[str, Default]
    aliases: Mapping[str, str]
    mentioned: frozenset[str]
    closed: bool
    files: tuple[str, ...]

    def lacks(self, key: str) -> bool:
        """Whether ``key`` is certainly no attribute where config.json does not give it."""
        return self.closed and key not in self.mentioned and not (key.startswith("__") and key.endswith("__"))


@dataclass(frozen=True)
class ClassSource:
    """A class definition and the file that it stands in."""

    node: ast.ClassDef
    file: Path

    @cached_property
    def methods(self) -> Mapping[str, ast.FunctionDef]:
        """Its methods and properties; of several with a name (a property's setter), the last."""
        return {item.name: item for item in self.node.body if isinstance(item, ast.FunctionDef)}

    @cached_property
    def level(self) -> Mapping[str, ast.expr | None]:
        """Names bound in the class body, and to what; None for an annotation alone."""
        found: dict[str, ast.expr | None] = {}
        for item in self.node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                found[item.target.id] = item.value
            elif isinstance(item, ast.Assign):
                found.update({target.id: item.value for target in item.targets if isinstance(target, ast.Name)})
        return found

    @cached_property
    def stores(self) -> Mapping[str, int]:
        """Attributes that its methods set or delete, and how often."""
        found: dict[str, int] = {}
        for node in self._method_nodes:
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found[node.attr] = found.get(node.attr, 0) + 1
        return found

    @cached_property
    def spoken(self) -> frozenset[str]:
        """What its methods name as a text (``kwargs["key"]``) or hand on by keyword (``key=...``)."""
        nodes = self._method_nodes
        return frozenset(
            [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            + [node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg]
        )

    @property
    def functions(self) -> Iterator[ast.FunctionDef]:
        """Its methods, with every getter and setter of a property."""
        return (item for item in self.node.body if isinstance(item, ast.FunctionDef))

    @cached_property
    def closed(self) -> bool:
        """Whether the names that it may set are those it mentions, and the keys that it was given.

        ``setattr`` with a computed name sets what nobody can read; with a plain name it goes over the
        keys that were given, or over words that stand in the class. A look-up of its own answers for
        names that nobody can read, unless all it returns is what its bases answer.
        """
        for node in self._method_nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
                name = node.args[1] if len(node.args) > 1 else None
                if not isinstance(name, ast.Constant | ast.Name | ast.Attribute):
                    return False
        look_up = self.methods.get("__getattribute__")
        answers = [] if look_up is None else [node for node in ast.walk(look_up) if isinstance(node, ast.Return)]
        return "__getattr__" not in self.methods and all(
            node.value is not None and ast.unparse(node.value).startswith("super().__getattribute__(")
            for node in answers
        )

    @cached_property
    def sets_by_name(self) -> bool:
        """Whether a method sets attributes of its own by a name that is not a given key's.

        ``for key, value in kwargs.items(): setattr(self, key, value)`` sets what was given; any other
        loop may set what has a default, too.
        """
        nodes = self._method_nodes
        given = {
            id(part)
            for loop in nodes
            if isinstance(loop, ast.For) and ast.unparse(loop.iter).endswith(".items()")
            for part in ast.walk(loop)
        }
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "setattr"
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id == "self"
            and not isinstance(node.args[1], ast.Constant)
            and id(node) not in given
            for node in nodes
        )

    @cached_property
    def _method_nodes(self) -> tuple[ast.AST, ...]:
        return tuple(node for function in self.functions for node in ast.walk(function))

    def is_dataclass(self) -> bool:
        """Whether a decorator says so; subclasses of such a configuration are dataclasses too."""
        return any(
            isinstance(node, ast.Name) and node.id == "dataclass"
            for decorator in self.node.decorator_list
            for node in ast.walk(decorator)
        )


def read_class(name: str, line: Sequence[ClassSource]) -> ConfigClass:
    """What a class says of keys that are left out.

    Args:
        name: the class.
        line: the class and its bases, nearest first.
    """
    aliases = _aliases(line)
    closed = aliases is not None and all(source.closed for source in line)
    files = tuple(dict.fromkeys(str(source.file) for source in line))
    mapped = {*(aliases or {}), *(aliases or {}).values()}  # setting one of the two sets the other
    defaults: dict[str, Default] = {}
    if closed and aliases is not None and not any(source.sets_by_name for source in line):
        unclear = mapped.union(*(source.spoken for source in line))
        read = _field if any(source.is_dataclass() for source in line) else _parameter
        for key in _candidates(line) - unclear:
            default = None if key.startswith("_") else read(key, line)
            if default is not None:
                defaults[key] = default
    return ConfigClass(name, defaults, aliases or {}, _mentioned(line) | mapped, closed, files)


def _mentioned(line: Sequence[ClassSource]) -> frozenset[str]:
    """Names of the class bodies and of methods, and every word of the methods that make an object.

    What a method speaks of that only runs later (``to_dict``, ``get_text_config``) is not set by it.
    """
    found = {name for source in line for name in (*source.level, *source.methods)} | {_BY_DECORATOR}
    runs = set(_MAKING)
    waiting = [function for source in line for function in source.functions]
    while True:
        now = [each for each in waiting if each.name in runs or each.name.startswith("validate")]
        if not now:
            return frozenset(found)
        waiting = [each for each in waiting if each not in now]
        for function in now:
            words = set(_words(function))
            found |= words
            runs |= words


def _candidates(line: Sequence[ClassSource]) -> set[str]:
    """Names that may have a plain default: parameters of ``__init__``, and names of the class body."""
    found: set[str] = set()
    for source in line:
        found.update(source.level)
        if "__init__" in source.methods:
            arguments = source.methods["__init__"].args
            found.update(arg.arg for arg in (*arguments.args[1:], *arguments.kwonlyargs))
    return found


def _field(key: str, line: Sequence[ClassSource]) -> Default | None:
    """The default of a dataclass field that no method touches: the nearest class decides."""
    if any(key in source.stores or key in source.methods for source in line):
        return None
    if any("__init__" in source.methods for source in line[:-1]):
        return None  # an old-style __init__ above a dataclass: which of the two decides is not plain
    for source in line:
        if key in source.level:
            value = source.level[key]
            return None if value is None else _literal(value, source.file)
    return None


def _parameter(key: str, line: Sequence[ClassSource]) -> Default | None:
    """The default of an ``__init__`` parameter that goes into the attribute unchanged, and nowhere else."""
    if any(key in source.methods or key in source.level for source in line):
        return None
    owner = next((source for source in line if "__init__" in source.methods), None)
    if owner is None or sum(source.stores.get(key, 0) for source in line) != 1:
        return None
    init = owner.methods["__init__"]
    given = _parameter_default(init, key)
    return _literal(given, owner.file) if given is not None and _is_plain_store(init, key) else None


def _parameter_default(init: ast.FunctionDef, key: str) -> ast.expr | None:
    named = zip(reversed(init.args.args), reversed(init.args.defaults), strict=False)
    by_keyword = zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True)
    return next((default for arg, default in (*named, *by_keyword) if arg.arg == key), None)


def _is_plain_store(init: ast.FunctionDef, key: str) -> bool:
    """Whether ``self.key = key`` stands directly in ``__init__``, and ``key`` is never bound anew there."""
    for node in ast.walk(init):
        if isinstance(node, ast.Name) and node.id == key and not isinstance(node.ctx, ast.Load):
            return False
    for item in init.body:
        targets = (
            item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else []
        )
        attributes = [target.attr for target in targets if isinstance(target, ast.Attribute)]
        if attributes == [key] and isinstance(item, ast.Assign | ast.AnnAssign):
            return isinstance(item.value, ast.Name) and item.value.id == key
    return False


def _aliases(line: Sequence[ClassSource]) -> dict[str, str] | None:
    """``attribute_map`` of the nearest class that has one; None where it is not plain."""
    for source in line:
        value = source.level.get("attribute_map")
        if value is not None:
            found = _literal(value, source.file)
            table = None if found is None else found.value
            if isinstance(table, dict) and all(isinstance(word, str) for word in (*table, *table.values())):
                return table
            return None
    return {}


def _words(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.arg | ast.keyword) and part.arg:
            yield part.arg
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
            yield part.value


def _literal(value: ast.expr, file: Path) -> Default | None:
    try:
        return Default(ast.literal_eval(value), str(file), value.lineno)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
