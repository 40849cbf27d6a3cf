"""The entry point for SGLang's own plugin mechanism (group ``sglang.srt.plugins``)."""

from __future__ import annotations

import os


def load() -> None:
    """Starts pathtrace in this process if it is asked for; SGLang calls this in every process of a server."""
    if os.environ.get("PATHTRACE_ENABLE") == "1":
        from pathtrace.instrument import start

        start("plugin")
