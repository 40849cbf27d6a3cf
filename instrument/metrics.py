"""Counts of the hook in Prometheus' text format, in a file or over HTTP: only where that is asked for.

Without it there is no thread. Every scheduler process speaks for itself: its file bears the rank in its name,
its port is the first free one from the one that was asked for.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pathtrace.instrument.confirmation import Origin
from pathtrace.instrument.hook import Hook, Tally
from pathtrace.instrument.output import say
from pathtrace.instrument.settings import Settings

INTERVAL_S = 10.0
PORTS_TRIED = 64
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HELP = {
    "pathtrace_steps_total": "Steps of the speculative worker that finished.",
    "pathtrace_step_requests_total": "Requests in those steps, added up.",
    "pathtrace_step_requests_max": "Requests in the largest of those steps.",
    "pathtrace_step_seconds_total": "Time inside those steps on the host; with the overlap loop they may still run.",
    "pathtrace_hook_seconds_total": "Time that the hook took before those steps.",
    "pathtrace_hook_failures_total": "Failures of the hook, after which the worker's own step ran.",
}


def start_metrics(settings: Settings, hook: Hook, origin: Origin) -> None:
    """Starts what the settings ask for; what cannot be started is said in one line, and the server runs on."""
    if settings.metrics_file is not None:
        path = file_of(settings.metrics_file, origin)
        # The first time here and now: a file that cannot be written needs no thread.
        if _written(path, hook, origin):
            threading.Thread(target=_keep_writing, args=(path, hook, origin), name="pathtrace", daemon=True).start()
    if settings.metrics_port is not None:
        server = _serve(settings.metrics_host, settings.metrics_port, hook, origin)
        if server is not None:
            threading.Thread(target=server.serve_forever, name="pathtrace", daemon=True).start()


def render(hook: Hook, origin: Origin) -> str:
    """The counts of one hook in Prometheus' text format."""
    ranks = (("dp", origin.data), ("pp", origin.pipeline), ("tp", origin.tensor))
    labels = {"worker": type(hook.worker).__name__, **{name: str(rank) for name, rank in ranks if rank is not None}}
    text = []
    tallies = sorted(hook.tallies.items())
    for name, help_text in _HELP.items():
        kind = "gauge" if name.endswith("_max") else "counter"
        text.append(f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n")
        if name == "pathtrace_hook_failures_total":
            text.append(f"{name}{_braces(labels)} {hook.failures}\n")
        else:
            text += [f"{name}{_braces({**labels, 'mode': mode})} {_value(name, tally)}\n" for mode, tally in tallies]
    return "".join(text)


def _value(name: str, tally: Tally) -> int | float:
    return {
        "pathtrace_steps_total": tally.steps,
        "pathtrace_step_requests_total": tally.requests,
        "pathtrace_step_requests_max": tally.largest,
        "pathtrace_step_seconds_total": tally.step_ns / 1e9,
        "pathtrace_hook_seconds_total": tally.hook_ns / 1e9,
    }[name]


def _braces(labels: dict[str, str]) -> str:
    # Class names, modes and numbers: nothing in them needs escaping.
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


def file_of(asked: str, origin: Origin) -> Path:
    """The file of one rank: ``/m/pathtrace.prom`` becomes ``/m/pathtrace-dp0-pp0-tp1.prom``."""
    path = Path(asked)
    ranks: Iterable[tuple[str, int | None]] = (("dp", origin.data), ("pp", origin.pipeline), ("tp", origin.tensor))
    return path.with_name(path.stem + "".join(f"-{name}{rank or 0}" for name, rank in ranks) + path.suffix)


def write_file(path: Path, text: str) -> None:
    """Puts the text in place in one piece: who reads the file never sees half of it."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(text, "utf-8")
    half.replace(path)


def _written(path: Path, hook: Hook, origin: Origin) -> bool:
    try:
        write_file(path, render(hook, origin))
    except OSError as problem:
        say(f"pathtrace: metrics cannot be written to {path}: {problem}; they are no longer written")
        return False
    return True


def _keep_writing(path: Path, hook: Hook, origin: Origin) -> None:
    time.sleep(INTERVAL_S)
    while _written(path, hook, origin):
        time.sleep(INTERVAL_S)


def _serve(host: str, port: int, hook: Hook, origin: Origin) -> ThreadingHTTPServer | None:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = render(hook, origin).encode("utf-8") if self.path.split("?")[0] == "/metrics" else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    problem: OSError | None = None
    for tried in range(port, min(port + PORTS_TRIED, 65536)):
        try:
            server = ThreadingHTTPServer((host, tried), Answer)
        except OSError as refused:
            problem = refused
            continue
        server.daemon_threads = True
        say(f"pathtrace: metrics of rank {origin.words()} at http://{host}:{tried}/metrics")
        return server
    say(f"pathtrace: metrics cannot be served from {host}:{port} on: {problem}")
    return None
