"""The policy that turns speculation off: the switch, the step in its place, and what happens when that fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pathtrace.instrument.disable.draft_state import DraftState
from pathtrace.instrument.disable.hysteresis import Switch
from pathtrace.instrument.disable.v1 import CannotUndo, DecodeV1
from pathtrace.instrument.disable.v2 import DecodeV2
from pathtrace.instrument.output import say

FAILURES_IN_A_ROW = 5
# Switches are said at most once in so many seconds.
QUIET_S = 1.0


class Disable:
    """Runs decode steps over large batches without speculation.

    Attributes:
        switch: decides.
        off_steps: decode steps that ran without speculation.
        failures: steps of it that failed and ran with speculation instead, by kind.
        is_given_up: whether it failed so often in a row that it does nothing any more.
    """

    def __init__(
        self,
        switch: Switch,
        decode: DecodeV1 | DecodeV2,
        state: DraftState,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.switch = switch
        self.decode = decode
        self.state = state
        self.off_steps = 0
        self.failures: dict[str, int] = {}
        self.is_given_up = False
        self._in_a_row = 0
        self._clock = clock
        self._said = float("-inf")
        self._unsaid = 0

    @property
    def mechanism(self) -> str:
        """How speculation is turned off."""
        return self.decode.name

    @property
    def threshold(self) -> int | None:
        """The largest batch that speculates; None once it was given up."""
        return None if self.is_given_up else self.switch.threshold

    def choose(self, batch: Any, mode: str, size: int | None, own: Callable[..., Any]) -> Callable[..., Any] | None:
        """The step to run in place of ``own``, None for that one."""
        if mode == "prefill":
            self.state.prefilled(batch)
            return None
        if mode != "decode" or not size:
            return None
        was_off = self.switch.is_off
        is_off = self.switch.decide(size) and not self.is_given_up
        if is_off != was_off:
            self._say_switch(is_off, size)
        if not is_off:
            self._return_to(batch, own)
            return None
        if not self.state.has_room(size):
            self._return_to(batch, own)

        def step(*args: Any, **kwargs: Any) -> Any:
            return self._off(batch, own, args, kwargs)

        return step

    def _off(self, batch: Any, own: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            result = self.decode.step(*args, **kwargs)
        except CannotUndo as problem:
            raise problem.__cause__ or problem from None
        except Exception as problem:
            self._failed("a step without speculation", problem)
            self._return_to(batch, own)
            return own(*args, **kwargs)
        self._in_a_row = 0
        self.off_steps += 1
        return result

    def _return_to(self, batch: Any, own: Callable[..., Any]) -> None:
        """Before the draft is used: it has to know what was decoded without it."""
        try:
            self.state.show(batch, own)
        except Exception as problem:
            self._failed("letting the draft catch up", problem)
            self.state.give_up()

    def _failed(self, doing: str, problem: Exception) -> None:
        kind = f"{doing}: {type(problem).__name__}"
        self.failures[kind] = self.failures.get(kind, 0) + 1
        self._in_a_row += 1
        if self.failures[kind] == 1:
            say(f"pathtrace: {doing} failed and the worker's own step ran; counted from now on: {problem!r}")
        if self._in_a_row >= FAILURES_IN_A_ROW and not self.is_given_up:
            self.is_given_up = True
            say(f"pathtrace: dynamic speculation disable given up: {self._in_a_row} failures in a row: {problem!r}")

    def _say_switch(self, is_off: bool, size: int) -> None:
        now = self._clock()
        if now - self._said < QUIET_S:
            self._unsaid += 1
            return
        more = f" ({self._unsaid} switches before it were not said)" if self._unsaid else ""
        self._said, self._unsaid = now, 0
        say(
            f"pathtrace: speculation {'off' if is_off else 'on'} at batch size {size}, threshold {self.threshold}: "
            f"off {self.switch.turned_off} times, on again {self.switch.turned_on} times{more}"
        )
