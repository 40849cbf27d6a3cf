"""Confirmation over several nodes, through files in a folder that all of them see.

Node 0 writes its run's token; the others put that token into their own files, and node 0 takes only files that
bear it. So a file that an earlier run left behind never confirms a later one, whichever node starts first.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathtrace.instrument.confirmation import Line, line_text
from pathtrace.instrument.read_line import read_line

VERSION = 1
_LARGEST = 64 * 1024 * 1024
_TOKEN = "pathtrace-run.json"


@dataclass
class ConfirmFolder:
    """One node's view of the folder.

    Attributes:
        folder: seen by all nodes.
        node: rank of this node.
        nodes: how many there are.
        token: of this run; what counts is node 0's.
    """

    folder: Path
    node: int
    nodes: int
    token: str
    _published: tuple[str, str, int] | None = None

    def start(self) -> None:
        """Takes away what an earlier run left, and as node 0 says that a new one begins.

        Raises:
            OSError: the folder cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self._file(self.node).unlink()
        if self.node == 0:
            _write(self.folder / _TOKEN, {"v": VERSION, "token": self.token})

    def publish(self, state: str, lines: Sequence[Line]) -> None:
        """Writes how this node stands, if that is news or another run has begun on node 0.

        Raises:
            OSError: the folder cannot be written.
        """
        token = self.token if self.node == 0 else self._token_of_node_0()
        news = (token, state, len(lines))
        if token and news != self._published:
            said = [line_text(line) for line in lines]
            content = {"v": VERSION, "token": token, "node": self.node, "nodes": self.nodes, "state": state}
            _write(self._file(self.node), {**content, "lines": said})
            self._published = news

    def others(self) -> tuple[list[Line], list[str]]:
        """The lines of the other nodes, and a sentence for each node that has not confirmed."""
        lines: list[Line] = []
        waiting = []
        for node in range(self.nodes):
            if node == self.node:
                continue
            said = _read(self._file(node))
            if said.get("token") != self.token:
                waiting.append(f"node {node} has not confirmed in {self.folder}")
                continue
            if said.get("state") != "confirmed":
                waiting.append(f"node {node} is {said.get('state')}")
            texts = said.get("lines")
            found = [read_line(text) for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
            lines += [line for line in found if line is not None]
        return lines, waiting

    def _file(self, node: int) -> Path:
        return self.folder / f"pathtrace-node{node}.json"

    def _token_of_node_0(self) -> str:
        token = _read(self.folder / _TOKEN).get("token")
        return token if isinstance(token, str) else ""


def _write(path: Path, content: dict[str, Any]) -> None:
    """Puts the file in place in one piece: who reads it never sees half of it."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(json.dumps(content) + "\n", "utf-8")
    half.replace(path)


def _read(path: Path) -> dict[str, Any]:
    """What a file holds, nothing where it is not there, or not ours."""
    try:
        with path.open("rb") as stream:
            said = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
