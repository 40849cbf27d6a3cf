"""Model configurations as transformers gives them.

What config.json says is known; of the rest, what the installed transformers' class says plainly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.operators import roots_of, show
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    ClassV,
    DictV,
    External,
    Instance,
    Native,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.configs.config_class import ConfigClass
    from pathtrace.tracer.eval.machine import Machine

# Model types that the tree registers with AutoConfig; a tuple, so that it lasts as the modules do.
_REGISTERED = ("AutoConfig", "registered")

_PLAIN_DICTS = frozenset(
    {
        "quantization_config",
        "rope_scaling",
        "rope_parameters",
        "generation_config",
        "auto_map",
        "id2label",
        "label2id",
        "compression_config",
    }
)

# Read by transformers from config.json itself, before it knows the class, to find remote code:
# no configuration class defines it (AutoConfig.from_pretrained: ``"auto_map" in config_dict``).
_FILE_ONLY = frozenset({"auto_map"})


def config_object(m: Machine, data: dict[str, Any] | None, label: str, cls: Any = None) -> Instance:
    """A configuration object: keys of ``data`` are attributes; any other attribute is unknown.

    ``label`` names it in conditions (``hf``, ``draft``); ``data`` None means that no file was given.
    """
    known = None if data is None or cls is not None or "." in label else _installed_class(m, data)
    obj = Instance(cls if cls is not None else External("transformers.PretrainedConfig"))
    obj.slots["*config*"] = (label, data is not None)
    for key, value in (data or {}).items():
        write = m.written(len(m.reads))
        write.leaf = ("config", f"{label}.{key}")
        m.writers[(obj.slots.number, key)] = write
        if isinstance(value, dict) and key.endswith("_config") and key not in _PLAIN_DICTS:
            obj.slots[key] = config_object(m, value, f"{label}.{key}")
        else:
            obj.slots[key] = m.lower(value)
    if known is not None and data is not None:
        obj.slots["*class*"] = known
        for key, default in known.defaults.items():
            if key not in data and f"{label}.{key}" not in m.facts:
                write = m.written(len(m.reads))
                write.leaf = ("config", f"{label}.{key} (default of {known.name})")
                m.writers[(obj.slots.number, key)] = write
                obj.slots[key] = m.lower(default.value)
    return obj


def _installed_class(m: Machine, data: dict[str, Any]) -> ConfigClass | None:
    """The installed transformers' class for a config.json; none where the tree registers its own."""
    registered = m.external_state.get(_REGISTERED, ())
    find = m.external_state.get("config_class")
    if find is None or data.get("model_type") in registered or None in registered:
        return None
    found: ConfigClass | None = find(data)
    return found


def config_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """An attribute of a configuration; ABSENT for keys that the file has (the usual look-up finds them)."""
    test, present = m.presence(obj.slots.get(name, ABSENT))
    if test is True and not name.startswith("*"):
        return ABSENT
    otherwise = _without_key(m, obj, name)
    if test is False or otherwise is ABSENT:
        return otherwise
    m.saw(obj.slots, name)
    return m.fork(
        [(test, lambda: m.conditions.restrict(present, m.pc)), (m.conditions.negation(test), lambda: otherwise)]
    )


def _without_key(m: Machine, obj: Instance, name: str) -> Any:
    """An attribute of a configuration where nothing has set it; ABSENT for what the usual look-up finds."""
    label, given = obj.slots["*config*"]
    if name in (
        "get",
        "items",
        "keys",
        "values",
        "to_dict",
        "update",
        "__getitem__",
        "__contains__",
        "pop",
        "setdefault",
        "__iter__",
    ):
        return Native(name, lambda mm, args: _as_dict(mm, obj, name, args))
    if name in ("get_text_config", "to_diff_dict", "save_pretrained", "to_json_string"):
        if name == "get_text_config":
            return Native(name, lambda mm, args: _text_config(mm, obj))
        return Native(name, lambda mm, args: Unknown(f"{label}.{name}()", frozenset({label})))
    if isinstance(obj.cls, ClassV):
        for base in obj.cls.mro:
            if isinstance(base, ClassV) and name in base.slots:
                return ABSENT
    if name == "__dict__":
        return _view(m, obj)
    if name == "__class__" or (name in _FILE_ONLY and given and f"{label}.{name}" not in m.facts):
        return ABSENT
    known: ConfigClass | None = obj.slots.get("*class*")
    if known is not None and f"{label}.{name}" not in m.facts:
        if name in known.aliases:
            return m.get_attr(obj, known.aliases[name])
        if known.lacks(name):
            return ABSENT
    return absent_key(m, label, name, given)


