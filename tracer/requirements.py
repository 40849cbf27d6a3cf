"""Packages that are there because the release requires them, read from the release's own metadata."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from email.parser import Parser

from packaging.requirements import InvalidRequirement, Requirement

from pathtrace.tracer.tree.model import Tree

# Distributions whose import name is not their own name (from their own top_level.txt).
_IMPORTS = {
    "pyzmq": ("zmq",), "pillow": ("PIL",), "nvidia_ml_py": ("pynvml",), "flashinfer_python": ("flashinfer",),
    "opencv_python_headless": ("cv2",), "python_multipart": ("multipart", "python_multipart"), "pyyaml": ("yaml",),
    "prometheus_client": ("prometheus_client",), "scikit_learn": ("sklearn",), "protobuf": ("google",),
    "ipython": ("IPython",), "soundfile": ("soundfile",), "cuda_python": ("cuda",), "apache_tvm_ffi": ("tvm_ffi",),
    "nvidia_cutlass_dsl": ("cutlass",), "sglang_kernel": ("sgl_kernel",), "build": ("build",),
}  # fmt: skip
# What the requirements themselves always bring.
_BROUGHT = {
    "torch": ("torch", "triton", "numpy", "functorch"),
    "transformers": (
        "transformers",
        "huggingface_hub",
        "tokenizers",
        "safetensors",
        "yaml",
        "numpy",
        "requests",
        "tqdm",
        "packaging",
        "regex",
    ),
    "fastapi": ("fastapi", "starlette", "pydantic"),
}
_REQUIRES = re.compile(r"^([A-Za-z0-9._-]+)")


class Present:
    """The import names that are known to be installed; every one, where the metadata is not at hand."""

    def __init__(self, names: frozenset[str] | None) -> None:
        self.names = names

    def __contains__(self, name: str) -> bool:
        return self.names is None or name in self.names or name in sys.stdlib_module_names


def required_packages(tree: Tree) -> frozenset[str] | None:
    """Import names of the release's requirements; None where the tree carries no metadata."""
    text = _metadata(tree)
    if text is None:
        return None
    names: set[str] = set()
    for requirement in Parser().parsestr(text).get_all("Requires-Dist") or []:
        if "extra ==" in requirement:
            continue
        match = _REQUIRES.match(requirement)
        if match is None:
            continue
        name = match.group(1).replace("-", "_").replace(".", "_").lower()
        names.update(_IMPORTS.get(name, (name, match.group(1))))
        names.update(_BROUGHT.get(name, ()))
    return frozenset(names) if names else None


def required_version(tree: Tree, name: str) -> str | None:
    """What the release requires of a package's version (``==4.57.1``); None where it does not say."""
    text = _metadata(tree)
    for line in [] if text is None else Parser().parsestr(text).get_all("Requires-Dist") or []:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.name == name and requirement.marker is None and requirement.specifier:
            return str(requirement.specifier)
    return None


def _metadata(tree: Tree) -> str | None:
    path = tree.info.path
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith(".dist-info/METADATA") and name.count("/") == 1:
                        return archive.read(name).decode("utf-8", "replace")
            return None
        for name in sorted(os.listdir(path)):
            if name.startswith("sglang-") and name.endswith(".dist-info"):
                with open(os.path.join(path, name, "METADATA"), encoding="utf-8", errors="replace") as file:
                    return file.read()
    except (OSError, zipfile.BadZipFile, KeyError):
        return None
    return None
