"""The step without speculation for workers of the overlap kind: the target's ordinary decode, its hand-off rebuilt."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from typing import Any

from pathtrace.instrument.disable.draft_state import STEPS_KEPT, DraftState, zeros
from pathtrace.instrument.disable.running import of_tree, torch
from pathtrace.instrument.disable.target import OrdinaryTarget


class DecodeV2:
    """Decodes with the target alone, over the batches that an overlap worker gets."""

    name = "v2"

    def __init__(self, worker: Any, attribute: str, target: OrdinaryTarget, state: DraftState) -> None:
        """Args:
        worker: the speculative worker.
        attribute: its attribute that holds the target worker.
        target: the target's runner as it decodes alone.
        state: who keeps what the draft misses.
        """
        self.target = target
        self._worker = worker
        self._attribute = attribute
        self._state = state
        self._kept: deque[Any] = deque(maxlen=STEPS_KEPT)

    def step(self, batch: Any, on_publish: Any = None, grammar_barrier: Any = None, **_others: Any) -> Any:
        """One decode step; arguments and result are those of the worker's own."""
        drafted = batch.spec_info
        plain = self._decode_batch(batch)
        if grammar_barrier is not None and batch.has_grammar:
            grammar_barrier()
        with self.target.active():
            result = self._forward(plain)
        logits, tokens, lengths = result.logits_output, result.next_token_ids, batch.seq_lens + 1
        hidden = self.target.hidden_of(logits)
        result.next_draft_input = _draft_input(drafted, tokens, lengths, self._worker.device)
        result.accept_lens = torch().ones_like(batch.seq_lens, dtype=torch().int32)
        result.speculative_num_draft_tokens = 1
        if hasattr(result, "new_seq_lens"):
            result.new_seq_lens = lengths
        if batch.return_logprob and logits.next_token_logprobs is not None:
            # One column for each token that a request may get in a step.
            logits.next_token_logprobs = logits.next_token_logprobs.unsqueeze(1)
        self._state.note(batch.reqs, plain.input_ids, hidden)
        if not any(request.return_hidden_states for request in batch.reqs):
            # Else older trees copy them to the host at every step, where nobody reads them.
            logits.hidden_states = None
        self._kept.append((plain, result, drafted))
        if on_publish is not None:
            on_publish(lengths)
        return result

    def _forward(self, plain: Any) -> Any:
        worker = getattr(self._worker, self._attribute)
        if hasattr(plain, "capture_hidden_mode"):
            plain.capture_hidden_mode = self.target.capture_mode
            return worker.forward_batch_generation(plain)
        # Newer trees take it as an argument.
        return worker.forward_batch_generation(plain, capture_hidden_mode=self.target.capture_mode)

    def _decode_batch(self, batch: Any) -> Any:
        """The batch as an ordinary decode sees it: one token a request, its length counted already."""
        plain = copy.copy(batch)
        plain.forward_mode = of_tree("model_executor.forward_batch_info", "ForwardMode").DECODE
        plain.spec_algorithm = self.target.nothing
        plain.spec_info = None
        plain.input_ids = batch.spec_info.bonus_tokens.to(torch().int64)
        pool = self._worker.req_to_token_pool.req_to_token
        plain.out_cache_loc = pool[batch.req_pool_indices, batch.seq_lens].to(torch().int64)
        plain.seq_lens = batch.seq_lens + 1
        if batch.seq_lens_cpu is not None:
            plain.seq_lens_cpu = batch.seq_lens_cpu + 1
        if batch.seq_lens_sum is not None:
            plain.seq_lens_sum = batch.seq_lens_sum + len(batch.seq_lens)
        return plain


def _draft_input(drafted: Any, tokens: Any, lengths: Any, device: Any) -> Any:
    """The hand-off of a step that drafted nothing."""
    fields = {field.name for field in dataclasses.fields(drafted)}
    made = zeros(drafted, type(drafted)(bonus_tokens=tokens.to(drafted.bonus_tokens.dtype)))
    for name in ("num_tokens_per_req", "num_tokens_for_logprob_per_req", "capture_hidden_mode"):
        if name in fields:
            setattr(made, name, getattr(drafted, name))
    if "new_seq_lens" in fields:
        made.new_seq_lens = lengths
    if "verify_done" in fields:
        made.verify_done = torch().get_device_module(device).Event()
        made.verify_done.record()
    return made
