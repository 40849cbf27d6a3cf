"""``os``, ``sys``, ``logging``, ``warnings``, ``importlib``, files: the process that the launcher would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.library.externals import native
from pathtrace.tracer.eval.operators import roots_of, show
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    ClassV,
    External,
    FunctionV,
    Instance,
    ModuleV,
    Native,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine


# ---------------------------------------------------------------- environment variables
def _note_read(m: Machine, name: Any) -> None:
    if isinstance(name, str):
        m.env_reads[name] = m.env_reads.get(name, 0) + 1
        if m.loading:
            m.load_reads.setdefault(name, m.environ.slots.get(name, ABSENT))


def _getenv(m: Machine, args: Args) -> Any:
    default = args.pos[1] if len(args.pos) > 1 else args.kw.get("default", args.kw.get("failobj"))

    def read(key: Any) -> Any:
        _note_read(m, key)
        return m.lookup(m.environ, key, lambda: default)

    return m.lift(read, args.pos[0] if args.pos else args.kw.get("key"))


def environ_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Attributes of ``os.environ``."""
    if name == "get":
        return Native("os.environ.get", _getenv)
    if name in ("setdefault", "pop", "update", "items", "keys", "values", "copy"):

        def run(mm: Machine, args: Args) -> Any:
            if args.pos:
                _note_read(mm, args.pos[0])
            return mm.call(mm.get_attr(mm.environ, name), args)

        return Native(name, run)
    if name == "__getitem__":
        return Native(name, lambda mm, args: _environ_item(mm, args.pos[0]))
    if name == "__setitem__":
        return Native(name, lambda mm, args: mm.set_item(mm.environ, *args.pos, *args.pos_from[1:2]))
    if name == "__delitem__":
        return Native(name, lambda mm, args: mm.delete_item(mm.environ, args.pos[0]))
    if name == "__contains__":

        def has(mm: Machine, args: Args) -> Any:
            _note_read(mm, args.pos[0])
            return mm.contains(mm.environ, args.pos[0])

        return Native(name, has)
    return ABSENT


def _environ_item(m: Machine, key: Any) -> Any:
    _note_read(m, key)
    return m.get_item(m.environ, key)


def environ_object() -> Instance:
    """The object that ``os.environ`` is."""
    return Instance(External("os._Environ"))


# ---------------------------------------------------------------- logging
_LEVELS = {
    "debug": 10,
    "info": 20,
    "warning": 30,
    "warn": 30,
    "warning_once": 30,
    "error": 40,
    "exception": 40,
    "critical": 50,
}


def _get_logger(m: Machine, args: Args) -> Any:
    return Instance(External("logging.Logger"))


