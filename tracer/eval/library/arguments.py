"""``argparse``: the tree's own parser, rebuilt as a real one from the calls that define it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.calls import call
from pathtrace.tracer.eval.exits import Raised
from pathtrace.tracer.eval.objects import find_in_class
from pathtrace.tracer.eval.operators import plain, show
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    BoundV,
    ClassV,
    External,
    Instance,
    Native,
    Unknown,
)
from pathtrace.tracer.launch.open_text import is_open, shown, waits_for

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

_KEPT = ("nargs", "const", "metavar", "required", "dest", "choices")


class Parsed(Exception):
    """argparse stopped: its message, or help or version was asked for."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise Parsed(message)

    def exit(self, status: int = 0, message: str | None = None) -> Any:
        raise Parsed(message or "help was asked for")

    def print_help(self, file: Any = None) -> None:
        raise Parsed("help was asked for")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if not is_open(arg_string):
            return super()._get_value(action, arg_string)
        return Unknown(shown(arg_string), waits_for(arg_string))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if type(value) is not Unknown:
            super()._check_value(action, value)


def _new_parser(m: Machine, args: Args) -> Any:
    cls = External("argparse.ArgumentParser")
    parser = Instance(cls)
    _init_parser(m, parser, args)
    return parser


def _init_parser(m: Machine, parser: Instance, args: Args) -> None:
    m.store(parser.slots, "*actions*", ())
    m.store(parser.slots, "*options*", {key: m.host(value) for key, value in args.kw.items()})


def parser_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Methods of a parser and of its argument groups."""
    if name == "add_argument":
        return Native(name, lambda mm, args: _add_argument(mm, obj, args))
    if name in ("add_argument_group", "add_mutually_exclusive_group"):

        def group(mm: Machine, args: Args) -> Any:
            made = Instance(External("argparse._ArgumentGroup"))
            made.slots["*parser*"] = obj.slots.get("*parser*", obj)
            return made

        return Native(name, group)
    if name in ("parse_args", "parse_known_args"):
        return Native(name, lambda mm, args: _parse(mm, obj, args, name == "parse_known_args"))
    if name == "_actions":
        return m.new_list(tuple(action for action in _owner(obj).slots["*actions*"]))
    if name == "set_defaults":
        return Native(name, lambda mm, args: mm.store(_owner(obj).slots, "*defaults*", dict(args.kw)))
    if name == "error":

        def error(mm: Machine, args: Args) -> Any:
            mm.throw(SystemExit, 2, mm.text_of(args.pos[0]))

        return Native(name, error)
    if name in ("print_help", "print_usage", "register", "add_subparsers"):
        return Native(name, lambda mm, args: None)
    if name in ("prog", "description"):
        return _owner(obj).slots.get("*options*", {}).get(name)
    if name == "_option_string_actions":
        from pathtrace.tracer.eval.values import DictV

        return DictV({flag: action for action in _owner(obj).slots["*actions*"] for flag in action.slots["*flags*"]})
    return ABSENT


def _owner(obj: Instance) -> Instance:
    owner: Instance = obj.slots.get("*parser*", obj)
    return owner


def _add_argument(m: Machine, obj: Instance, args: Args) -> Any:
    owner = _owner(obj)
    flags = [value for value in args.pos if isinstance(value, str)]
    kind = args.kw.get("action", "store")
    action = Instance(kind if isinstance(kind, ClassV) else External(f"argparse.{_action_class(kind)}"))
    if not isinstance(kind, ClassV):
        action.slots["*flags*"] = flags
    else:
        init = find_in_class(m, kind, "__init__")
        kw = {key: value for key, value in args.kw.items() if key != "action"}
        kw.setdefault("dest", _dest(flags, args.kw))
        inner = Args([], {"option_strings": m.lower(flags), **kw})
        if init is not ABSENT:
            call(m, BoundV(init, action), inner)
        else:
            _init_action(m, action, inner)
    action.slots["*flags*"] = flags
    action.slots["*kw*"] = dict(args.kw)
    action.slots["*at*"] = m.written(len(m.reads))
    action.slots.setdefault("dest", _dest(flags, args.kw))
    action.slots.setdefault("option_strings", m.lower(flags))
    action.slots.setdefault("default", args.kw.get("default"))
    for key in ("choices", "type", "nargs", "const", "help", "required"):
        action.slots.setdefault(key, args.kw.get(key))
    m.store(owner.slots, "*actions*", (*owner.slots.get("*actions*", ()), action))
    return action


def _action_class(kind: Any) -> str:
    """The name of argparse's own class for an action: ``store_true`` -> ``_StoreTrueAction``."""
    if not isinstance(kind, str):
        return show(kind).rsplit(".", 1)[-1]
    return "_" + "".join(part.capitalize() for part in kind.split("_")) + "Action"


