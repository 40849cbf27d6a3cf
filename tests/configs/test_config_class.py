"""What the source of a transformers configuration class says of keys that config.json leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pathtrace.tracer.configs.config_class import ConfigClass
from pathtrace.tracer.configs.config_source import ConfigClassReader

ABSENT = object()
UNKNOWN = object()

# The two forms that PretrainedConfig has had, in little.
BY_INIT = """
class PretrainedConfig(PushToHub):
    attribute_map = {}
    def __getattribute__(self, key):
        if key != "attribute_map" and key in super().__getattribute__("attribute_map"):
            key = super().__getattribute__("attribute_map")[key]
        return super().__getattribute__(key)
    def __init__(self, *, use_cache=True, **kwargs):
        self.use_cache = use_cache
        self.name = kwargs.pop("name", "none")
        for key, value in kwargs.items():
            setattr(self, key, value)
    @property
    def num_labels(self):
        return 2
    def to_dict(self):
        return self.written_later
class PushToHub:
    pass
"""
BY_FIELDS = """
@dataclass(repr=False)
class PreTrainedConfig:
    use_cache: bool = True
    def __post_init__(self, **kwargs):
        for key, value in kwargs.items():
            setattr(self, key, value)
PretrainedConfig = PreTrainedConfig
"""
HEADS = "def __init__(self, heads=8, **kwargs):\n        "
INIT_CASES: tuple[tuple[str, str, Any], ...] = (
    (HEADS + "self.heads = heads", "heads", 8),
    (HEADS + "self.heads = heads", "experts", ABSENT),
    (HEADS + "self.heads = heads", "use_cache", UNKNOWN),
    (HEADS + "self.heads = heads", "written_later", ABSENT),
    (HEADS + "self.heads = heads", "num_labels", UNKNOWN),
    (HEADS + "self.heads = heads or 4", "heads", UNKNOWN),
    (HEADS + "heads += 1\n        self.heads = heads", "heads", UNKNOWN),
    (HEADS + "if kwargs:\n            self.heads = heads", "heads", UNKNOWN),
    (HEADS + "super().__init__(heads=heads, **kwargs)", "heads", UNKNOWN),
    ("def __init__(self, **kwargs):\n        setattr(self, 'a' + 'b', 1)", "ab", UNKNOWN),
    ("def __init__(self, **kwargs):\n        for k in ('a', 'b'):\n            setattr(self, k, 1)", "a", UNKNOWN),
    ("def __getattr__(self, name):\n        return 1", "experts", UNKNOWN),
    ("def __getattribute__(self, name):\n        return self.inner[name]", "experts", UNKNOWN),
    ("attribute_map = {'width': 'heads'}\n    " + HEADS + "self.heads = heads", "heads", UNKNOWN),
    ("attribute_map = make()\n    " + HEADS + "self.heads = heads", "heads", UNKNOWN),
)  # fmt: skip
FIELD_CASES: tuple[tuple[str, str, Any], ...] = (
    ("heads: int = 8", "heads", 8),
    ("heads: int = 8", "use_cache", True),
    ("heads: int = 8", "experts", ABSENT),
    ("heads: int", "heads", UNKNOWN),
    ("heads: int = some(8)", "heads", UNKNOWN),
    ("heads: int = 8\n    def __post_init__(self, **kwargs):\n        self.heads = 9", "heads", UNKNOWN),
    ("heads: int = 8\n    def __init__(self, **kwargs):\n        pass", "use_cache", UNKNOWN),
)


def read(folder: Path, base: str, body: str) -> ConfigClass | None:
    (folder / "models" / "auto").mkdir(parents=True)
    (folder / "models" / "little").mkdir()
    (folder / "models" / "auto" / "configuration_auto.py").write_text(
        'CONFIG_MAPPING_NAMES = OrderedDict([("little", "LittleConfig"), ("single", "LittleConfig")])\n'
        "class AutoConfig:\n"
        "    def from_pretrained(cls, path):\n"
        '        if config_dict["model_type"] == "single":\n'
        "            pass\n"
    )
    (folder / "configuration_utils.py").write_text(base)
    (folder / "models" / "little" / "configuration_little.py").write_text(
        f"from ...configuration_utils import PretrainedConfig\nclass LittleConfig(PretrainedConfig):\n    {body}\n"
    )
    return ConfigClassReader(folder).find("little")


def said(found: ConfigClass | None, key: str) -> Any:
    if found is None:
        return UNKNOWN
    default = found.defaults.get(key)
    return default.value if default is not None else ABSENT if found.lacks(key) else UNKNOWN


@pytest.mark.parametrize(
    ("base", "body", "key", "wanted"),
    [(BY_INIT, *case) for case in INIT_CASES] + [(BY_FIELDS, *case) for case in FIELD_CASES],
)
def test_only_what_is_plain_is_known(tmp_path: Path, base: str, body: str, key: str, wanted: Any) -> None:
    assert said(read(tmp_path, base, body), key) == wanted


def test_an_alias_stands_for_another_key(tmp_path: Path) -> None:
    found = read(tmp_path, BY_INIT, "attribute_map = {'width': 'hidden'}")
    assert found is not None and found.aliases == {"width": "hidden"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("class Other: pass\nclass LittleConfig(Other, Elsewhere): pass", "a base that is not found"),
        ("class LittleConfig(elsewhere.Base): pass", "a base behind a module"),
        ("class LittleConfig(PretrainedConfig:", "not Python"),
    ],
)
def test_a_class_that_cannot_be_read_whole_says_nothing(tmp_path: Path, body: str, why: str) -> None:
    read(tmp_path, BY_INIT, "pass")
    (tmp_path / "models" / "little" / "configuration_little.py").write_text(body)
    assert ConfigClassReader(tmp_path).find("little") is None, why


def test_a_type_that_auto_config_singles_out_says_nothing(tmp_path: Path) -> None:
    read(tmp_path, BY_INIT, "pass")
    reader = ConfigClassReader(tmp_path)
    assert reader.find("single") is None
    assert reader.find("little") is not None
    assert reader.find("nowhere") is None
