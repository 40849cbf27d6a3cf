"""The draft's state over an off period: what it misses, its catching up, and what must not be cached meanwhile."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pathtrace.instrument.disable.missed import Missed
from pathtrace.instrument.disable.replay import catch_up
from pathtrace.instrument.disable.running import torch

# What a draft input carries for each request, besides its last token.
PER_REQUEST = ("topk_p", "topk_index", "hidden_states", "draft_probs")
# How many steps' tensors are kept from being given back while the device may still read them. The overlap loop is
# at most two steps ahead of it.
STEPS_KEPT = 4


class DraftState:
    """Notes what the draft misses and shows it to it later.

    A request that ends in between has holes in the draft's cache where its last tokens are: it must not hand them to
    the next request with the same prefix, so its tokens since then are not kept in the prefix cache.

    Attributes:
        caught_up: positions that the draft was shown afterwards.
        not_cached: requests whose tokens were kept out of the prefix cache.
    """

    def __init__(self, worker: Any, attribute: str, missed: Missed | None, tree_cache: Any) -> None:
        """Args:
        worker: the speculative worker.
        attribute: its attribute that holds the target worker.
        missed: the ledger; None where the draft's state is let go cold.
        tree_cache: the scheduler's prefix cache.
        """
        self.caught_up = self.not_cached = 0
        self._worker = worker
        self._attribute = attribute
        self._missed = missed
        self._held_back: dict[str, tuple[Any, bool]] = {}
        self._kept: deque[Any] = deque(maxlen=STEPS_KEPT)
        if missed is not None:
            self._guard(tree_cache)

    @property
    def capacity(self) -> int | None:
        """Positions that the ledger has room for; None without one."""
        return None if self._missed is None else self._missed.capacity

    @property
    def dropped(self) -> int:
        """Positions that were given up because their request had ended."""
        return 0 if self._missed is None else self._missed.dropped

    def has_room(self, size: int) -> bool:
        """Whether one more step over ``size`` requests can be noted."""
        return self._missed is None or self._missed.has_room(size)

    def note(self, requests: Iterable[Any], tokens: Any, hidden: Any) -> None:
        """Notes one step: the token that each request fed to the target, and what that made of it."""
        if self._missed is None:
            return
        requests = list(requests)
        self._missed.add([request.rid for request in requests], tokens, hidden)
        for request in requests:
            if request.rid not in self._held_back:
                self._held_back[request.rid] = (request, getattr(request, "skip_radix_cache_insert", False))
                request.skip_radix_cache_insert = True

    def prefilled(self, batch: Any) -> None:
        """Told of a prefill step: the draft is about to see all tokens of these requests."""
        if self._missed is not None:
            rids = [request.rid for request in batch.reqs]
            self._missed.forget(rids)
            self._release(rids)

    def show(self, batch: Any, own: Callable[..., Any]) -> None:
        """Shows the draft what the requests of a decode batch have missed, and puts the outcome into the batch.

        Args:
            own: the worker's own step.
        """
        # Asked before every step that speculates, and nearly always in vain.
        if self._missed is None or self._missed.is_empty:
            return
        rids = [request.rid for request in batch.reqs]
        gap = self._missed.gap(rids)
        if gap is not None:
            tokens, hidden = self._missed.taken(gap)
            fresh = catch_up(self._worker, own, self._attribute, batch, gap, tokens, hidden)
            batch.spec_info = merged(batch.spec_info, fresh, gap.members)
            self.caught_up += len(gap.rows)
            self._kept.append((tokens, hidden, fresh))
            self._missed.forget([rids[index] for index in gap.members])
        self.give_up()

    def give_up(self) -> None:
        """Lets go of what is still noted: the draft's state is cold for these requests, if there still are any."""
        if self._missed is not None:
            self._missed.clear()
        self._release(list(self._held_back))

    def _release(self, rids: list[str]) -> None:
        for rid in rids:
            request, was = self._held_back.pop(rid, (None, False))
            if request is not None:
                request.skip_radix_cache_insert = was

    def _guard(self, tree_cache: Any) -> None:
        """Older trees have no such mark on a request: there the cache itself is told."""
        original = getattr(tree_cache, "cache_finished_req", None)
        if original is None or "is_insert" not in inspect.signature(original).parameters:
            return

        def cache_finished_req(req: Any, *args: Any, **kwargs: Any) -> Any:
            if req.rid in self._held_back:
                self.not_cached += 1
                kwargs["is_insert"] = False
                args = args[1:]
            return original(req, *args, **kwargs)

        tree_cache.cache_finished_req = cache_finished_req


def zeros(drafted: Any, made: Any, members: Any = None) -> Any:
    """Zeros of the right shapes in ``made`` for what the draft would have said.

    They are never drafted from: before the next draft, :meth:`DraftState.show` replaces them.

    Args:
        drafted: the draft input of the step before.
        made: the new one.
        members: index of the requests that go on; None where all do.
    """
    for name in PER_REQUEST:
        value = getattr(drafted, name, None)
        if value is not None:
            setattr(made, name, torch().zeros_like(value if members is None else value[members]))
    return made


def merged(drafted: Any, fresh: Any, members: tuple[int, ...]) -> Any:
    """``drafted`` with what the draft has just said about some of its requests."""
    result = copy.copy(drafted)
    for name in PER_REQUEST:
        new, old = getattr(fresh, name, None), getattr(drafted, name, None)
        if new is None or old is None:
            continue
        values = old.clone()
        values[torch().tensor(members, dtype=torch().int64, device=values.device)] = new.to(old.dtype)
        setattr(result, name, values)
    return result