def absent_key(m: Machine, label: str, name: str, given: bool) -> Any:
    """A key that config.json does not have: unknown, unless ``--assume hf.KEY=VALUE`` says it."""
    fact = m.facts.get(f"{label}.{name}", ABSENT)
    if fact is not ABSENT:
        m.facts_used.add(f"{label}.{name}")
        return m.lower(fact)
    root = f"{label}.{name}" if given else f"{label} config"
    return Unknown(f"{label}.{name}", frozenset({root}))


def _view(m: Machine, obj: Instance) -> DictV:
    label, _given = obj.slots["*config*"]
    view = DictV({key: value for key, value in obj.slots.items() if not key.startswith("*")})
    view.havoc[f"{label}.*"] = True
    return view


def _as_dict(m: Machine, obj: Instance, name: str, args: Args) -> Any:
    if name == "update" and args.pos:
        source = args.pos[0]
        if type(source) is DictV:
            for key, value in source.slots.items():
                if isinstance(key, str) and value is not ABSENT:
                    m.store(obj.slots, key, value, m.written(len(m.reads)))
        return None
    view = _view(m, obj)
    if name == "to_dict":
        return view
    if name == "__contains__":
        return m.contains(view, args.pos[0])
    if name == "__getitem__":
        return m.get_item(view, args.pos[0])
    if name == "get" and args.pos and isinstance(args.pos[0], str):
        return m.get_attr(obj, args.pos[0])
    return m.call(m.get_attr(view, name), args)


def _text_config(m: Machine, obj: Instance) -> Any:
    test, value = m.presence(obj.slots.get("text_config", ABSENT))
    if test is True:
        return value
    label, _given = obj.slots["*config*"]
    return Unknown(f"{label}.get_text_config()", frozenset({f"{label}.text_config"}))


# ---------------------------------------------------------------- loading
def _from_pretrained(m: Machine, args: Args) -> Any:
    """``AutoConfig.from_pretrained(path)``: the configuration of that path, if it was given."""
    path = args.pos[0] if args.pos else args.kw.get("pretrained_model_name_or_path", args.kw.get("model"))
    return _load_each(m, path, None, args)


def _load_each(m: Machine, path: Any, cls: ClassV | None, args: Args) -> Any:
    """The configuration for every case of the path and of the ``revision`` that comes with it."""
    revision = args.kw.get("revision")
    return m.lift(lambda each: m.lift(lambda at: load(m, each, cls, at), revision), path)


def load(m: Machine, path: Any, cls: ClassV | None, revision: Any = None) -> Any:
    """The configuration object for a model path at a revision (``cls``: the tree's own configuration class)."""
    finder = m.external_state.get("config_for")
    text = m.external_state["open_path"](path.text) if type(path) is Unknown else m.text_of(path)
    if not isinstance(text, str) or finder is None or not (revision is None or isinstance(revision, str)):
        return config_object(m, None, "hf")
    label, data = finder(text, revision)
    if cls is None:
        return config_object(m, data, label)
    obj = config_object(m, None, label, cls)
    obj.slots["*config*"] = (label, data is not None)
    given = Args([], {key: m.lower(value) for key, value in (data or {}).items()})
    from pathtrace.tracer.eval.calls import call
    from pathtrace.tracer.eval.objects import find_in_class
    from pathtrace.tracer.eval.values import BoundV

    init = find_in_class(m, cls, "__init__")
    if init is not ABSENT:
        if data is None:
            given.star_unknown = Unknown(f"{label} config", frozenset({f"{label} config"}))
        call(m, BoundV(init, obj), given)
    else:
        _init_config(m, obj, given)
    for key, value in (data or {}).items():
        if obj.slots.get(key, ABSENT) is ABSENT:
            m.store(obj.slots, key, m.lower(value))
    return obj


def _init_config(m: Machine, obj: Instance, args: Args) -> None:
    """``PretrainedConfig.__init__``: keyword arguments become attributes."""
    obj.slots.setdefault("*config*", ("config", True))
    for key, value in args.kw.items():
        m.store(obj.slots, key, value, args.kw_from.get(key))


