"""The target as it runs without speculation: its ordinary decode, with decode kernels and decode graphs."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pathtrace.instrument.disable.running import of_tree, torch

# The name of the runner that replays decode graphs, newest first.
RUNNERS = ("decode_cuda_graph_runner", "graph_runner")


@dataclass
class OrdinaryTarget:
    """The target's model runner, and what stands in it while it decodes without speculation.

    Attributes:
        runner: the model runner.
        nothing: the tree's own value for "no speculative algorithm".
        capture_mode: which hidden states it hands out: all, or none where nobody reads them.
        with_hidden: whether the draft reads them.
        graphs: name of the attribute that holds the graph runner.
        own_graphs: decode graphs without speculation; None where it runs without graphs.
        own_attention: the attention backend that they were captured with; None where the server's own serves.
        memory_mib: device memory that capturing them took; None where nothing was captured.
        seconds: how long that took.
    """

    runner: Any
    nothing: Any
    capture_mode: Any
    with_hidden: bool
    graphs: str
    own_graphs: Any = None
    own_attention: Any = None
    memory_mib: float | None = None
    seconds: float = 0.0

    def hidden_of(self, logits: Any) -> Any:
        """The hidden states that the draft needs of a step, one row a request; None where it needs none.

        Raises:
            RuntimeError: the target handed out none.
        """
        if not self.with_hidden:
            return None
        if logits.hidden_states is None:
            raise RuntimeError("the target handed out no hidden states")
        return logits.hidden_states

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Within it, the runner decodes as a server without speculation does."""
        runner = self.runner
        kept = (runner.spec_algorithm, runner.attn_backend, getattr(runner, self.graphs))
        runner.spec_algorithm = self.nothing
        setattr(runner, self.graphs, self.own_graphs)
        if self.own_attention is not None:
            runner.attn_backend = self.own_attention
        try:
            yield
        finally:
            runner.spec_algorithm, runner.attn_backend = kept[:2]
            setattr(runner, self.graphs, kept[2])


def ordinary_target(runner: Any, with_hidden: bool, hands_out: bool, want_graphs: bool) -> OrdinaryTarget:
    """The target of a worker; captures decode graphs where the server itself runs with graphs.

    Args:
        runner: the target's model runner, ready to serve.
        with_hidden: whether the draft reads the target's hidden states.
        hands_out: whether they have to be handed out, for the draft or for whoever else looks at them.
        want_graphs: whether graphs are wanted at all.
    """
    graphs = next((name for name in RUNNERS if hasattr(runner, name)), RUNNERS[0])
    nothing = of_tree("speculative.spec_info", "SpeculativeAlgorithm").NONE
    modes = of_tree("model_executor.forward_batch_info", "CaptureHiddenMode")
    target = OrdinaryTarget(runner, nothing, modes.FULL if hands_out else modes.NULL, with_hidden, graphs)
    existing = getattr(runner, graphs, None)
    if want_graphs and existing is not None and _captures(existing):
        _capture(target, existing, hands_out)
    return target


def _captures(runner: Any) -> bool:
    """Whether a runner replays graphs; newer trees put one that runs eagerly in the same place."""
    return hasattr(runner, "capture") and "Eager" not in type(runner).__name__


def _capture(target: OrdinaryTarget, existing: Any, hands_out: bool) -> None:
    runner = target.runner
    arguments = runner.server_args
    began, before = time.perf_counter(), _free_mib(runner)
    kept = (runner.init_new_workspace, arguments.enable_return_hidden_states)
    try:
        # A backend of its own: graphs keep addresses of the backend's buffers, and the server's own are in use.
        attention = runner._get_attention_backend(init_new_workspace=True)
        arguments.enable_return_hidden_states = hands_out
        target.own_attention = attention
        with target.active():
            # Where the constructor takes no backend it takes the runner's, which is this one in here.
            takes_it = "attn_backend" in inspect.signature(type(existing).__init__).parameters
            target.own_graphs = type(existing)(runner, **({"attn_backend": attention} if takes_it else {}))
    finally:
        runner.init_new_workspace, arguments.enable_return_hidden_states = kept
    target.seconds = time.perf_counter() - began
    after = _free_mib(runner)
    target.memory_mib = None if before is None or after is None else before - after


def _free_mib(runner: Any) -> float | None:
    if str(runner.device).partition(":")[0] != "cuda":
        return None
    return float(torch().cuda.mem_get_info(runner.gpu_id)[0]) / 2**20
