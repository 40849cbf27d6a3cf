"""What is known of objects outside the tree: models by dotted path, and what the rest does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.operators import roots_of, show
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    BoundV,
    ClassV,
    External,
    Instance,
    Native,
    TypingV,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

Model = Callable[["Machine", Args], Any]

# Library functions without side effects, called for real when every argument is known: by name, never by module.
PURE = {
    "math": "ceil floor sqrt log log2 log10 exp pow gcd lcm isclose isnan isinf prod trunc comb fabs fmod hypot",
    "re": "match search fullmatch sub subn split findall escape",
    "operator": "add sub mul truediv floordiv mod eq ne lt le gt ge and_ or_ not_ neg contains",
    "json": "loads dumps",
    "textwrap": "dedent indent shorten fill wrap",
    "posixpath": "join basename dirname splitext normpath isabs split",
    "statistics": "mean median",
    "base64": "b64encode b64decode urlsafe_b64encode urlsafe_b64decode",
    "urllib.parse": "urlparse urlsplit quote unquote urlencode parse_qs",
    "ipaddress": "ip_address ip_network",
    "shlex": "split quote join",
    "packaging.version": "parse Version",
}
PURE_FUNCTIONS = frozenset(
    {"os.path.join", "os.path.basename", "os.path.dirname", "os.path.splitext", "os.path.normpath", "os.path.isabs",
     "os.path.split", "os.path.commonprefix", "os.path.relpath", "ast.literal_eval", "json.loads", "json.dumps",
     "hashlib.md5", "hashlib.sha256", "fnmatch.fnmatch", "difflib.get_close_matches"}
)  # fmt: skip
CONSTANTS: dict[str, Any] = {
    "os.sep": "/", "os.pathsep": ":", "os.linesep": "\n", "os.name": "posix", "sys.platform": "linux",
    "sys.maxsize": 2**63 - 1, "sys.byteorder": "little", "math.inf": float("inf"), "math.pi": 3.141592653589793,
    "math.nan": float("nan"), "math.e": 2.718281828459045, "typing.TYPE_CHECKING": False,
    "typing_extensions.TYPE_CHECKING": False, "logging.CRITICAL": 50, "logging.ERROR": 40, "logging.WARNING": 30,
    "logging.INFO": 20, "logging.DEBUG": 10, "logging.NOTSET": 0, "argparse.SUPPRESS": "==SUPPRESS==",
    "argparse.REMAINDER": "...", "argparse.OPTIONAL": "?", "argparse.ZERO_OR_MORE": "*", "argparse.ONE_OR_MORE": "+",
}  # fmt: skip
_TYPING_MODULES = ("typing.", "typing_extensions.", "collections.abc.")
_MODELS: dict[str, Any] = {}


def models() -> dict[str, Any]:
    """Every modelled path, collected from the library modules on first use."""
    if not _MODELS:
        base = __name__.rsplit(".", 1)[0]
        for name in ("records", "system", "functional", "arguments", "device", "hub"):
            _MODELS.update(importlib.import_module(f"{base}.{name}").MODELS)
    return _MODELS


def find(m: Machine, path: str) -> Any:
    """The model of ``path``, a constant, a pure function, or the bare name."""
    found = models().get(path, ABSENT)
    if found is not ABSENT:
        return Native(path, found) if callable(found) and not isinstance(found, (type, External)) else found
    if path in CONSTANTS:
        return CONSTANTS[path]
    head, _, name = path.rpartition(".")
    if name in PURE.get(head, "").split() or path in PURE_FUNCTIONS or path == "re.compile":
        return _pure(path, head, name)
    if head == "builtins":
        builtin = m.builtins.get(name, ABSENT)
        if builtin is not ABSENT:
            return builtin
    dynamic = models().get("*dynamic*")
    if dynamic is not None:
        value = dynamic(m, path)
        if value is not ABSENT:
            return value
    return External(path)


def _pure(path: str, module: str, name: str) -> Any:
    try:
        value = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return External(path)
    if isinstance(value, (int, float, str, bool, tuple)) and not isinstance(value, type):
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not callable(value):
        return External(path)
    if path == "re.compile":
        return Native(path, compiled)
    return Native(path, lambda m, args: pure_call(m, path, value, args))


class Opaque:
    """A host object that a pure function gave (a match, a version): its methods are called for real."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def pure_call(m: Machine, path: str, function: Callable[..., Any], args: Args) -> Any:
    """Call a pure host function; a result that is no plain value is wrapped."""
    if path.startswith("re.") and args.pos and _may_hang(args.pos[0]):
        return Unknown(f"{path}({show(args.pos[0])}, ...)", roots_of(m, *args.pos))
    hosts = [_unwrap(m, value) for value in args.pos]
    named = {key: _unwrap(m, value) for key, value in args.kw.items()}
    if any(value is ABSENT for value in (*hosts, *named.values())):
        if any(type(value).__name__ == "Guarded" for value in (*args.pos, *args.kw.values())):
            count = len(args.pos)
            return m.lift(
                lambda *leaves: pure_call(
                    m, path, function, Args(list(leaves[:count]), dict(zip(args.kw, leaves[count:], strict=True)))
                ),
                *args.pos,
                *args.kw.values(),
            )
        listed = ", ".join(show(value) for value in args.pos)
        return Unknown(f"{path}({listed})", roots_of(m, *args.pos, *args.kw.values()))
    return wrap(m, m.native_call(function, *hosts, **named))


