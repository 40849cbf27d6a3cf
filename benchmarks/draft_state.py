"""How fast the draft finds back after speculation was off: tokens a step, before and after off periods.

    python benchmarks/draft_state.py --threshold 4 --periods 10,500,5000 -- python -m sglang.launch_server ...

One request streams all the time. Others join and leave until it has got as many tokens without speculation as a
period says; then it is alone again. Its first 32 steps with speculation are compared with those before the period.
With STANDALONE and the target as its own draft every step should give the maximum.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from dynamic_disable import environment, serving  # noqa: E402
from serving_load import Load  # noqa: E402

STEPS = 32
WARM_UP = 64


def streamed(port: int, ids: list[int], tokens: int) -> Iterator[int]:
    """How many tokens each step of one request gave."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
    body = json.dumps({"input_ids": ids, "sampling_params": sampling, "stream": True})
    connection.request("POST", "/generate", body, {"Content-Type": "application/json"})
    seen = 0
    for line in connection.getresponse():
        if line.startswith(b"data: {"):
            now = json.loads(line[6:])["meta_info"]["completion_tokens"]
            if now > seen:
                yield now - seen
                seen = now
    connection.close()


class Crowd:
    """Requests that join and leave for as long as they are wanted."""

    def __init__(self, load: Load, size: int) -> None:
        self._load, self._wanted = load, threading.Event()
        self._wanted.set()
        self._members = [threading.Thread(target=self._work, args=(member,)) for member in range(size)]
        for member in self._members:
            member.start()

    def _work(self, member: int) -> None:
        number = 1_000_000 * (member + 1)
        while self._wanted.is_set():
            number += 1
            self._load.request(number, 20 + 7 * (number % 13))

    def leave(self) -> None:
        """Begins no more requests and waits for the last."""
        self._wanted.clear()
        for member in self._members:
            member.join()


def period(port: int, load: Load, crowd_size: int, off: int, number: int) -> tuple[list[int], list[int]]:
    """Tokens a step of one request: the last ``STEPS`` before others joined, the first ones after they had left."""
    ids = [1000 + (number * 7919 + index * 104729) % 90_000 for index in range(48)]
    before: list[int] = []
    after: list[int] = []
    crowd: Crowd | None = None
    got, is_over = 0, False
    leaving: threading.Thread | None = None
    for given in streamed(port, ids, off + 1600):
        got += given
        if crowd is None:
            before.append(given)
            if len(before) >= WARM_UP + STEPS:
                crowd, start = Crowd(load, crowd_size), got
        elif leaving is None and got - start >= off:
            leaving = threading.Thread(target=crowd.leave)
            leaving.start()
        elif leaving is not None and not leaving.is_alive():
            # The first step of more than one token after all others have gone: speculation is back.
            is_over = is_over or given > 1
            if is_over:
                after.append(given)
            if len(after) >= STEPS + WARM_UP:
                break
    if leaving is not None:
        leaving.join()
    return before[-STEPS:], after[:STEPS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threshold", type=int, default=4)
    parser.add_argument("--crowd", type=int, default=7, help="how many others join")
    parser.add_argument("--periods", default="10,500,5000", help="tokens without speculation")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--wait", type=float, default=300)
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="a variable of the hook; repeatable")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("command", nargs="+", help="the server's command, after --")
    given = parser.parse_args()
    log = given.folder / "server-draft-state.log"
    environ = environment("pathtrace", given.threshold, given.set)
    with serving(given.command, environ, given.port, log, given.wait) as seconds:
        print(f"ready after {seconds:.0f} s", flush=True)
        load = Load(given.port, 48, 64)
        for number, off in enumerate(map(int, given.periods.split(","))):
            before, after = period(given.port, load, given.crowd, off, number)
            shown = [f"{statistics.mean(each):.2f} {dict(sorted(Counter(each).items()))}" for each in (before, after)]
            print(f"off for {off} tokens: {shown[0]} tokens a step before, {shown[1]} after", flush=True)
    for line in log.read_text("utf-8", "replace").splitlines():
        if line.startswith("pathtrace: ") and not line.startswith("pathtrace: live"):
            print("  " + line[:240])


if __name__ == "__main__":
    main()
