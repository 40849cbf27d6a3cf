"""The machine that the server would run on: what torch and the system say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.values import ABSENT, Args, External, Instance, Native, Unknown

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

_OTHERS = ("xpu", "hpu", "npu", "musa", "mps", "tpu")


def _is_cuda(m: Machine) -> Any:
    device = m.fact("device", "device")
    return (
        device in ("cuda", "hip", "rocm")
        if isinstance(device, str)
        else m.ask("device == 'cuda'", frozenset({"device"}))
    )


def _capability(m: Machine, args: Args) -> Any:
    sm = m.fact("sm", "sm")
    if isinstance(sm, int):
        return (sm // 10, sm % 10)
    return (Unknown("sm // 10", frozenset({"sm"})), Unknown("sm % 10", frozenset({"sm"})))


def _memory(m: Machine, args: Args) -> Any:
    total = m.fact("gpu_memory_mib", "gpu_memory_mib")
    if isinstance(total, int):
        return (Unknown("free GPU memory", frozenset({"free GPU memory"})), total << 20)
    return (
        Unknown("free GPU memory", frozenset({"free GPU memory"})),
        Unknown("gpu_memory_mib << 20", frozenset({"gpu_memory_mib"})),
    )


def _properties(m: Machine, args: Args) -> Any:
    obj = Instance(External("torch.cuda.DeviceProperties"))
    major, minor = _capability(m, args)
    obj.slots.update({"major": major, "minor": minor, "total_memory": _memory(m, args)[1]})
    for name in ("name", "multi_processor_count", "gcnArchName", "warp_size", "is_integrated"):
        obj.slots[name] = m.fact(f"gpu_{name}", f"gpu {name}")
    return obj


def _count(m: Machine, args: Args) -> Any:
    return m.fact("gpus", "gpus")


def dynamic(m: Machine, path: str) -> Any:
    """Paths under ``torch`` and ``platform`` whose value is a fact about the machine."""
    if path == "torch.cuda.is_available":
        return Native(path, lambda mm, _a: _is_cuda(mm))
    if path in ("torch.version.cuda", "torch.version.hip"):
        device = m.fact("device", "device")
        wanted = ("hip", "rocm") if path.endswith("hip") else ("cuda",)
        if isinstance(device, str) and device not in wanted:
            return None
        return m.fact("cuda" if path.endswith("cuda") else "hip", path.removeprefix("torch."))
    parts = path.split(".")
    if len(parts) >= 2 and parts[0] == "torch" and parts[-1] in ("is_available", "is_built"):
        name = parts[-2]
        if name in _OTHERS:
            return Native(path, lambda mm, _a: mm.is_device(name))
    if path in ("platform.machine", "platform.processor"):
        return Native(path, lambda mm, _a: mm.fact("arch", "arch"))
    if path == "platform.system":
        return Native(path, lambda _m, _a: "Linux")
    if path == "platform.python_version":
        return Native(path, lambda mm, _a: mm.fact("python", "python"))
    if path == "torch.__version__":
        return m.fact("version.torch", "torch.__version__")
    return ABSENT


def has_attribute(m: Machine, path: str, name: str) -> Any:
    """``hasattr(torch, name)`` and the like, where it tells devices apart; ABSENT where it does not."""
    if path == "torch" and name in ("hpu", "npu", "musa"):
        return m.is_device(name)
    if path == "torch" and name in ("cuda", "xpu", "version", "compile", "backends", "cpu", "mps"):
        return True
    return ABSENT


MODELS: dict[str, Any] = {
    "torch.cuda.get_device_capability": _capability,
    "torch.cuda.mem_get_info": _memory,
    "torch.cuda.get_device_properties": _properties,
    "torch.cuda.device_count": _count,
    "torch.backends.cudnn.version": lambda m, args: m.fact("cudnn", "cudnn version"),
    "torch.cpu.is_available": lambda m, args: True,
    "torch.cuda.current_device": lambda m, args: 0,
    "torch.cuda.get_device_name": lambda m, args: m.fact("gpu_name", "gpu name"),
    "torch.cuda.is_current_stream_capturing": lambda m, args: False,
    "torch.compiler.is_compiling": lambda m, args: False,
    "torch.distributed.is_initialized": lambda m, args: False,
    "torch.distributed.is_available": lambda m, args: True,
    "*attr*torch.cuda.DeviceProperties": lambda m, obj, name: obj.slots.get(name, ABSENT),
}
