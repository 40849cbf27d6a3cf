"""What has to be changed in a tree, or in torch, so that a CPU gets through the tree's speculative code."""

from __future__ import annotations

import functools
import inspect

import torch
from standins import operators
from standins.after_import import after_import

OVERWRITES_LENGTHS = "seq_lens = forward_batch.seq_lens\n        if seq_lens.dtype"


def install(kernels: str) -> None:
    """Changes for ``interpreted`` or ``native`` kernels."""
    _offer_operators()
    if kernels == "interpreted":
        _take_the_way_of_cuda()
    elif kernels == "native":
        _take_the_way_of_the_cpu()
    else:
        raise ValueError(f"LIVE_KERNELS={kernels!r} is neither interpreted nor native")


def _offer_operators() -> None:
    torch.ops.__dict__["sgl_kernel"] = operators.Operators()
    register = torch.library.register_fake

    @functools.wraps(register)
    def register_fake(op, func=None, /, **kwargs):
        # Shapes of an operator that is a plain function here: there is nothing to register them for.
        if isinstance(op, str) and op.partition("::")[0] in ("sgl_kernel", "flashinfer"):
            return func if func is not None else lambda function: function
        return register(op, func, **kwargs)

    torch.library.register_fake = register_fake


def _take_the_way_of_cuda() -> None:
    # Nothing runs beside the CPU: there is nothing to wait for and no memory that another stream still reads.
    torch.Tensor.record_stream = lambda self, stream: None
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.empty_cache = lambda: None

    @after_import("sglang.srt.speculative.eagle_utils")
    def eagle_utils(module):
        module._is_cuda = True
        module.sgl_build_tree_kernel_efficient = operators.build_tree_kernel_efficient_cpu

    for name in ("eagle_info_v2", "triton_ops.cache_locs"):

        @after_import(f"sglang.srt.speculative.{name}")
        def launches_triton(module):
            module._is_cuda = True


def _take_the_way_of_the_cpu() -> None:
    @after_import("sglang.srt.arg_groups.overrides")
    def keep_attention_backend(module):
        # The backend asks for AMX; its two operators are stand-ins and need none.
        if hasattr(module, "cpu_has_amx_support"):
            module.cpu_has_amx_support = lambda: True
        if hasattr(module, "get_platform"):
            own = module.get_platform
            module.get_platform = lambda: _WithAmx(own())

    @after_import("sglang.srt.layers.attention.intel_amx_backend")
    def keep_computed_lengths(module):
        # 0.5.18 works out the lengths for a step of verification or of drafting and then writes over them.
        backend = module.IntelAMXAttnBackend
        if OVERWRITES_LENGTHS not in inspect.getsource(backend.forward_extend):
            return
        construct = backend.__init__

        @functools.wraps(construct)
        def constructed(self, *args, **kwargs):
            construct(self, *args, **kwargs)
            extend, decode = self.extend_attention_fwd, self.decode_attention_fwd

            def extend_attention(*args):
                return extend(*_with(args, 8, self.extend_metadata[0]))

            def decode_attention(*args):
                metadata = self.draft_decode_metadata
                return decode(*(args if metadata is None else _with(args, 10, metadata[1])))

            self.extend_attention_fwd, self.decode_attention_fwd = extend_attention, decode_attention

        backend.__init__ = constructed


def _with(args, place, lengths):
    return (*args[:place], lengths.to(torch.int64), *args[place + 1 :])


class _WithAmx:
    """A tree's platform, with AMX."""

    has_amx = True

    def __init__(self, own):
        self._own = own

    def __getattr__(self, name):
        return getattr(self._own, name)
