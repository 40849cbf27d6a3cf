"""A closed loop of requests against a server: so many at a time, each begun when one ends."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wave:
    """What came of one run at one concurrency.

    Attributes:
        concurrency: requests at a time.
        tokens: output tokens of all requests.
        seconds: from the first request to the last answer.
        accept_length: mean tokens a verification gave, None without speculation.
    """

    concurrency: int
    tokens: int
    seconds: float
    accept_length: float | None

    @property
    def rate(self) -> float:
        """Output tokens per second."""
        return self.tokens / self.seconds


class Load:
    """Sends requests of one shape, no two with the same prompt.

    Attributes:
        port: where the server listens on this machine.
        prompt: tokens of a prompt.
        output: tokens of an answer, every one of them wanted.
    """

    def __init__(self, port: int, prompt: int, output: int, vocabulary: int = 100_000) -> None:
        self.port, self.prompt, self.output, self.vocabulary = port, prompt, output, vocabulary
        self._sent = 0
        self._lock = threading.Lock()

    def request(self, number: int, output: int) -> dict[str, Any]:
        """One request; returns what the server says of it.

        Raises:
            RuntimeError: the server refused it.
        """
        words = random.Random(number)
        ids = [words.randint(1000, self.vocabulary) for _ in range(self.prompt)]
        sampling = {"temperature": 0, "max_new_tokens": output, "ignore_eos": True}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            body = json.dumps({"input_ids": ids, "sampling_params": sampling})
            connection.request("POST", "/generate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"the server answered {answer.status}: {text[:300]!r}")
        said: dict[str, Any] = json.loads(text)
        return said

    def wave(self, concurrency: int, requests: int, output: int | None = None) -> Wave:
        """``requests`` requests, ``concurrency`` at a time."""
        with self._lock:
            first = self._sent
            self._sent += requests
        left = list(range(first, first + requests))
        answers: list[dict[str, Any]] = []
        problems: list[BaseException] = []

        def work() -> None:
            while True:
                with self._lock:
                    if not left or problems:
                        return
                    number = left.pop()
                try:
                    said = self.request(number, output or self.output)
                except Exception as problem:
                    problems.append(problem)
                    return
                with self._lock:
                    answers.append(said)

        workers = [threading.Thread(target=work) for _ in range(concurrency)]
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - began
        if problems:
            raise problems[0]
        about = [answer["meta_info"] for answer in answers]
        lengths = [each["spec_accept_length"] for each in about if each.get("spec_accept_length")]
        tokens = sum(each["completion_tokens"] for each in about)
        return Wave(concurrency, tokens, seconds, sum(lengths) / len(lengths) if lengths else None)
