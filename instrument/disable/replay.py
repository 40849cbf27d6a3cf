"""Catching up: the draft sees the tokens that it missed, through the worker's own prefill step.

The worker runs its prefill over the missed positions, and instead of the target a stand-in answers with what the
target said when it decoded them. So the draft's cache is filled by the very code that fills it after a prompt, with
whatever contexts and layers this worker has.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

from pathtrace.instrument.disable.missed import Gap
from pathtrace.instrument.disable.running import of_tree, torch


def last_token(drafted: Any) -> str:
    """The field of a draft input that holds the token which each request feeds next."""
    return "bonus_tokens" if hasattr(drafted, "bonus_tokens") else "verified_id"


@contextlib.contextmanager
def standing_in(worker: Any, attribute: str, stand_in: Any) -> Iterator[None]:
    """Within it, ``stand_in`` is the worker's target worker."""
    target = getattr(worker, attribute)
    setattr(worker, attribute, stand_in)
    try:
        yield
    finally:
        setattr(worker, attribute, target)


class Replayed:
    """Stands for the target worker: answers one forward with what is already known, and is the target otherwise."""

    def __init__(self, target: Any, result: Any) -> None:
        self._target = target
        self._result = result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def forward_batch_generation(self, *args: Any, **kwargs: Any) -> Any:
        """What the target said."""
        return self._result


def catch_up(
    worker: Any,
    own: Callable[..., Any],
    attribute: str,
    batch: Any,
    gap: Gap,
    tokens: Any,
    hidden: Any,
) -> Any:
    """Shows the draft what it missed; returns the draft input that comes of it, for the members of the gap.

    Args:
        worker: the speculative worker.
        own: its own step.
        attribute: the attribute of ``worker`` that holds the target worker.
        batch: a decode batch, before its step; its lengths do not count the step's tokens.
        gap: who missed what.
        tokens: the missed tokens, as ``Missed.taken`` gives them.
        hidden: the hidden states, likewise.
    """
    device = batch.seq_lens.device
    chosen = torch().tensor(gap.members, dtype=torch().int64, device=device)
    drafted = batch.spec_info
    bonus = getattr(drafted, last_token(drafted))[chosen]
    part = _prefill_of(batch, gap, chosen, tokens, worker)
    said = of_tree("layers.logits_processor", "LogitsProcessorOutput")(next_token_logits=None, hidden_states=hidden)
    result = of_tree("managers.utils", "GenerationBatchResult")(logits_output=said, next_token_ids=bonus)
    with standing_in(worker, attribute, Replayed(getattr(worker, attribute), result)):
        # Overlap workers hand the draft input on in the result, synchronous ones in the batch.
        handed_on = own(part).next_draft_input
    return part.spec_info if handed_on is None else handed_on


def _prefill_of(batch: Any, gap: Gap, chosen: Any, tokens: Any, worker: Any) -> Any:
    """A prefill batch over the missed positions of some requests, as the tree's own batches are made."""
    device = batch.seq_lens.device
    rows = batch.req_pool_indices[chosen]
    lengths = batch.seq_lens[chosen]
    # Where the scheduler keeps no lengths on the host this waits for the device, once for each time of catching up.
    on_host = lengths.cpu() if batch.seq_lens_cpu is None else batch.seq_lens_cpu[list(gap.members)]
    seen = [int(length) - missed for length, missed in zip(on_host.tolist(), gap.lengths, strict=True)]
    spans = [torch().arange(start, start + count) for start, count in zip(seen, gap.lengths, strict=True)]
    positions = torch().cat(spans).to(device)
    owners = torch().repeat_interleave(rows, torch().tensor(gap.lengths, device=device))
    requests = [batch.reqs[index] for index in gap.members]
    count = len(requests)

    part = copy.copy(batch)
    part.forward_mode = of_tree("model_executor.forward_batch_info", "ForwardMode").EXTEND
    part.reqs = requests
    part.input_ids = tokens
    part.req_pool_indices = rows
    part.seq_lens = lengths
    part.seq_lens_cpu = on_host
    part.seq_lens_sum = int(on_host.sum())
    part.out_cache_loc = worker.req_to_token_pool.req_to_token[owners, positions].to(torch().int64)
    part.spec_info = None
    part.return_logprob = False
    part.extend_num_tokens = len(positions)
    part.extend_logprob_start_lens = list(gap.lengths)
    part.extend_input_logprob_token_ids = None
    known = vars(batch)
    for names, values in (
        (("extend_seq_lens", "extend_lens"), list(gap.lengths)),
        (("extend_prefix_lens", "prefix_lens"), seen),
        (("orig_seq_lens",), None if known.get("orig_seq_lens") is None else batch.orig_seq_lens[chosen]),
        (("lora_ids",), [getattr(request, "lora_id", None) for request in requests]),
        (("top_logprobs_nums",), [0] * count),
        (("token_ids_logprobs",), [None] * count),
        (("multimodal_inputs",), None if known.get("multimodal_inputs") is None else [None] * count),
        (("req_pool_indices_cpu",), None),
        (("chunked_req", "chunked_req_next_prompt_token", "input_embeds", "prefill_input_ids_cpu"), None),
    ):
        for name in names:
            if name in known:
                setattr(part, name, values)
    return part
