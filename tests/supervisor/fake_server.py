"""A program that stands in for an SGLang server: it needs neither torch nor a model.

It says the confirmation lines through the instrument's own functions, as processes of a server would, and does
what its one argument, a JSON list of steps, tells it: ``["built", {...}]``, ``["live", "prefill"]``,
``["sleep", 0.1]``, ... The real launcher and the real workers are started by the live tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from pathtrace.instrument.confirmation import Built, Failed, Live, Origin, write_line

PLACE = {"worker": "EAGLEWorker", "module": "sglang.srt.speculative.eagle_worker", "loop": "synchronous"}
LINE = {**PLACE, "file": "/tree/sglang/srt/speculative/eagle_worker.py", "line": 78, "algorithm": "EAGLE3"}
HOOK = {"mechanism": "observe", "entry": "forward_batch_generation", "carrier": "sitecustomize"}


def origin(said: dict[str, Any]) -> Origin:
    ranks = {name: said.pop(name, 0) for name in ("tensor", "pipeline")}
    run = said.pop("run", os.environ.get("PATHTRACE_RUN"))
    return Origin(said.pop("pid", os.getpid()), run, **ranks, data=said.pop("data", None))


def built(said: dict[str, Any]) -> None:
    threshold = os.environ.get("PATHTRACE_THRESHOLD")
    asked = {"threshold": None if threshold is None else int(threshold)}
    write_line(Built(origin(said), **{**LINE, **HOOK, **asked, **said}))


def live(mode: str, said: dict[str, Any] | None = None) -> None:
    write_line(Live(origin(said or {}), "EAGLEWorker", mode, 1))


def serve(port: int, needs_key: str | None = None) -> None:
    """Answers /health, and /generate with a step of each mode for the replica that is named."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200)

        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if needs_key and self.headers["Authorization"] != f"Bearer {needs_key}":
                self._answer(401)
                return
            print("asked", json.dumps(content, sort_keys=True), flush=True)
            for mode in ("prefill", "decode"):
                live(mode, {"data": content.get("data_parallel_rank")})
            self._answer(200)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    threading.Thread(target=HTTPServer(("127.0.0.1", port), Answer).serve_forever, daemon=True).start()


def trap(names: list[str], status: int | None) -> None:
    """Says which signals come, and ends with ``status`` at the first SIGTERM, SIGINT or SIGHUP."""

    def came(number: int, _frame: object) -> None:
        print("got", signal.Signals(number).name, flush=True)
        if status is not None and number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            sys.exit(status)

    for name in names:
        signal.signal(getattr(signal, name), came)
    print("trapped", flush=True)


def fork(count: int, stubborn: bool, own_session: bool) -> None:
    """Starts children that outlive this process unless somebody ends them; returns when they are ready for that."""
    ready, there = os.pipe()
    ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN);" if stubborn else ""
    # One write: the lines of several children must not run into each other.
    code = f"import os, signal, time; {ignoring} os.write(1, b'child %d\\n' % os.getpid())"
    code += f"; os.close({there}); time.sleep(300)"
    for _ in range(count):
        subprocess.Popen([sys.executable, "-c", code], start_new_session=own_session, pass_fds=[there])
    os.close(there)
    os.read(ready, 1)
    os.close(ready)


def flood(size: int, descriptor: int) -> None:
    """Every byte value, in pieces that no line end fits."""
    block = bytes(range(256)) * 251
    while size > 0:
        size -= os.write(descriptor, block[:size])


def main(steps: list[list[Any]]) -> None:
    for name, *given in steps:
        match name:
            case "built":
                built(dict(*given))
            case "live":
                live(*given)
            case "failed":
                write_line(Failed(origin({}), given[0]))
            case "both":
                for mode in ("prefill", "decode"):
                    live(mode, dict(*given))
            case "say":
                os.write(2, given[0].encode())
            case "print":
                os.write(1, given[0].encode())
            case "sleep":
                time.sleep(given[0])
            case "exit":
                os._exit(given[0])
            case "die":
                os.kill(os.getpid(), getattr(signal, given[0]))
            case "trap":
                trap(given[0], given[1])
            case "fork":
                fork(*given)
            case "flood":
                flood(*given)
            case "serve":
                serve(*given)
            case "environ":
                print(json.dumps(dict(os.environ)), os.getcwd(), flush=True)
            case "stdin":
                os.write(1, sys.stdin.buffer.read())
            case _:
                raise ValueError(name)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
