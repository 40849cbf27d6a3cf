"""The step without speculation for workers of the overlap kind: the target's ordinary decode, its hand-off rebuilt."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Callable
from typing import Any

from pathtrace.instrument.disable.missed import Missed
from pathtrace.instrument.disable.replay import catch_up
from pathtrace.instrument.disable.running import of_tree, torch
from pathtrace.instrument.disable.target import OrdinaryTarget

# How many steps' tensors are kept from being given back while the device may still read them. The overlap loop is
# at most two steps ahead of it.
STEPS_KEPT = 4


class OrdinaryDecode:
    """Decodes with the target alone, and lets the draft catch up.

    Attributes:
        missed: what the draft has not seen yet; None where its state is let go cold.
        caught_up: positions that the draft was shown afterwards.
    """

    def __init__(
        self, worker: Any, attribute: str, target: OrdinaryTarget, missed: Missed | None, with_hidden: bool
    ) -> None:
        """Args:
        worker: the speculative worker.
        attribute: its attribute that holds the target worker.
        target: the target's runner as it decodes alone.
        missed: where to note what the draft misses.
        with_hidden: whether the draft reads the target's hidden states.
        """
        self.worker = worker
        self.attribute = attribute
        self.target = target
        self.missed = missed
        self.with_hidden = with_hidden
        self.caught_up = 0
        self._kept: deque[Any] = deque(maxlen=STEPS_KEPT)
        self._held_back: dict[str, tuple[Any, bool]] = {}

    def step(self, batch: Any, on_publish: Any = None, grammar_barrier: Any = None, **_others: Any) -> Any:
        """One decode step without speculation, over a batch that the scheduler hands the worker."""
        drafted = batch.spec_info
        plain = self._decode_batch(batch)
        if grammar_barrier is not None and batch.has_grammar:
            grammar_barrier()
        target_worker = getattr(self.worker, self.attribute)
        with self.target.active():
            result = target_worker.forward_batch_generation(plain)
        tokens = result.next_token_ids
        hidden = result.logits_output.hidden_states
        if self.with_hidden and hidden is None:
            raise RuntimeError("the target handed out no hidden states")
        lengths = batch.seq_lens + 1
        result.next_draft_input = _draft_input(drafted, tokens, lengths, self.worker.device)
        result.accept_lens = torch().ones_like(batch.seq_lens, dtype=torch().int32)
        result.speculative_num_draft_tokens = 1
        if hasattr(result, "new_seq_lens"):
            result.new_seq_lens = lengths
        logits = result.logits_output
        if batch.return_logprob and logits.next_token_logprobs is not None:
            # One column for each token that a request may get in a step.
            logits.next_token_logprobs = logits.next_token_logprobs.unsqueeze(1)
        if self.missed is not None:
            self._note(batch, plain.input_ids, hidden if self.with_hidden else None)
        if not any(request.return_hidden_states for request in batch.reqs):
            # Else older trees copy them to the host at every step, where nobody reads them.
            logits.hidden_states = None
        self._kept.append((plain, result, drafted))
        if on_publish is not None:
            on_publish(lengths)
        return result

    def _decode_batch(self, batch: Any) -> Any:
        """The batch as an ordinary decode sees it: one token a request, its length counted already."""
        modes = of_tree("model_executor.forward_batch_info", "ForwardMode")
        capture = of_tree("model_executor.forward_batch_info", "CaptureHiddenMode")
        plain = copy.copy(batch)
        plain.forward_mode = modes.DECODE
        plain.spec_algorithm = self.target.nothing
        plain.spec_info = None
        plain.input_ids = batch.spec_info.bonus_tokens.to(torch().int64)
        pool = self.worker.req_to_token_pool.req_to_token
        plain.out_cache_loc = pool[batch.req_pool_indices, batch.seq_lens].to(torch().int64)
        plain.seq_lens = batch.seq_lens + 1
        if batch.seq_lens_cpu is not None:
            plain.seq_lens_cpu = batch.seq_lens_cpu + 1
        if batch.seq_lens_sum is not None:
            plain.seq_lens_sum = batch.seq_lens_sum + len(batch.seq_lens)
        plain.capture_hidden_mode = capture.FULL if self.with_hidden else capture.NULL
        return plain

    def _note(self, batch: Any, tokens: Any, hidden: Any) -> None:
        assert self.missed is not None
        self.missed.add([request.rid for request in batch.reqs], tokens, hidden)
        for request in batch.reqs:
            # Its last positions are holes in the draft's cache: who finishes now must not hand them to the next
            # request with the same prefix.
            if request.rid not in self._held_back:
                self._held_back[request.rid] = (request, getattr(request, "skip_radix_cache_insert", False))
                request.skip_radix_cache_insert = True

    def prefilled(self, batch: Any) -> None:
        """Told of a prefill step: the draft has just seen all tokens of these requests."""
        if self.missed is not None:
            rids = [request.rid for request in batch.reqs]
            self.missed.forget(rids)
            self._release(rids)

    def show_draft(self, batch: Any, own: Callable[..., Any]) -> None:
        """Shows the draft what the requests of a decode batch have missed, and puts the outcome into the batch."""
        if self.missed is None:
            return
        rids = [request.rid for request in batch.reqs]
        gap = self.missed.gap(rids)
        if gap is not None:
            tokens, hidden = self.missed.taken(gap)
            fresh = catch_up(self.worker, own, self.attribute, batch, gap, tokens, hidden)
            batch.spec_info = _merged(batch.spec_info, fresh, gap.members)
            self.caught_up += len(gap.rows)
            self._kept.append((tokens, hidden, fresh))
            self.missed.forget([rids[index] for index in gap.members])
        self.missed.clear()
        self._release(list(self._held_back))

    def give_up_missed(self) -> None:
        """Lets go of what the draft missed: its state is cold for these requests."""
        if self.missed is not None:
            self.missed.clear()
        self._release(list(self._held_back))

    def _release(self, rids: list[str]) -> None:
        for rid in rids:
            request, was = self._held_back.pop(rid, (None, False))
            if request is not None:
                request.skip_radix_cache_insert = was


# What a draft input carries for each request, besides its last token.
PER_REQUEST = ("topk_p", "topk_index", "hidden_states", "draft_probs")


def _draft_input(drafted: Any, tokens: Any, lengths: Any, device: Any) -> Any:
    """The hand-off of a step that drafted nothing: its token, and zeros of the right shapes for what the draft adds.

    The zeros are never drafted from: before the next draft, ``show_draft`` replaces them.
    """
    fields = {field.name for field in dataclasses.fields(drafted)}
    made = type(drafted)(bonus_tokens=tokens.to(drafted.bonus_tokens.dtype))
    for name in PER_REQUEST:
        value = getattr(drafted, name, None)
        if value is not None:
            setattr(made, name, torch().zeros_like(value))
    for name in ("num_tokens_per_req", "num_tokens_for_logprob_per_req", "capture_hidden_mode"):
        if name in fields:
            setattr(made, name, getattr(drafted, name))
    if "new_seq_lens" in fields:
        made.new_seq_lens = lengths
    if "verify_done" in fields:
        made.verify_done = torch().get_device_module(device).Event()
        made.verify_done.record()
    return made


def _merged(drafted: Any, fresh: Any, members: tuple[int, ...]) -> Any:
    """``drafted`` with what the draft has just said about some of its requests."""
    merged = copy.copy(drafted)
    for name in PER_REQUEST:
        new = getattr(fresh, name, None)
        old = getattr(drafted, name, None)
        if new is None or old is None:
            continue
        if len(new) == len(old):
            setattr(merged, name, new.to(old.dtype))
            continue
        values = old.clone()
        values[values.new_tensor(members, dtype=torch().int64)] = new.to(old.dtype)
        setattr(merged, name, values)
    return merged