def logger_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Methods of a logger: warnings and errors are noted."""
    if name in _LEVELS:
        level = {"warn": "warning", "warning_once": "warning", "exception": "error"}.get(name, name)
        return Native(name, lambda mm, args: _log(mm, level, args))
    if name == "isEnabledFor":
        return Native(name, lambda mm, args: False)
    if name == "log":
        return Native(
            name,
            lambda mm, args: _log(
                mm,
                "warning" if args.pos and isinstance(args.pos[0], int) and args.pos[0] >= 30 else "info",
                Args(args.pos[1:]),
            ),
        )
    if name in ("handlers", "filters"):
        return m.new_list(())
    if name in ("name", "level", "parent", "propagate"):
        return Unknown(f"logger.{name}", frozenset())
    return Native(name, lambda mm, args: None)


def _log(m: Machine, level: str, args: Args) -> None:
    if level in ("debug", "info"):
        return
    message = args.pos[0] if args.pos else ""
    if len(args.pos) > 1 and isinstance(message, str):
        message = m.attempt(lambda: m.format_percent(message, tuple(args.pos[1:])), Exception, message)
    m.log.append((level, message, m.file, m.line, m.pc))


def _warn(m: Machine, args: Args) -> None:
    _log(m, "warning", Args(args.pos[:1]))


# ---------------------------------------------------------------- processes, files, interpreter
def _exit(m: Machine, args: Args) -> Any:
    m.throw(SystemExit, *args.pos[:1])


def _find_spec(m: Machine, args: Args) -> Any:
    name = args.pos[0]
    if not isinstance(name, str):
        return Unknown(f"find_spec({show(name)})", roots_of(m, name))
    if name.split(".")[0] == "sglang":
        return None if m.find_module(name) is None else External(f"spec:{name}")
    top = name.split(".")[0]
    state = m.facts.get(f"pkg.{top}")
    if state is None and top in m.external_state["present"] and "." not in name:
        return External(f"spec:{name}")
    if state is not None:
        m.facts_used.add(f"pkg.{top}")
        return External(f"spec:{name}") if state not in (False, "false", "0", "no", "absent") else None
    test = m.ask(f"package {top} is installed", frozenset({f"pkg.{top}"}))
    return m.conditions.ite(test, External(f"spec:{name}"), None)


def _import_module(m: Machine, args: Args) -> Any:
    name = args.pos[0]
    if isinstance(name, str) and name.startswith(".") and len(args.pos) > 1 and isinstance(args.pos[1], str):
        name = args.pos[1] + name
    if not isinstance(name, str):
        return Unknown(f"import_module({show(name)})", roots_of(m, name))
    return m.import_module(name)


def _package_version(m: Machine, args: Args) -> Any:
    name = show(args.pos[0]).strip("'\"")
    return m.fact(f"version.{name}", f"version of {name}")


def _entry_points(m: Machine, args: Args) -> Any:
    """Plugins of other packages: none, unless ``--assume plugins=`` says that they are not known."""
    if m.fact("plugins", "plugins") == "none":
        return m.new_list(())
    return Unknown("installed plugins", frozenset({"plugins"}))


def _asked(question: str) -> Any:
    """A question about a path: the launch answers it for its own files, else it is unknown."""

    def ask(m: Machine, path: Any) -> Any:
        path = m.text_of(path) if type(path) is Instance else path
        if isinstance(path, str) and path.lstrip("/").startswith("sglang/"):
            tree = m.sources.tree
            inside = path.lstrip("/")
            is_file, is_dir = m.sources.read(inside) is not None, tree.is_dir(inside)
            return {"exists": is_file or is_dir, "is a file": is_file, "is a folder": is_dir}[question]
        files = m.external_state.get("files")
        if files is not None and isinstance(path, str):
            known = files(path, question)
            if known is not None:
                return known
        return m.ask(f"{show(path)} {question}", frozenset({f"the file {show(path)}"}))

    return ask


_exists, _isfile, _isdir = _asked("exists"), _asked("is a file"), _asked("is a folder")


def _read_text(m: Machine, path: Any) -> Any:
    reader = m.external_state.get("read_file")
    if reader is not None and isinstance(path, str):
        return reader(path)
    return None


def _open(m: Machine, args: Args) -> Any:
    path = args.pos[0] if args.pos else args.kw.get("file")
    text = _read_text(m, m.text_of(path) if type(path) is Instance else path)
    handle = Instance(External("io.TextIOWrapper"))
    handle.slots["content"] = (
        Unknown(f"contents of {show(path)}", frozenset({f"the file {show(path)}"})) if text is None else text
    )
    handle.slots["__enter__"] = Native("enter", lambda _m, _a: handle)
    handle.slots["__exit__"] = Native("exit", lambda _m, _a: None)
    handle.slots["read"] = Native("read", lambda _m, _a: handle.slots["content"])
    handle.slots["close"] = handle.slots["write"] = Native("close", lambda _m, _a: None)
    return handle


def _content(m: Machine, args: Args) -> Any:
    handle = args.pos[0]
    return handle.slots["content"] if type(handle) is Instance and "content" in handle.slots else handle


def _json_load(m: Machine, args: Args) -> Any:
    return m.call(m.external("json.loads"), Args([_content(m, args)]))


def _yaml_load(m: Machine, args: Args) -> Any:
    content = _content(m, args)
    if not isinstance(content, str):
        return Unknown("yaml contents", roots_of(m, content))
    loader = m.external_state.get("yaml")
    return Unknown("yaml contents", frozenset()) if loader is None else m.lower(loader(content))


def _path(m: Machine, args: Args) -> Any:
    from pathlib import PurePosixPath

    def make(value: Any) -> Any:
        if type(value) is Instance:
            return value
        if not isinstance(value, str):
            return Unknown(f"Path({show(value)})", roots_of(m, value))
        obj = Instance(External("pathlib.Path"))
        obj.slots["*path*"] = PurePosixPath(value)
        return obj

    return m.lift(make, args.pos[0] if args.pos else ".")


def _joined(m: Machine, path: Any, args: Args) -> Any:
    parts = [m.text_of(part) for part in args.pos]
    if not all(isinstance(part, str) for part in parts):
        return Unknown(f"{path} / {show(args.pos[0])}", roots_of(m, *parts))
    return _path(m, Args([str(path.joinpath(*parts))]))


def path_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Attributes of a ``pathlib.Path``: names are computed, the file system is not asked."""
    path = obj.slots.get("*path*")
    if path is None:
        return ABSENT
    if name in ("suffix", "name", "stem"):
        return getattr(path, name)
    if name == "parent":
        return _path(m, Args([str(path.parent)]))
    if name == "exists":
        return Native(name, lambda mm, _a: _exists(mm, str(path)))
    if name == "is_file":
        return Native(name, lambda mm, _a: _isfile(mm, str(path)))
    if name == "is_dir":
        return Native(name, lambda mm, _a: _isdir(mm, str(path)))
    if name in ("resolve", "expanduser", "absolute"):
        return Native(name, lambda mm, _a: obj)
    if name in ("__truediv__", "joinpath"):
        return Native(name, lambda mm, args: _joined(mm, path, args))
    if name in ("__rtruediv__", "__radd__", "__add__"):
        return ABSENT
    if name in ("__str__", "__fspath__", "as_posix"):
        return Native(name, lambda _m, _a: str(path))
    return Unknown(f"Path({str(path)!r}).{name}", frozenset({f"the file {str(path)!r}"}))


