"""At start: from what is asked for to a policy that turns speculation off, said in one line."""

from __future__ import annotations

import traceback
from typing import Any

from pathtrace.instrument.disable.hysteresis import Hysteresis, Switch
from pathtrace.instrument.disable.mechanism import NotSupported, ordinary_decode
from pathtrace.instrument.disable.policy import Disable
from pathtrace.instrument.output import say
from pathtrace.instrument.policy import Refused
from pathtrace.instrument.settings import Settings


def disable_for(settings: Settings, scheduler: Any, worker: Any) -> Disable:
    """The policy for a worker.

    Raises:
        Refused: speculation of this worker cannot be turned off.
    """
    try:
        decode, state = ordinary_decode(scheduler, worker, settings.is_warm, settings.has_off_graphs)
    except NotSupported as problem:
        raise Refused(str(problem)) from problem
    except Exception as problem:
        # Whatever goes wrong in the server's own code while graphs are captured or memory is taken.
        raise Refused(f"preparing it failed: {type(problem).__name__}: {problem}{_place(problem)}") from problem
    policy = Disable(Switch(settings.threshold, Hysteresis(*settings.hysteresis)), decode, state)
    say(f"pathtrace: {_line(policy, settings)}")
    return policy


def _place(problem: BaseException) -> str:
    """Where it was raised."""
    frames = traceback.extract_tb(problem.__traceback__)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _line(policy: Disable, settings: Settings) -> str:
    target, capacity = policy.decode.target, policy.state.capacity
    share, steps = settings.hysteresis
    graphs = "no decode graphs of its own"
    if target.own_graphs is not None:
        memory = "" if target.memory_mib is None else f" and {target.memory_mib:.0f} MiB"
        graphs = f"decode graphs of its own ({target.seconds:.1f} s{memory})"
    state = "draft state cold" if capacity is None else f"draft catches up from {capacity} positions"
    return (
        f"Dynamic speculation disable enabled at threshold={settings.threshold} (mechanism {policy.mechanism}; back on "
        f"below {share:g} of it for {steps} steps; {graphs}; {state})"
    )
