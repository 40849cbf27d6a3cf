"""Which way to turn speculation off fits a worker: read from the classes at hand, never from a release."""

from __future__ import annotations

import dataclasses
from typing import Any

from pathtrace.instrument.disable.draft_state import DraftState
from pathtrace.instrument.disable.missed import Missed
from pathtrace.instrument.disable.running import of_tree, torch
from pathtrace.instrument.disable.target import ordinary_target
from pathtrace.instrument.disable.v1 import DecodeV1
from pathtrace.instrument.disable.v2 import DecodeV2

# Workers whose step from a draft input on is: draft, verify, extend the draft; of the overlap kind, and of the
# synchronous kind. Subclasses that change none of these count as well.
OVERLAP = ("EAGLEWorkerV2", "StandaloneWorkerV2")
SYNCHRONOUS = ("EAGLEWorker", "StandaloneWorker")
# Bytes of the buffer that holds what the draft has missed.
BUFFER_BYTES = 256 * 2**20
# Positions of the same, where the server does not say how many tokens a prefill may have.
BUFFER_ROWS = 8192


class NotSupported(Exception):
    """Speculation of this worker cannot be turned off; the sentence says why."""


def ordinary_decode(
    scheduler: Any, worker: Any, warm: bool, want_graphs: bool
) -> tuple[DecodeV1 | DecodeV2, DraftState]:
    """The step without speculation for a worker, and what keeps its draft's state.

    Args:
        warm: whether the draft is to catch up.
        want_graphs: whether decode graphs are to be captured for it, where the server runs with graphs.

    Raises:
        NotSupported: the worker, its tree or the deployment is of a kind for which this has not been built.
    """
    arguments = scheduler.server_args
    family = _family(worker)
    _check_deployment(arguments)
    attribute, target_worker = _target_worker(scheduler, worker)
    if family is OVERLAP:
        _check_result()
    runner = target_worker.model_runner
    if getattr(runner, "model_is_mrope", False):
        raise NotSupported("the target is a multimodal model with positions of its own (mrope)")
    if _has_state(runner):
        raise NotSupported("the target keeps a recurrent state (mamba, linear attention) beside its KV cache")
    with_hidden = not worker.speculative_algorithm.is_standalone()
    # `verify` of the synchronous kind takes the rows of who is accepted from the hidden states, whoever reads them.
    target = ordinary_target(runner, with_hidden, with_hidden or family is SYNCHRONOUS, want_graphs)
    missed = Missed(_rows(arguments, runner, with_hidden)) if warm else None
    state = DraftState(worker, attribute, missed, scheduler.tree_cache)
    kind = DecodeV2 if family is OVERLAP else DecodeV1
    return kind(worker, attribute, target, state), state


def _family(worker: Any) -> tuple[str, ...]:
    """``OVERLAP`` or ``SYNCHRONOUS``."""
    bases = type(worker).__mro__
    name = bases[0].__name__
    family = next((family for base in bases for family in (OVERLAP, SYNCHRONOUS) if base.__name__ in family), None)
    if family is None:
        raise NotSupported(f"{name} is none of {', '.join((*OVERLAP, *SYNCHRONOUS))}")
    for method in ("verify", "forward_batch_generation", "draft"):
        owner = next((base for base in bases if method in vars(base)), None)
        if owner is not None and owner.__name__ not in (*family, "BaseSpecWorker", "TpModelWorker"):
            raise NotSupported(f"{name} has a {method} of its own ({owner.__module__}.{owner.__qualname__})")
    if not hasattr(worker, "req_to_token_pool"):
        raise NotSupported(f"{name} has no req_to_token_pool")
    return family


def _check_deployment(arguments: Any) -> None:
    reasons = {
        "enable_dp_attention": "attention data parallelism",
        "enable_pdmux": "prefill and decode multiplexed on one device",
        "enable_two_batch_overlap": "two-batch overlap",
        "speculative_adaptive": "the tree's own adaptive steps are on",
        "enable_hierarchical_cache": "a hierarchical cache",
        "enable_lora": "LoRA adapters",
        "speculative_use_rejection_sampling": "rejection sampling, which needs the draft's own probabilities",
    }
    for name, reason in reasons.items():
        if getattr(arguments, name, False):
            raise NotSupported(f"the server runs with {reason} ({name})")
    if (getattr(arguments, "pp_size", 1) or 1) > 1:
        raise NotSupported("the server runs with pipeline parallelism (pp_size)")
    if getattr(arguments, "disaggregation_mode", "null") not in (None, "null"):
        raise NotSupported("prefill and decode are disaggregated (disaggregation_mode)")


def _target_worker(scheduler: Any, worker: Any) -> tuple[str, Any]:
    target = scheduler.tp_worker
    for name, value in vars(worker).items():
        if value is target:
            return name, target
    raise NotSupported(f"{type(worker).__name__} holds the target worker in no attribute of its own")


def _check_result() -> None:
    """An overlap worker's result has to say how many tokens a request got, and how far apart they lie."""
    result = {field.name for field in dataclasses.fields(of_tree("managers.utils", "GenerationBatchResult"))}
    for name in ("accept_lens", "next_draft_input", "speculative_num_draft_tokens"):
        if name not in result:
            raise NotSupported(f"a step's result has no {name} in this tree")
    handed_on = {field.name for field in dataclasses.fields(of_tree("speculative.eagle_info", "EagleDraftInput"))}
    if "bonus_tokens" not in handed_on:
        raise NotSupported("the draft input has no bonus_tokens in this tree")


def _has_state(runner: Any) -> bool:
    names = ("hybrid_gdn_config", "mamba2_config", "mambaish_config", "kimi_linear_config")
    return any(getattr(runner, name, None) is not None for name in names)


def _rows(arguments: Any, runner: Any, with_hidden: bool) -> int:
    """Rows of the buffer: what fits into its bytes, what one prefill may have, and one step of the largest batch."""
    chunk = getattr(arguments, "chunked_prefill_size", None) or 0
    rows = chunk if chunk > 0 else BUFFER_ROWS
    if with_hidden:
        # Three layers' worth is the widest that a draft of this family reads.
        width = 3 * runner.model_config.hidden_size
        size = torch().tensor([], dtype=runner.dtype).element_size()
        rows = min(rows, BUFFER_BYTES // (width * size))
    return max(rows, int(runner.req_to_token_pool.size))
