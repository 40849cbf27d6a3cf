"""Small trees with the module names and shapes of SGLang's, written by hand.

They stand in for the real scheduler, which needs torch and a model; the live tests start that one. Each shape is
named after what it copies: ``inline`` chooses the worker in the scheduler's constructor, ``method`` in a method
that the constructor calls, ``context`` keeps its ranks in a process-wide context and takes no rank as argument.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Mapping, Sequence
from pathlib import Path

from pathtrace.instrument import SITE_FOLDER

MODES = """
    from enum import IntEnum, auto

    class ForwardMode(IntEnum):
        EXTEND = auto()
        DECODE = auto()
        MIXED = auto()
        IDLE = auto()
        TARGET_VERIFY = auto()
        PREBUILT = auto()

    class Batch:
        def __init__(self, mode, size):
            self.forward_mode, self.reqs = mode, ["request"] * size
"""

WORKERS = """
    from sglang.srt.model_executor.forward_batch_info import ForwardMode

    class TpModelWorker:
        def forward_batch_generation(self, batch):
            return "plain"

    class EAGLEWorker(TpModelWorker):
        def forward_batch_generation(self, batch):
            if batch.forward_mode == ForwardMode.DECODE:
                batch.forward_mode = ForwardMode.TARGET_VERIFY
            return "v1", len(batch.reqs)

    class OldEAGLEWorker(TpModelWorker):
        def forward_batch_speculative_generation(self, batch):
            return "old", len(batch.reqs)

    class EAGLEWorkerV2:
        def forward_batch_generation(self, model_worker_batch, on_publish=None):
            \"\"\"Takes one step.\"\"\"
            return "v2", len(model_worker_batch.reqs)

    class StandaloneWorkerV2(EAGLEWorkerV2):
        pass

    class MultiLayerEagleWorkerV2(EAGLEWorkerV2):
        pass
"""

INLINE = """
    import os
    from sglang.srt.model_executor.forward_batch_info import Batch, ForwardMode
    from sglang.srt.speculative import workers

    class Algorithm:
        def __init__(self, name):
            self.name = name

        def is_none(self):
            return self.name == "NONE"

    class Scheduler:
        def __init__(self, server_args, tp_rank, pp_rank, dp_rank):
            self.server_args = server_args
            self.enable_overlap = server_args["overlap"]
            self.tp_rank, self.pp_rank = tp_rank, pp_rank
            self.spec_algorithm = Algorithm(server_args["algorithm"])
            self.tp_worker = workers.TpModelWorker()
            self.draft_worker = None
            if not self.spec_algorithm.is_none():
                self.draft_worker = getattr(workers, server_args["worker"])()

        def run_batch(self, batch):
            entry = getattr(self.draft_worker, "forward_batch_speculative_generation", None)
            return (entry or self.draft_worker.forward_batch_generation)(batch)

    def run_scheduler_process(server_args, tp_rank, pp_rank, dp_rank):
        scheduler = Scheduler(server_args, tp_rank, pp_rank, dp_rank)
        print("ready", tp_rank, os.getpid(), flush=True)
        if scheduler.draft_worker is not None:
            for mode, size in ((ForwardMode.EXTEND, 2), (ForwardMode.DECODE, 2), (ForwardMode.DECODE, 1)):
                print("step", scheduler.run_batch(Batch(mode, size)), flush=True)
"""

METHOD = INLINE.replace(
    """            if not self.spec_algorithm.is_none():
                self.draft_worker = getattr(workers, server_args["worker"])()
""",
    """            self.init_model_worker()
            self.first_of_loop = self.model_worker.forward_batch_generation

        def init_model_worker(self):
            if not self.spec_algorithm.is_none():
                self.draft_worker = getattr(workers, self.server_args["worker"])()
            self.model_worker = self.draft_worker or self.tp_worker
""",
)

CONTEXT = (
    INLINE.replace("def __init__(self, server_args, tp_rank, pp_rank, dp_rank):", "def __init__(self, server_args):")
    .replace("            self.tp_rank, self.pp_rank = tp_rank, pp_rank\n", "")
    .replace(
        "        scheduler = Scheduler(server_args, tp_rank, pp_rank, dp_rank)\n",
        "        from sglang.srt import runtime_context\n"
        "        runtime_context.ranks = types.SimpleNamespace(tp_rank=tp_rank, pp_rank=pp_rank, dp_rank=dp_rank)\n"
        "        scheduler = Scheduler(server_args=server_args)\n",
    )
    .replace("    import os\n", "    import os, types\n", 1)
)

RUNTIME_CONTEXT = """
    ranks = None

    def get_parallel():
        if ranks is None:
            raise RuntimeError("no context has been published")
        return ranks
"""

PLUGINS = """
    from importlib.metadata import entry_points

    def load_plugins():
        for point in entry_points(group="sglang.srt.plugins"):
            point.load()()
        from sglang.srt.plugins.hook_registry import HookRegistry

        HookRegistry.apply_hooks()
