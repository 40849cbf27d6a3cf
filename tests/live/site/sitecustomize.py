"""In every Python process of a live server, as a user's own sitecustomize: stand-ins for what a CPU does not have."""

import os

if os.environ.get("LIVE_KERNELS"):
    import standins.start  # noqa: F401
