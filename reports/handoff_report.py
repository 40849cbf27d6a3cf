"""A worker's hand-off as a text tree, JSON, DOT or Mermaid: one writer for each format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from pathtrace.reports.handoff_graph import write_dot, write_mermaid
from pathtrace.reports.handoff_json import write_json
from pathtrace.reports.handoff_text import write_text
from pathtrace.tracer.handoff.model import Handoff

FORMATS: dict[str, Callable[[Handoff, TextIO], None]] = {
    "text": write_text,
    "json": write_json,
    "dot": write_dot,
    "mermaid": write_mermaid,
}


def render_handoff(handoff: Handoff, output_format: str, stream: TextIO) -> None:
    """Write the hand-off to the stream in one of ``FORMATS``."""
    FORMATS[output_format](handoff, stream)
