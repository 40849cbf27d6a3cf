"""What goes wrong on request, in pathtrace's hook or around it."""

from __future__ import annotations

import os
import sys
import threading

from standins.after_import import after_import

FAULTS = ("", "import", "binding", "step", "no-wrapt", "flood")
FLOODED = 4_000


class Fault(RuntimeError):
    """A fault of the test."""


def before_sglang(fault: str) -> None:
    """What has to be wrong before sglang is imported."""
    if fault not in FAULTS:
        raise ValueError(f"there is no fault {fault!r}, only {', '.join(FAULTS[1:])}")
    if fault == "no-wrapt":
        sys.modules["wrapt"] = None


def install(fault: str) -> None:
    """What goes wrong later."""
    if fault == "import":

        @after_import("pathtrace.instrument.confirming")
        def fail_at_import(module):
            raise Fault("a fault of the test, at import")

    if fault == "step":

        @after_import("pathtrace.instrument.policy")
        def fail_in_steps(module):
            def choose(self, *args, **kwargs):
                raise Fault("a fault of the test, in a step")

            module.Observe.choose = choose

    if fault == "binding":

        @after_import("pathtrace.instrument.binding")
        def fail_at_binding(module):
            def bind(hook, scheduler):
                raise Fault("a fault of the test, at binding")

            module.bind = bind

    if fault == "flood":

        @after_import("sglang.srt.managers.scheduler")
        def flood(module):
            threading.Thread(target=_write_without_end, name="flood", daemon=True).start()


def _write_without_end() -> None:
    """Lines, long ones, bytes that are no text, and a sentence of the hook that is none."""
    piece = b"x" * 200 + b"\n" + b"\xff\xfe\x00" + b"y" * 5000 + b'\npathtrace: built {"v":1,\n'
    for _ in range(FLOODED):
        os.write(1, piece)