def config_class_attribute(m: Machine, cls: ClassV, name: str) -> Any:
    """Class methods of the tree's own configuration classes."""
    if name == "from_pretrained":
        return Native(name, lambda mm, args: _load_each(mm, args.pos[0] if args.pos else None, cls, args))
    if name == "from_dict":

        def from_dict(mm: Machine, args: Args) -> Any:
            source = args.pos[0]
            kw = (
                {key: value for key, value in source.slots.items() if isinstance(key, str) and value is not ABSENT}
                if type(source) is DictV
                else {}
            )
            return mm.call(cls, Args([], kw))

        return Native(name, from_dict)
    return ABSENT


def _register(m: Machine, args: Args) -> None:
    """``AutoConfig.register(model_type, cls)``: the tree's own class; None stands for a type unknown here."""
    name = args.pos[0] if args.pos else args.kw.get("model_type")
    known: set[str | None] = m.external_state.setdefault(_REGISTERED, set())
    known.add(name if isinstance(name, str) else None)


def _snapshot(m: Machine, args: Args) -> Any:
    """``snapshot_download(repo)``: a folder with the repository's files, here by the repository's name."""
    return args.pos[0] if args.pos else args.kw.get("repo_id")


def _api(m: Machine, args: Args) -> Any:
    """``HfApi()``: a repository on the hub is taken to hold a config.json, and weights that need one."""
    api = Instance(External("huggingface_hub.HfApi"))
    known = Instance(External("huggingface_hub.RepoSibling"))
    known.slots["rfilename"] = "config.json"
    info = Instance(External("huggingface_hub.ModelInfo"))
    info.slots["siblings"] = m.new_list((known,))
    api.slots["repo_info"] = api.slots["model_info"] = Native("repo_info", lambda _m, _args: info)
    api.slots["list_repo_files"] = Native("list_repo_files", lambda mm, _args: mm.new_list(("config.json",)))
    return api


def _hub_attribute(m: Machine, obj: Instance, name: str) -> Any:
    """What is not modelled of the hub's objects is there, and gives nobody knows what."""
    return ABSENT if obj.slots.get(name, ABSENT) is not ABSENT else External(f"{obj.cls.path}.{name}")


def _generation_config(m: Machine, args: Args) -> Any:
    return Unknown("generation config", frozenset({"generation_config.json"}))


def _get_config_dict(m: Machine, args: Args) -> Any:
    obj = _load_each(m, args.pos[0], None, args)
    view = _view(m, obj) if type(obj) is Instance else Unknown("config dict", roots_of(m, obj))
    return (view, DictV())


def _pretrained_config(m: Machine, args: Args) -> Any:
    obj = config_object(m, {}, "config")
    _init_config(m, obj, args)
    return obj


MODELS: dict[str, Any] = {
    "huggingface_hub.snapshot_download": _snapshot,
    "huggingface_hub.HfApi": _api,
    "huggingface_hub.model_info": lambda m, args: m.get_attr(_api(m, args), "repo_info").call(m, args),
    "huggingface_hub.list_repo_files": lambda m, args: m.new_list(("config.json",)),
    "transformers.AutoConfig.from_pretrained": _from_pretrained,
    "transformers.AutoConfig.register": _register,
    "transformers.PretrainedConfig.from_pretrained": _from_pretrained,
    "transformers.PretrainedConfig.get_config_dict": _get_config_dict,
    "transformers.PreTrainedConfig.get_config_dict": _get_config_dict,
    "transformers.PretrainedConfig.from_dict": lambda m, args: Unknown(show(args.pos[0]), frozenset()),
    "transformers.GenerationConfig.from_pretrained": _generation_config,
    **{f"*attr*huggingface_hub.{kind}": _hub_attribute for kind in ("HfApi", "ModelInfo", "RepoSibling")},
    "*config_attribute*": config_attribute,
    **{
        f"*{kind}*{base}": handler
        for base in (
            "transformers.PretrainedConfig", "transformers.PreTrainedConfig",
            "transformers.configuration_utils.PretrainedConfig", "transformers.configuration_utils.PreTrainedConfig",
        )
        for kind, handler in (("init", _init_config), ("class", config_class_attribute))
    },
}  # fmt: skip
for _path in [path.removeprefix("*init*") for path in MODELS if path.startswith("*init*")]:
    MODELS[f"*attr*{_path}"] = lambda m, obj, name: (
        config_attribute(m, obj, name) if "*config*" in obj.slots else ABSENT
    )
