"""How a server is started: as it is, under ``pathtrace run``, or with pathtrace brought in by variables alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pathtrace.tests.live.environment import HERE, Environment
from pathtrace.tests.live.launches import Launch
from pathtrace.tests.live.releases import RELEASES
from pathtrace.tests.live.server import Server, free_port

STAND_INS = HERE / "site"
PATHTRACE = (sys.executable, "-m", "pathtrace")
# One split of the keys: the interpreter takes as long for each.
ATTENTION = {"interpreted": ("triton", "--triton-attention-num-kv-splits", "1"), "native": ("intel_amx",)}

Carrier = Literal["none", "run", "env", "plugin"]


@dataclass(frozen=True)
class Start:
    """How to start a server.

    Attributes:
        carrier: ``none`` leaves pathtrace out; ``run`` is `pathtrace run`; ``env`` evaluates `pathtrace env` in a
            shell and then runs the server's own command; ``plugin`` sets only variables of pathtrace, where that
            is installed beside SGLang.
        options: of `pathtrace run` or `pathtrace env`.
        env: more variables of the server.
        own_env: variables of `pathtrace run` itself, which the server inherits.
        port: where it listens, a free one by default.
    """

    carrier: Carrier = "none"
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    own_env: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None


def command(launch: Launch, environment: Environment, port: int) -> list[str]:
    """The server's own command."""
    return [
        *(str(environment.python), "-m", "sglang.launch_server"),
        *("--model-path", str(environment.models / "target"), "--skip-tokenizer-init", "--device", "cpu"),
        *("--host", "127.0.0.1", "--port", str(port), "--skip-server-warmup", "--dtype", "float32"),
        *("--max-total-tokens", "4096", "--max-running-requests", "8", "--disable-cuda-graph"),
        *("--attention-backend", *ATTENTION[RELEASES[launch.release].kernels], *launch.words(environment)),
    ]


def variables(launch: Launch, environment: Environment) -> dict[str, str]:
    """What the server needs in its environment, pathtrace or not."""
    kernels = RELEASES[launch.release].kernels
    return {
        "PYTHONPATH": os.pathsep.join(map(str, (STAND_INS, *environment.packages, environment.tree))),
        "LIVE_KERNELS": kernels,
        "SGLANG_USE_CPU_ENGINE": "1",
        "SGLANG_DISABLED_MODEL_ARCHS": ",".join(_models_not_needed(environment.tree)),
        # Else each look at /health is a request of its own and counts as steps.
        "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "0",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TORCH_COMPILE_DISABLE": "1",
        **({"TRITON_INTERPRET": "1"} if kernels == "interpreted" else {}),
        **dict(launch.env),
    }


def _models_not_needed(tree: Path) -> list[str]:
    """A scheduler imports every model that its tree knows, which takes longer than everything else."""
    names = {path.stem for path in (tree / "sglang" / "srt" / "models").glob("*.py")}
    return sorted(name for name in names if not name.startswith(("_", "llama")))


@contextmanager
def started(launch: Launch, how: Start, environment: Environment, log: Path) -> Iterator[Server]:
    """A server that was started and may not be healthy yet; it ends with the block, and nothing of it is left.

    `pathtrace run` has to see to that itself; a server without it is ended process by process.
    """
    port = free_port() if how.port is None else how.port
    own = command(launch, environment, port)
    environ = {**variables(launch, environment), **how.env}
    server = Server(*_brought(how, own, environ), port, log)
    try:
        yield server
        if how.carrier == "run":
            server.end()
    finally:
        server.stop()


def _brought(how: Start, own: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Words and variables of what is to be started."""
    if how.carrier == "run":
        # In front of the command, so that they are the server's and not pathtrace's own.
        settings = [f"{name}={value}" for name, value in environ.items()]
        return [*PATHTRACE, "run", *how.options, "--", *settings, *own], dict(how.own_env)
    if how.carrier == "env":
        words = " ".join((*PATHTRACE, "env", *how.options))
        return ["sh", "-c", f'eval "$({words})"; exec "$@"', "sh", *own], dict(environ)
    if how.carrier == "plugin":
        return list(own), {"PATHTRACE_ENABLE": "1", **environ}
    return list(own), dict(environ)