def _run_process(m: Machine, args: Args) -> Any:
    """``subprocess.run``: only nvidia-smi's two questions have known answers."""
    command = m.host(args.pos[0]) if args.pos else ABSENT
    words = command if isinstance(command, list) else [str(command)]
    result = Instance(External("subprocess.CompletedProcess"))
    answer: Any = None
    if words and words[0] == "nvidia-smi" and m.facts.get("device") == "cuda":
        if any("memory.total" in str(word) for word in words):
            answer = m.fact("gpu_memory_mib", "gpu_memory_mib")
        elif any("compute_cap" in str(word) for word in words):
            answer = m.fact("sm", "sm")
            answer = f"{answer // 10}.{answer % 10}" if isinstance(answer, int) else answer
    known = isinstance(answer, (int, str))
    gpus = m.facts.get("gpus", 1)
    text = "\n".join([str(answer)] * (gpus if isinstance(gpus, int) else 1)) + "\n" if known else answer
    result.slots["stdout"] = (
        text
        if text is not None
        else Unknown(f"output of {show(args.pos[0]) if args.pos else 'a process'}", frozenset({"output of a process"}))
    )
    result.slots["stderr"] = ""
    result.slots["returncode"] = 0
    return result


def process_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """Attributes of a finished process."""
    return obj.slots.get(name, ABSENT)


