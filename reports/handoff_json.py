"""A worker's hand-off as JSON. The names are those of ``pathtrace.tracer.handoff.model``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TextIO

from pathtrace.tracer.handoff.model import Handoff

SCHEMA_VERSION = "1"


def write_json(handoff: Handoff, stream: TextIO) -> None:
    """One object; every place is a path in the tree and a line."""
    document = {
        "schema_version": SCHEMA_VERSION,
        **asdict(handoff),
        "producers": {"prefill": list(handoff.producers("prefill")), "decode": list(handoff.producers("decode"))},
    }
    json.dump(document, stream, indent=2)
    stream.write("\n")
