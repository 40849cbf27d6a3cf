"""The step without speculation for workers of the synchronous kind.

Such a worker's ``verify`` does all the book-keeping of a step: it takes slots, samples, appends tokens, finds out who
has finished, advances grammars and writes log probabilities. It is run here over a tree that is nothing but its root,
the token that a request is about to feed, and the forward that it asks for is the target's ordinary decode.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from pathtrace.instrument.disable.draft_state import DraftState, zeros
from pathtrace.instrument.disable.replay import last_token, standing_in
from pathtrace.instrument.disable.running import of_tree, torch
from pathtrace.instrument.disable.target import OrdinaryTarget

# Fields that `verify` changes before its forward, and that are put back where that fails.
TOUCHED = ("spec_info", "input_ids", "out_cache_loc", "forward_mode", "return_hidden_states")


class CannotUndo(Exception):
    """A step failed after it had changed the requests: what it raised is the cause, and no other step may run."""


class Decoding:
    """Stands for the target worker while ``verify`` runs: a verification becomes an ordinary decode."""

    def __init__(self, target_worker: Any, target: OrdinaryTarget) -> None:
        self._worker = target_worker
        self._target = target
        self.has_run = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)

    def forward_batch_generation(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """The forward over the roots: one token a request."""
        batch.forward_mode = of_tree("model_executor.forward_batch_info", "ForwardMode").DECODE
        batch.spec_algorithm = self._target.nothing
        batch.spec_info = None
        batch.capture_hidden_mode = self._target.capture_mode
        batch.input_ids = batch.input_ids.to(torch().int64)
        batch.seq_lens = batch.seq_lens + 1
        batch.seq_lens_cpu = batch.seq_lens_cpu + 1
        batch.seq_lens_sum = int(batch.seq_lens_cpu.sum())
        with self._target.active():
            result = self._worker.forward_batch_generation(batch, *args, **kwargs)
        self.has_run = True
        return result


class DecodeV1:
    """Decodes with the target alone, over the batches that a synchronous worker gets."""

    name = "v1"

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

    def step(self, batch: Any) -> Any:
        """One decode step; argument and result are those of the worker's own.

        Raises:
            CannotUndo: it failed after requests had been changed.
        """
        drafted, requests = batch.spec_info, list(batch.reqs)
        fed = getattr(drafted, last_token(drafted))
        before = {name: getattr(batch, name) for name in TOUCHED}
        self._as_ever(batch)
        logits, verified, used_graph = self._verify(batch, self._roots(batch, fed), before)
        try:
            return self._handed_on(batch, drafted, requests, fed, logits, verified, used_graph)
        except Exception as problem:
            raise CannotUndo from problem

    def _as_ever(self, batch: Any) -> None:
        """What the worker does with a batch before it drafts."""
        evict = getattr(batch, "maybe_evict_swa", None)
        if evict is not None:
            evict()
        for request in batch.reqs:
            if hasattr(request, "decode_batch_idx"):
                request.decode_batch_idx += 1
        if batch.sampling_info.penalizer_orchestrator.is_required:
            batch.cumulate_penalty_output_tokens()

    def _verify(self, batch: Any, roots: Any, before: dict[str, Any]) -> tuple[Any, Any, bool]:
        worker, attribute = self._worker, self._attribute
        decoding = Decoding(getattr(worker, attribute), self.target)
        batch.spec_info = roots
        arguments = (batch, roots) if "spec_info" in inspect.signature(worker.verify).parameters else (batch,)
        try:
            with standing_in(worker, attribute, decoding):
                logits, verified, *_batch, used_graph = worker.verify(*arguments)
        except Exception as problem:
            if decoding.has_run:
                raise CannotUndo from problem
            if batch.out_cache_loc is not before["out_cache_loc"]:
                worker.token_to_kv_pool_allocator.free(batch.out_cache_loc)
            for name, value in before.items():
                setattr(batch, name, value)
            raise
        return logits, verified, used_graph

    def _roots(self, batch: Any, fed: Any) -> Any:
        """Trees of one node each."""
        kind = of_tree("speculative.eagle_info", "EagleVerifyInput")
        names = {field.name for field in dataclasses.fields(kind)}
        # Releases spell it both ways.
        spelled = "retrieve" if "retrieve_index" in names else "retrive"
        size, device = len(fed), fed.device
        none = torch().full((size, 1), -1, dtype=torch().int64, device=device)
        return kind(
            **{
                "draft_token": fed,
                "custom_mask": torch().ones(0, dtype=torch().bool, device=device),
                "positions": batch.seq_lens.to(torch().int64),
                f"{spelled}_index": torch().arange(size, dtype=torch().int64, device=device).unsqueeze(1),
                f"{spelled}_next_token": none,
                f"{spelled}_next_sibling": none.clone(),
                f"{spelled}_cum_len": None,
                "spec_steps": 0,
                "topk": self._worker.topk,
                "draft_token_num": 1,
                "capture_hidden_mode": self.target.capture_mode,
                "seq_lens_sum": batch.seq_lens_sum,
                "seq_lens_cpu": batch.seq_lens_cpu,
            }
        )

    def _handed_on(
        self, batch: Any, drafted: Any, requests: list[Any], fed: Any, logits: Any, verified: Any, used_graph: bool
    ) -> Any:
        """The result, and the draft input for the requests that go on."""
        tokens = verified.accept_tokens if hasattr(verified, "accept_tokens") else verified.verified_id
        going_on = [index for index, request in enumerate(requests) if not request.finished()]
        members = torch().tensor(going_on, dtype=torch().int64, device=fed.device)
        name = last_token(drafted)
        made = type(drafted)(**{name: tokens[members].to(fed.dtype)})
        made.capture_hidden_mode = drafted.capture_hidden_mode
        for field in ("num_tokens_per_req", "num_tokens_for_logprob_per_req"):
            setattr(made, field, getattr(drafted, field))
        batch.spec_info = zeros(drafted, made, members)
        self._state.note(requests, fed.to(torch().int64), self.target.hidden_of(logits))
        result = of_tree("managers.utils", "GenerationBatchResult")(
            logits_output=logits, next_token_ids=tokens, can_run_cuda_graph=used_graph
        )
        for per_request in ("num_correct_drafts_per_req_cpu", "accept_length_per_req_cpu"):
            if hasattr(verified, per_request):
                setattr(result, per_request, getattr(verified, per_request))
        return result