"""

# What a plugin registered to replace the scheduler with, if REPLACEMENT names it.
REGISTRY = """
    import os

    class HookRegistry:
        @classmethod
        def apply_hooks(cls):
            from sglang.srt.managers import scheduler
            from sglang.srt.speculative import workers

            class Extending(scheduler.Scheduler):
                def __init__(self, *args, **kwargs):
                    super().__init__(*args, **kwargs)
                    self.draft_worker = self.model_worker = workers.StandaloneWorkerV2()

            class Independent:
                run_batch = scheduler.Scheduler.run_batch

                def __init__(self, server_args, tp_rank, pp_rank, dp_rank):
                    self.tp_rank = tp_rank
                    self.draft_worker = self.model_worker = workers.StandaloneWorkerV2()

            name = os.environ.get("REPLACEMENT")
            if name:
                scheduler.Scheduler = {"Extending": Extending, "Independent": Independent}[name]
"""

LAUNCHER = """
    import json, multiprocessing, sys

    def main(arguments):
        from sglang.srt.managers.scheduler import run_scheduler_process

        context = multiprocessing.get_context("spawn")
        ranks = [(tp, pp, None) for pp in range(arguments["pp"]) for tp in range(arguments["tp"])]
        processes = [context.Process(target=run_scheduler_process, args=(arguments, *rank)) for rank in ranks]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        sys.exit(max(process.exitcode for process in processes))

    if __name__ == "__main__":
        main(json.loads(sys.argv[1]))
"""

SHAPES = {"inline": INLINE, "method": METHOD, "context": CONTEXT}
LAUNCH: dict[str, object] = {"algorithm": "EAGLE3", "worker": "EAGLEWorker", "overlap": False, "tp": 1, "pp": 1}


def write_tree(folder: Path, shape: str = "method", with_plugins: bool = False) -> Path:
    """A stand-in tree under ``folder``; returns ``folder``, which belongs on PYTHONPATH."""
    scheduler = textwrap.dedent(SHAPES[shape])
    files = {
        "srt/managers/scheduler.py": scheduler,
        "srt/model_executor/forward_batch_info.py": textwrap.dedent(MODES),
        "srt/speculative/workers.py": textwrap.dedent(WORKERS),
        "srt/runtime_context.py": textwrap.dedent(RUNTIME_CONTEXT),
        "launch_server.py": textwrap.dedent(LAUNCHER),
    }
    if with_plugins:
        files["srt/plugins/__init__.py"] = textwrap.dedent(PLUGINS)
        files["srt/plugins/hook_registry.py"] = textwrap.dedent(REGISTRY)
        first = "def run_scheduler_process(server_args, tp_rank, pp_rank, dp_rank):\n"
        call = "    from sglang.srt.plugins import load_plugins\n    load_plugins()\n"
        files["srt/managers/scheduler.py"] = scheduler.replace(first, first + call)
    for name, text in files.items():
        path = folder / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def write_entry_point(folder: Path) -> Path:
    """What an installed pathtrace says of itself; returns the folder, which belongs on PYTHONPATH."""
    info = folder / "pathtrace_plugin-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pathtrace-plugin\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[sglang.srt.plugins]\npathtrace = pathtrace.instrument.plugin:load\n", "utf-8"
    )
    return folder


def environment(*path: Path | str, enable: bool = True, **variables: str) -> dict[str, str]:
    """An environment with these folders on PYTHONPATH, and nothing of pathtrace but what is said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PATHTRACE_", "PYTHON"))}
    enabled = {"PATHTRACE_ENABLE": "1"} if enable else {}
    joined = os.pathsep.join(map(str, path))
    return {**kept, **enabled, "PYTHONPATH": joined, "PYTHONDONTWRITEBYTECODE": "1", **variables}


def python(
    *arguments: str, environ: Mapping[str, str], interpreter: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """One finished Python process."""
    command: Sequence[str] = (interpreter, *arguments)
    return subprocess.run(command, env=dict(environ), capture_output=True, text=True, timeout=60, check=False)


def fresh_workers(name: str = "standin_workers") -> types.ModuleType:
    """The stand-in workers in a module of their own, not yet hooked; the caller takes it out of ``sys.modules``."""
    module = types.ModuleType(name)
    modes = types.ModuleType("standin_modes")
    exec(textwrap.dedent(MODES), vars(modes))
    vars(module).update(ForwardMode=modes.ForwardMode, Batch=modes.Batch)
    source = textwrap.dedent(WORKERS).replace("from sglang.srt.model_executor.forward_batch_info import", "# from")
    exec(source, vars(module))
    sys.modules[name] = module
    return module


__all__ = [
    "LAUNCH",
    "SITE_FOLDER",
    "environment",
    "fresh_workers",
    "python",
    "write_entry_point",
    "write_tree",
]