def _dest(flags: list[str], kw: dict[str, Any]) -> str:
    dest = kw.get("dest")
    if isinstance(dest, str):
        return dest
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    return long.lstrip("-").replace("-", "_")


def _init_action(m: Machine, action: Instance, args: Args) -> None:
    """``argparse.Action.__init__``."""
    names = ("option_strings", "dest", "nargs", "const", "default", "type", "choices", "required", "help", "metavar")
    values = dict(zip(names, args.pos, strict=False))
    values.update(args.kw)
    for name in names:
        action.slots[name] = values.get(name)


def action_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Attributes of an action."""
    return obj.slots.get(name, ABSENT)


# ---------------------------------------------------------------- parsing
class _Custom(argparse.Action):
    """A custom action of the tree: argparse calls it, the evaluator runs it."""

    def __init__(self, *args: Any, machine: Any, action: Instance, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.machine = machine
        self.action = action

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        m = self.machine
        proxy = Instance(External("argparse.Namespace"))
        proxy.slots.update(vars(namespace))
        method = find_in_class(m, self.action.cls, "__call__")
        if method is ABSENT:
            return
        before = dict(proxy.slots)
        holder = Instance(External("argparse.ArgumentParser"))
        call(m, BoundV(method, self.action), Args([holder, proxy, m.lower(values), option_string]))
        for key, value in proxy.slots.items():
            if key not in before or before[key] is not value:
                setattr(namespace, key, value)
                m.external_state.setdefault("given_dests", {})[key] = option_string


def _parse(m: Machine, obj: Instance, args: Args, known: bool) -> Any:
    words = m.host(args.pos[0]) if args.pos and args.pos[0] is not None else list(m.argv)
    if words is ABSENT or not all(isinstance(word, str) for word in words):
        return Unknown(f"arguments {show(args.pos[0])}", frozenset({"arguments"}))
    parser, at = build(m, obj)
    m.external_state["given_dests"] = {}
    m.external_state["parser"] = parser
    try:
        found, rest = parser.parse_known_args(words)
        if any(is_open(word) for word in rest):  # it may be a flag, and its value
            return Unknown("arguments", frozenset(root for word in rest for root in waits_for(word)))
        if rest and not known:
            raise Parsed("unrecognized arguments: " + " ".join(rest))
    except Parsed as stop:
        m.throw(SystemExit, 2, stop.message)
    except Raised:
        raise
    namespace = Instance(External("argparse.Namespace"))
    given = m.external_state["given_dests"]
    given.update(_given(parser, words, found))
    for dest, value in vars(found).items():
        write = m.written(len(m.reads))
        source = at.get(dest)
        if source is not None:
            write.file, write.line = source.file, source.line
        if dest in given:
            write.leaf = ("flag", given[dest])
        else:
            default_at = m.external_state.get("default_at")
            where = default_at(dest) if default_at is not None else None
            if where is not None:
                write.file, write.line = where
            write.leaf = ("default", dest)
        m.store(namespace.slots, dest, value if _evaluated(value) else m.lower(value), write)
    m.external_state["namespace"] = namespace
    if not known:
        return namespace
    return (namespace, m.new_list(tuple(rest)))


def _evaluated(value: Any) -> bool:
    return not isinstance(value, (list, dict, set, tuple)) or isinstance(value, (Instance, Unknown))


def build(m: Machine, obj: Instance) -> tuple[argparse.ArgumentParser, dict[str, Any]]:
    """A real parser with the same options, and the write that defined each destination."""
    options = obj.slots.get("*options*") or {}
    kwargs = {
        key: value
        for key, value in options.items()
        if key in ("prog", "allow_abbrev", "add_help", "prefix_chars", "conflict_handler") and value is not ABSENT
    }
    parser = _Parser(**kwargs)
    at: dict[str, Any] = {}
    for action in obj.slots.get("*actions*", ()):
        flags, kw = action.slots["*flags*"], action.slots["*kw*"]
        if not flags:
            continue
        at.setdefault(action.slots["dest"], action.slots["*at*"])
        _add(m, parser, action, flags, kw)
    defaults = obj.slots.get("*defaults*")
    if defaults:
        parser.set_defaults(**defaults)
    return parser, at


def _add(m: Machine, parser: argparse.ArgumentParser, action: Instance, flags: list[str], kw: dict[str, Any]) -> None:
    kind = kw.get("action", "store")
    if isinstance(kind, ClassV):
        made: dict[str, Any] = {"action": lambda *a, **k: _Custom(*a, machine=m, action=action, **k)}
        for name in ("nargs", "const", "default", "required", "dest"):
            value = action.slots.get(name)
            if value is not None:
                made[name] = value
        choices = m.host(action.slots.get("choices"))
        if choices not in (None, ABSENT):
            made["choices"] = choices
        if flags[0].startswith("-"):
            parser.add_argument(*flags, **made)
        return
    made = {}
    if isinstance(kind, str):
        made["action"] = kind
    elif type(kind) is External and kind.path == "argparse.BooleanOptionalAction":
        made["action"] = argparse.BooleanOptionalAction
    for name in _KEPT:
        if name in kw:
            value = kw[name] if name in ("const",) else m.host(kw[name])
            if value is not ABSENT and not (name == "choices" and value is None):
                made[name] = value
    if "default" in kw:
        value = kw["default"]
        made["default"] = value
    if "type" in kw and kw["type"] is not None:
        made["type"] = _converter(m, kw["type"])
    if made.get("action") in ("store_true", "store_false", "count", "store_const", "help"):
        for name in ("type", "choices", "metavar", "nargs"):
            made.pop(name, None)
    if made.get("action") == "version":
        made["version"] = ""
    if made.get("action") in ("help",):
        made.pop("default", None)
    try:
        parser.add_argument(*flags, **made)
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        m.throw(type(error) if isinstance(error, (TypeError, ValueError)) else ValueError, str(error))


def _converter(m: Machine, kind: Any) -> Any:
    if isinstance(kind, type) and kind in (int, float, str, bool):
        return kind
    name = show(kind)

    def convert(text: str) -> Any:
        try:
            return call(m, kind, Args([text]))
        except Raised as raised:
            for host in (ValueError, TypeError):
                if m.exception_matches(raised.exc, host):
                    raise host(str(raised.exc.slots.get("args"))) from raised
            if type(raised.exc.cls) is External and raised.exc.cls.path.startswith("argparse."):
                args = raised.exc.slots.get("args", ())
                raise argparse.ArgumentTypeError(args[0] if args and plain(args[0]) else show(args)) from raised
            raise

    convert.__name__ = name if name.isidentifier() else "value"
    return convert


def _given(parser: argparse.ArgumentParser, words: list[str], found: Any) -> dict[str, str]:
    """Which destinations the command line sets, with the words that set them."""
    given: dict[str, str] = {}
    for position, word in enumerate(words):
        if not word.startswith("-"):
            continue
        try:
            option = parser._parse_optional(word)
        except Parsed:
            continue
        if isinstance(option, list):  # Python 3.12.7 and later give a list of matches
            option = option[0] if option else None
        if not option or option[0] is None:
            continue
        action = option[0]
        text = word
        if "=" not in word and action.nargs != 0 and position + 1 < len(words):
            text = f"{word} {words[position + 1]}"
        given.setdefault(action.dest, shown(text))
    return given


def _argument_error(m: Machine, args: Args) -> Any:
    exc = Instance(External("argparse.ArgumentTypeError"))
    m.store(exc.slots, "args", tuple(args.pos))
    return exc


def _namespace(m: Machine, args: Args) -> Any:
    obj = Instance(External("argparse.Namespace"))
    for key, value in args.kw.items():
        m.store(obj.slots, key, value, args.kw_from.get(key))
    return obj


def namespace_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Attributes of a namespace are those that were parsed."""
    return ABSENT


MODELS: dict[str, Any] = {
    "argparse.ArgumentParser": _new_parser,
    "argparse.ArgumentTypeError": _argument_error,
    "argparse.Namespace": _namespace,
    "*attr*argparse.ArgumentParser": parser_attribute,
    "*attr*argparse._ArgumentGroup": parser_attribute,
    "*init*argparse.ArgumentParser": _init_parser,
    "*init*argparse.Action": _init_action,
    "*attr*argparse.Action": action_attribute,
}
