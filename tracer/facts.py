"""Facts about the machine and the model that a launch itself does not state.

They are declared here and nowhere else. A fact without a default is unknown until it is given with
``--assume NAME=VALUE``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pathtrace.tracer.errors import BadInput


@dataclass(frozen=True)
class Fact:
    """One fact.

    Attributes:
        name: as ``--assume`` takes it; ``*`` stands for any name.
        kind: ``int``, ``str`` or ``bool``.
        meaning: one sentence, with the unit.
        default: assumed without being said; None: unknown.
        asked: what the tree calls to learn it.
    """

    name: str
    kind: str
    meaning: str
    default: str | None
    asked: str


FACTS = (
    Fact("device", "str", "Kind of accelerator: cuda, hip, xpu, npu, cpu ...", "cuda", "torch.cuda, torch.version"),
    Fact("arch", "str", "Processor architecture as platform.machine() says it.", "x86_64", "platform.machine()"),
    Fact("sm", "int", "Compute capability as one number: 90 is 9.0.", None, "torch.cuda.get_device_capability()"),
    Fact("gpus", "int", "GPUs that the process sees.", None, "torch.cuda.device_count()"),
    Fact("gpu_memory_mib", "int", "Memory of one GPU in MiB.", None, "nvidia-smi, torch.cuda.mem_get_info()"),
    Fact("gpu_*", "str", "A property of the GPU, such as gpu_name.", None, "torch.cuda.get_device_properties()"),
    Fact("hip", "str", "ROCm version that torch was built with.", None, "torch.version.hip"),
    Fact("cuda", "str", "CUDA version that torch was built with, such as 12.8.", None, "torch.version.cuda"),
    Fact("cudnn", "int", "cuDNN version as torch says it: 91002 is 9.10.2.", None, "torch.backends.cudnn.version()"),
    Fact("plugins", "str", "Plugins of other packages: none, or unknown.", "none", "importlib.metadata.entry_points()"),
    Fact("python", "str", "Python version of the server, such as 3.12.3.", None, "sys.version_info"),
    Fact("pkg.*", "bool", "Whether a package is installed; the release's own are.", None, "import, find_spec"),
    Fact("version.*", "str", "Version of an installed package.", None, "importlib.metadata.version()"),
    Fact("hf.*", "str", "A key that the model's config.json does not have (JSON).", None, "transformers' config class"),
    Fact("draft.*", "str", "The same for the draft model.", None, "transformers' config class"),
)  # fmt: skip


def parse_facts(given: Mapping[str, str]) -> dict[str, Any]:
    """Facts from ``--assume``, over the defaults.

    Raises:
        BadInput: for a name that is no fact, or a value of the wrong kind.
    """
    import json

    facts: dict[str, Any] = {fact.name: fact.default for fact in FACTS if fact.default is not None}
    for name, text in given.items():
        fact = next(
            (
                item
                for item in FACTS
                if item.name == name or (item.name.endswith("*") and name.startswith(item.name[:-1]))
            ),
            None,
        )
        if fact is None:
            known = ", ".join(item.name for item in FACTS)
            raise BadInput(f"--assume {name}: no such fact; known facts are {known}")
        value: Any = text
        if fact.kind == "int":
            if not text.isdigit():
                raise BadInput(f"--assume {name}={text}: {name} is a whole number ({fact.meaning})")
            value = int(text)
        elif fact.kind == "bool":
            if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
                raise BadInput(f"--assume {name}={text}: write true or false")
            value = text.lower() in ("true", "1", "yes")
        elif name.startswith(("hf.", "draft.")):
            try:
                value = json.loads(text)
            except ValueError:
                value = text
        facts[name] = value
    return facts


def supply_for(root: str) -> str:
    """What a user gives to decide something that waits for ``root``."""
    for fact in FACTS:
        if root == fact.name or (fact.name.endswith("*") and root.startswith(fact.name[:-1])):
            return f"--assume {root}=..."
    if root == "hf config":
        return "--model-config FILE"
    if root == "draft config":
        return "--draft-config FILE"
    return root
