"""Words on standard error, in one piece, past whatever the server does with its logging."""

from __future__ import annotations

import os

STANDARD_ERROR = 2
# A reader that has let the pipe run full for this long does not read.
PATIENCE_S = 2.0


def say(text: str) -> None:
    """Writes one line to standard error with one call; where there is none, or nobody reads, says nothing."""
    data = text.replace("\n", " ").encode("utf-8", "replace") + b"\n"
    try:
        while data:
            try:
                data = data[os.write(STANDARD_ERROR, data) :]
            except BlockingIOError:
                # The descriptor is shared: whoever started the server may have made it non-blocking.
                import select

                if not select.select((), (STANDARD_ERROR,), (), PATIENCE_S)[1]:
                    return
    except (OSError, ValueError):
        return


def report_failure(reason: str) -> None:
    """Says that no worker of this process will be hooked: the line ``Failed`` of ``confirmation``.

    It is written here, with next to no imports, because it must work where the rest does not.
    """
    import json

    data = {"v": 1, "pid": os.getpid(), "run": os.environ.get("PATHTRACE_RUN") or None, "reason": reason[:1000]}
    words = "".join(character if character.isprintable() else " " for character in reason[:500])
    say(f"pathtrace: failed {words} {json.dumps(data, separators=(',', ':'))}")
