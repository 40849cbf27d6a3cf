"""Variables that a launch may get from something that is not read, where the answer hangs on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pathtrace.tracer.chain import Slice, deciding_variables
from pathtrace.tracer.check import CheckRequest
from pathtrace.tracer.evaluation import Evaluated, Evaluator, Inputs
from pathtrace.tracer.stages import resolved_view_of

# A variable may bring up others; how often that is followed.
ROUNDS = 4


def evaluate_unseen(evaluator: Evaluator, inputs: Inputs, request: CheckRequest) -> Evaluated:
    """Evaluate a launch; variables on its chain that may be set elsewhere are taken to be anything.

    The chain of a launch names the variables that decide. Those that nothing sets, as far as can be read, and
    that something else may set are opened, and the launch is evaluated again.
    """
    done = evaluator.evaluate(inputs)
    perhaps: tuple[str, ...] = ()
    for _ in range(ROUNDS):
        further = tuple(name for name in _may_be_set(request, done) if name not in perhaps)
        if not further:
            break
        perhaps += further
        done = evaluator.evaluate(replace(inputs, perhaps=perhaps))
    return done


def _may_be_set(request: CheckRequest, done: Evaluated) -> Iterator[str]:
    unseen, passed_on = request.launch.unseen, request.environment.passed_on
    if unseen is None and not passed_on:
        return
    stated = request.environment.sources
    for name in _on_the_chain(done):
        is_open = name not in stated or (unseen is not None and unseen.replaces and stated[name] == "launch")
        if name in passed_on or (unseen is not None and is_open):
            yield name


def _on_the_chain(done: Evaluated) -> tuple[str, ...]:
    m = done.machine
    m.pc = True
    if done.run.record is not None:
        m.external_state["view"] = resolved_view_of(m, done.run.record)
    return deciding_variables(Slice(done).decisions())
