"""Placeholders for packages that a server on the CPU does not have, seen by sglang alone.

A placeholder can be imported, subclassed and named in an annotation. Calling one raises: what a test relies on has
to be there, and must never silently do nothing.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

_NAMES = """
    sgl_kernel flashinfer deep_gemm deep_ep flash_attn flash_mla cutlass quack torch_memory_saver torchao outlines
    outlines_core xgrammar llguidance cuda cupy tilelang tvm_ffi timm decord decord2 av torchcodec torchaudio
    torchvision soundfile modelscope datasets anthropic smg_grpc_proto smg_grpc_servicer grpc grpc_reflection
    grpc_health mooncake nixl aiter kernels hf_transfer py_spy mistral_common litellm lark nvtx triton_kernels
    numba
"""
PACKAGES = frozenset(_NAMES.split())
# Called while modules are imported, to make known what nothing here asks for.
REGISTRATIONS = frozenset({"transformers.AutoImageProcessor.register"})


class NoStandIn(NotImplementedError):
    """Something was called that has no stand-in."""


class _Named(type):
    """What a placeholder answers as a class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = placeholder(f"{cls.full_name}.{name}")
        setattr(cls, name, found)
        return found

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.full_name in REGISTRATIONS:
            return None
        raise NoStandIn(f"{cls.full_name} was called: it has no stand-in on the CPU")

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls


class _Placeholder(metaclass=_Named):
    full_name = "placeholder"

    @classmethod
    def __get_pydantic_core_schema__(cls, *args: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


def placeholder(name: str) -> type:
    """What stands for ``name`` until it is called."""
    module, _, last = name.rpartition(".")
    return _Named(last, (_Placeholder,), {"full_name": name, "__module__": module})


class _AbsentModule(ModuleType):
    __version__ = "999.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = placeholder(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in PACKAGES or not _asked_by_sglang():
            return None
        if package != "sgl_kernel" and not isinstance(sys.modules.get(package, _NONE), _AbsentModule):
            return None  # the package is there: what it lacks stays missing
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _AbsentModule(spec.name)

    def exec_module(self, module):
        pass


_NONE = _AbsentModule("none")


def _asked_by_sglang() -> bool:
    """Whether the import comes from sglang: other packages look at what is really there."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if not name.startswith(("importlib", "_frozen_importlib")) and name not in (__name__, "wrapt.importer"):
            return name.partition(".")[0] in ("sglang", "sgl_kernel", "standins")
        frame = frame.f_back
    return False


def _let_transformers_look() -> None:
    """transformers remembers which packages there are: it looks before the placeholders come."""
    from transformers.utils import import_utils

    for name, look in list(vars(import_utils).items()):
        if name.startswith("is_") and name.endswith("_available"):
            # Some want an argument, some fail where a package is missing: then there is nothing to remember.
            with contextlib.suppress(TypeError, ImportError, RuntimeError):
                look()


def _let_transformers_be_named() -> None:
    """transformers has placeholders of its own, which raise as soon as they are named."""
    from transformers.utils import import_utils

    def answer(cls: type, name: str) -> Any:
        try:
            return type.__getattribute__(cls, name)
        except AttributeError:
            if name.startswith("_"):
                raise
            return placeholder(f"transformers.{cls.__name__}.{name}")

    import_utils.DummyObject.__getattribute__ = answer


def install() -> None:
    """Last on the list: a package that is installed is taken."""
    _let_transformers_look()
    _let_transformers_be_named()
    sys.meta_path.append(_Finder())
