"""One short request, where a server gets no traffic by which it could show that its steps go through the hook."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from pathtrace.supervisor.shape import Shape

# The first step of a server may compile kernels.
GENERATE_S = 600.0
_TOO_LONG = 2000


def send_probe(shape: Shape, data_rank: int) -> str | None:
    """Has the server generate a few tokens; returns why it did not, None where it did."""
    try:
        status, said = _request(shape, "POST", "/generate", body(shape, data_rank), GENERATE_S)
    except (OSError, http.client.HTTPException, ValueError) as problem:
        return f"the probe request failed: {type(problem).__name__}: {problem}"
    return None if status == 200 else f"the probe request was answered with status {status}: {said[:200]}"


def body(shape: Shape, data_rank: int) -> dict[str, Any]:
    """The request: a prompt of a few tokens, and enough of them to generate that a decode step is taken."""
    prompt = {"input_ids": [1, 2, 3]} if shape.skip_tokenizer_init else {"text": "Hello"}
    sampling = {"temperature": 0, "max_new_tokens": 8, "ignore_eos": True}
    # A tree that does not know the field takes replicas in turn.
    rank = {} if shape.dp_size == 1 else {"data_parallel_rank": data_rank}
    return {**prompt, "sampling_params": sampling, **rank}


def _request(
    shape: Shape, method: str, path: str, content: dict[str, Any] | None, patience_s: float
) -> tuple[int, str]:
    host, port = shape.address
    connection: http.client.HTTPConnection
    if shape.ssl_certfile is None:
        connection = http.client.HTTPConnection(host, port, timeout=patience_s)
    else:
        # It is this machine's own server, under a name that its certificate does not bear.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(host, port, timeout=patience_s, context=context)
    headers = {"Content-Type": "application/json"}
    if shape.api_key is not None:
        headers["Authorization"] = f"Bearer {shape.api_key}"
    try:
        connection.request(method, path, None if content is None else json.dumps(content), headers)
        answer = connection.getresponse()
        return answer.status, answer.read(_TOO_LONG).decode("utf-8", "replace")
    finally:
        connection.close()