def _argv(m: Machine, path: str) -> Any:
    if path == "sys.argv":
        return m.new_list(tuple(m.argv))
    if path == "os.environ":
        found = m.external_state.get("environ")
        if found is None:
            found = m.external_state["environ"] = environ_object()
        return found
    if path == "sys.version_info":
        version = m.fact("python", "python")
        if isinstance(version, str):
            return tuple(int(part) for part in version.split(".")[:3])
        return Unknown("sys.version_info", frozenset({"python"}))
    if path == "sys.modules":
        return Instance(External("sys.modules"))
    return models_of_device(m, path)


def models_of_device(m: Machine, path: str) -> Any:
    """Values that depend on the device; see the device module."""
    from pathtrace.tracer.eval.library.device import dynamic

    return dynamic(m, path)


def modules_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """``sys.modules``: modules of the tree by name; of others it is unknown whether they are imported."""

    def item(mm: Machine, args: Args) -> Any:
        key = args.pos[0]
        if isinstance(key, str) and mm.find_module(key) is not None:
            return mm.module(key)
        if name == "__contains__":
            return mm.ask(f"{show(key)} is imported", frozenset({f"module {show(key)}"}))
        return (
            args.pos[1] if len(args.pos) > 1 else Unknown(f"sys.modules[{show(key)}]", frozenset({"imported modules"}))
        )

    return (
        Native(name, item)
        if name in ("get", "__getitem__", "__contains__")
        else Unknown(f"sys.modules.{name}", frozenset())
    )


def _getmembers(m: Machine, args: Args) -> Any:
    obj = args.pos[0]
    if not isinstance(obj, (ModuleV, ClassV)):
        return Unknown(f"inspect.getmembers({show(obj)})", roots_of(m, obj))
    pairs = []
    for name, value in sorted(
        ((k, v) for k, v in obj.slots.items() if isinstance(k, str) and not k.startswith("*")), key=lambda pair: pair[0]
    ):
        test, present = m.presence(value)
        if test is True and (len(args.pos) < 2 or m.call(args.pos[1], Args([m.resolve(present)])) is True):
            pairs.append((name, m.resolve(present)))
    return m.new_list(tuple(pairs))


MODELS: dict[str, Any] = {
    "*attr*sys.modules": modules_attribute,
    "inspect.getmembers": _getmembers,
    "inspect.isclass": lambda m, args: isinstance(args.pos[0], (ClassV, type)),
    "inspect.isfunction": lambda m, args: isinstance(args.pos[0], FunctionV),
    "os.getenv": _getenv,
    "*attr*os._Environ": environ_attribute,
    "logging.getLogger": _get_logger,
    "*attr*logging.Logger": logger_attribute,
    "warnings.warn": _warn,
    "logging.warning": lambda m, args: _log(m, "warning", args),
    "logging.error": lambda m, args: _log(m, "error", args),
    "logging.basicConfig": lambda m, args: None,
    "logging.info": lambda m, args: None,
    "logging.debug": lambda m, args: None,
    "sys.exit": _exit,
    "os._exit": _exit,
    "builtins.exit": _exit,
    "importlib.util.find_spec": _find_spec,
    "importlib.import_module": _import_module,
    "importlib.metadata.version": _package_version,
    "importlib.metadata.entry_points": _entry_points,
    "os.path.exists": native(_exists),
    "os.path.isfile": native(_isfile),
    "os.path.isdir": native(_isdir),
    "os.path.expanduser": native(lambda m, path: path),
    "os.path.abspath": native(lambda m, path: path),
    "os.path.realpath": native(lambda m, path: path),
    "os.fspath": native(lambda m, path: path),
    "builtins.open": _open,
    "json.load": _json_load,
    "yaml.safe_load": _yaml_load,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "*attr*pathlib.Path": path_attribute,
    "subprocess.run": _run_process,
    "subprocess.check_output": lambda m, args: _run_process(m, args).slots["stdout"],
    "*attr*subprocess.CompletedProcess": process_attribute,
    "*dynamic*": _argv,
}
