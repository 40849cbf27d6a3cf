"""What runs inside SGLang's own processes: it stands alone and imports no heavy library.

This file is imported in every Python process of a server, so it imports nothing but ``os``.
"""

from __future__ import annotations

import os

# Set to "1" by whoever wants the hook; without it nothing here does anything.
ENABLE = "PATHTRACE_ENABLE"

# Put first on PYTHONPATH, this folder carries the hook into every process. It is not a package.
SITE_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


def start(carrier: str) -> bool:
    """Prepares this process: the hook binds once the scheduler has built its worker.

    Args:
        carrier: what brought pathtrace here, ``sitecustomize`` or ``plugin``.

    Returns:
        Whether this call prepared the process: False where another carrier came first.
    """
    from pathtrace.instrument.starting import start as start_here

    return start_here(carrier)
