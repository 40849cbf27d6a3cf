"""Stands in for the package of SGLang's compiled operators: those that a live server calls, in torch."""

from standins.absent import placeholder
from standins.operators import (
    assign_draft_cache_locs_contiguous_cpu,
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
    build_draft_decode_metadata_cpu,
    build_tree_kernel_efficient_cpu,
    copy_all_layer_kv_cache_cpu,
    fill_accept_out_cache_loc_cpu,
    fill_bonus_tokens_cpu,
    verify_tree_greedy_cpu,
)

__all__ = [
    "assign_draft_cache_locs_contiguous_cpu",
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "build_draft_decode_metadata_cpu",
    "build_tree_kernel_efficient",
    "build_tree_kernel_efficient_cpu",
    "copy_all_layer_kv_cache_cpu",
    "fill_accept_out_cache_loc_cpu",
    "fill_bonus_tokens_cpu",
    "verify_tree_greedy",
    "verify_tree_greedy_cpu",
]
__version__ = "999.0.0"
__path__: list[str] = []

build_tree_kernel_efficient = build_tree_kernel_efficient_cpu
verify_tree_greedy = verify_tree_greedy_cpu


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return placeholder(f"sgl_kernel.{name}")
