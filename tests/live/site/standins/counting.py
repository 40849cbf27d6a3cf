"""The scheduler's own count of its steps, written to a file after each."""

from __future__ import annotations

import functools
import os

from standins.after_import import after_import


def install(file: str | None) -> None:
    """Writes the count to ``file``; nothing where none is asked for."""
    if not file:
        return

    @after_import("sglang.srt.managers.scheduler")
    def count(module):
        run_batch = module.Scheduler.run_batch

        @functools.wraps(run_batch)
        def counted(scheduler, *args, **kwargs):
            result = run_batch(scheduler, *args, **kwargs)
            half = f"{file}.{os.getpid()}"
            with open(half, "w", encoding="utf-8") as out:
                out.write(str(scheduler.forward_ct))
            os.replace(half, file)
            return result

        module.Scheduler.run_batch = counted