def _may_hang(pattern: Any) -> bool:
    """Whether a regular expression repeats a repetition: such a match can take for ever."""
    import re

    if not isinstance(pattern, str):
        return False
    try:
        parser = importlib.import_module("re._parser" if hasattr(re, "_parser") else "sre_parse")
        return _repeats(parser.parse(pattern), False)
    except (re.error, RecursionError, OverflowError):
        return False


def _repeats(parsed: Any, inside: bool) -> bool:
    for operation, argument in parsed:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            unbounded = argument[1] > 100
            if (inside and unbounded) or _repeats(argument[2], inside or unbounded):
                return True
        branches = [argument[3]] if name == "SUBPATTERN" else argument[1] if name == "BRANCH" else []
        if any(_repeats(branch, inside) for branch in branches):
            return True
    return False


def wrap(m: Machine, value: Any) -> Any:
    """An evaluated value for a host result: plain values as they are, others behind :class:`Opaque`."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict, set, frozenset)):
        return m.lower(value)
    obj = Instance(External(f"{type(value).__module__}.{type(value).__qualname__}"))
    obj.slots["*host*"] = value
    return obj


def _unwrap(m: Machine, value: Any) -> Any:
    if type(value) is Instance and "*host*" in value.slots:
        return value.slots["*host*"]
    if isinstance(value, type) and value in (int, float, str, bool):
        return value
    return m.host(value)


def compiled(m: Machine, args: Args) -> Any:
    """``re.compile``."""
    import re

    return pure_call(m, "re.compile", re.compile, args)


def special_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Attributes of host objects and modelled instances; ABSENT where the usual look-up applies."""
    if "*partial*" in obj.slots and obj.slots.get(name, ABSENT) is ABSENT and name not in obj.cls.slots:
        if not name.startswith("__"):
            return m.external_state["partial"].attribute(name)
        return ABSENT
    if type(obj.cls) is not External:
        config = models().get("*config_attribute*")
        if config is not None and "*config*" in obj.slots:
            return config(m, obj, name)
        return ABSENT
    if "*host*" in obj.slots:
        host = obj.slots["*host*"]
        if not hasattr(host, name):
            return ABSENT
        value = getattr(host, name)
        if callable(value):
            return Native(name, lambda mm, args: pure_call(mm, f"{obj.cls.path}.{name}", value, args))
        return wrap(m, value)
    handler = models().get(f"*attr*{obj.cls.path}")
    if handler is not None:
        return handler(m, obj, name)
    return ABSENT


def is_config(m: Machine, obj: Instance) -> bool:
    """Whether an object is a model configuration whose absent keys are unknown."""
    return "*config*" in obj.slots


