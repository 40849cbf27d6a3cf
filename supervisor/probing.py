"""Looking at a server from outside, in threads: whether it listens, and whether it answers a probe request."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from pathtrace.supervisor.shape import Shape

PAUSE_S = 0.5
CONNECT_S = 5.0
PROBE_ATTEMPTS = 5
PROBE_PAUSE_S = 3.0


def listens(shape: Shape) -> bool:
    """Whether somebody listens where the server will: SGLang does once every scheduler has built its worker.

    Nothing is asked: a request for /health has the server generate a token, and stands in its log.
    """
    try:
        with socket.create_connection(shape.address, CONNECT_S) as connection:
            # Where nobody listens, a connection from the very port that it goes to meets itself.
            return bool(connection.getsockname() != connection.getpeername())
    except (OSError, ValueError):
        return False


def watch_listening(shape: Shape, is_over: Callable[[], bool], tell: Callable[[bool], None]) -> None:
    """Calls ``tell``, from a thread, whenever the server begins or ceases to listen.

    A server that it replaces there is waited for first. Another program may have the port for a moment: a launcher
    tries whether it is free, a client gets it as its own.
    """

    def look() -> None:
        while listens(shape):
            if is_over():
                return
            time.sleep(PAUSE_S)
        before = False
        while not is_over():
            now = listens(shape)
            if now is not before:
                tell(now)
            before = now
            time.sleep(PAUSE_S)

    threading.Thread(target=look, name="listening", daemon=True).start()


def probe_in_background(shape: Shape, is_over: Callable[[], bool], then: Callable[[str | None], None]) -> None:
    """Sends a probe request to every replica, from a thread; calls ``then`` with why one was not answered, or None."""

    def probe() -> None:
        # An HTTP client takes long to import, and few servers need one.
        from pathtrace.supervisor.probe import send_probe

        failure = None
        for data_rank in range(shape.dp_size):
            for attempt in range(PROBE_ATTEMPTS):
                time.sleep(PROBE_PAUSE_S if attempt else 0)
                failure = send_probe(shape, data_rank)
                if failure is None or is_over():
                    break
            if failure is not None:
                break
        then(failure)

    threading.Thread(target=probe, name="probe", daemon=True).start()