def inherited(m: Machine, obj: Any, base: External, name: str) -> Any:
    """An attribute that the tree does not define and a base class outside it may."""
    handler = models().get(f"*attr*{base.path}")
    if handler is not None and isinstance(obj, Instance):
        value = handler(m, obj, name)
        if value is not ABSENT:
            return value
    if isinstance(obj, Instance) and is_config(m, obj):
        m.throw(AttributeError, f"'{m.type_name(obj)}' object has no attribute '{name}'")
    given = obj.slots.get("*given*") if isinstance(obj, Instance) else None
    if given and name in given:
        return given[name]
    if isinstance(obj, ClassV):
        handler = models().get(f"*class*{base.path}")
        if handler is not None:
            value = handler(m, obj, name)
            if value is not ABSENT:
                return value
        return Unknown(f"{obj.name}.{name}", frozenset({base.path}))
    return Unknown(f"{show(obj)}.{name}", frozenset({base.path}))


def super_method(m: Machine, obj: Any, base: External, name: str) -> Any:
    """A method of a base class outside the tree, called through ``super()``."""
    if name == "__init__":
        model = base_initialiser(base.path)
        if model is not None:
            return Native(f"{base.path}.__init__", lambda mm, args: model(mm, obj, args))
        return ABSENT
    handler = models().get(f"*attr*{base.path}")
    if handler is not None and isinstance(obj, Instance):
        return handler(m, obj, name)
    return ABSENT


def base_initialiser(path: str) -> Any:
    """The model of a base class's ``__init__``."""
    return models().get(f"*init*{path}")


def call_unmodelled(m: Machine, path: str, args: Args, function: Any) -> Any:
    """A call that nothing here models: the result is unknown; decorators give back what they decorate."""
    listed = ", ".join(
        [*(show(value) for value in args.pos), *(f"{key}={show(value)}" for key, value in args.kw.items())]
    )
    text = f"{path}({listed})"
    roots = roots_of(m, function, *args.pos, *args.kw.values())
    if type(function) is External:
        roots = frozenset({f"{path}()"}) | roots_of(m, *args.pos, *args.kw.values())
    return Unknown(text, roots)


def require_package(m: Machine, name: str) -> None:
    """Importing a package from outside the tree.

    The release's own requirements and the standard library are there. Of any other package it is
    unknown whether it is installed; that matters only where the tree catches the ImportError.
    """
    top = name.split(".")[0]
    state = m.facts.get(f"pkg.{top}")
    if state is None:
        if not m.try_depth or top in m.external_state["present"]:
            return
        if not any(_catches_import(m, node) for node in m.try_depth):
            return
        installed = m.ask(f"package {top} is installed", frozenset({f"pkg.{top}"}))
        m.leave_if(m.conditions.negation(installed), ModuleNotFoundError, f"No module named '{top}'")
        return
    m.facts_used.add(f"pkg.{top}")
    if state in (False, "false", "0", "no", "absent"):
        m.throw(ModuleNotFoundError, f"No module named '{top}'")


def _catches_import(m: Machine, node: Any) -> bool:
    import ast

    for handler in node.handlers:
        if handler.type is None:
            return True
        names = {item.id for item in ast.walk(handler.type) if isinstance(item, ast.Name)}
        if names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}:
            return True
    return False


def is_typing(m: Machine, obj: Any) -> bool:
    """Whether ``obj[...]`` is an annotation."""
    if isinstance(obj, type):
        return True
    if type(obj) is TypingV:
        return True
    return type(obj) is External and obj.path.startswith(_TYPING_MODULES)


def typing_host(m: Machine, value: TypingV) -> Any:
    """The builtin type that a subscripted annotation stands for."""
    name = value.origin.rsplit(".", 1)[-1]
    return {
        "List": list,
        "Dict": dict,
        "Tuple": tuple,
        "Set": set,
        "list": list,
        "dict": dict,
        "tuple": tuple,
        "set": set,
    }.get(name, External(value.origin))


def suppresses(m: Machine, manager: Any) -> tuple[Any, ...]:
    """Exceptions that a context manager swallows (``contextlib.suppress``)."""
    if type(manager) is Instance and type(manager.cls) is External and manager.cls.path == "contextlib.suppress":
        kinds = manager.slots.get("kinds", ())
        return tuple(kinds)
    return ()


def native(function: Callable[..., Any]) -> Model:
    """A model of a function of plain positional arguments: guarded ones are split."""

    def model(m: Machine, args: Args) -> Any:
        return m.lift(lambda *leaves: function(m, *leaves), *args.pos)

    return model


__all__ = ["BoundV", "Model", "find", "models", "native"]
