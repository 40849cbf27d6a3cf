"""The servers under test: a release, how it speculates, and what it has to load, written by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pathtrace.tests.live.environment import Environment


def eagle3(topk: int = 1) -> tuple[str, ...]:
    """EAGLE3 with the draft that knows half of what the target says; ``topk`` 1 is a chain, 4 a tree."""
    return ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "eagle3", *_size(topk))


def standalone(topk: int = 1, draft: str = "standalone") -> tuple[str, ...]:
    """STANDALONE with the noisy copy of the target; with ``draft="target"`` every draft is right."""
    return ("--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", draft, *_size(topk))


def _size(topk: int) -> tuple[str, ...]:
    tokens = 4 if topk == 1 else 8
    return (
        *("--speculative-num-steps", "3", "--speculative-eagle-topk", str(topk)),
        *("--speculative-num-draft-tokens", str(tokens)),
    )


@dataclass(frozen=True)
class Launch:
    """One server.

    Attributes:
        release: of SGLang.
        worker: the class that loads.
        loop: the event loop that runs, ``overlap`` or ``synchronous``.
        args: at the end of its command; ``eagle3``, ``standalone`` and ``target`` stand for the models' folders.
        env: variables of its own.
    """

    release: str
    worker: str
    loop: str
    args: tuple[str, ...] = field(default_factory=eagle3)
    env: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.release} {self.worker}"

    def words(self, environment: Environment) -> list[str]:
        """``args``, with the drafts where they lie."""
        folders = {name: str(environment.models / name) for name in ("eagle3", "standalone", "target")}
        return [folders.get(word, word) for word in self.args]


V1 = Launch("0.5.9", "EAGLEWorker", "synchronous")
V1_LATER = Launch("0.5.12.post1", "EAGLEWorker", "synchronous", (*eagle3(), "--disable-overlap-schedule"))
V2_OVERLAP = Launch("0.5.12.post1", "EAGLEWorkerV2", "overlap")
V2_PLUGIN = Launch("0.5.14", "EAGLEWorkerV2", "overlap")
V2_NATIVE = Launch("0.5.18", "EAGLEWorkerV2", "synchronous")
V2_STANDALONE = Launch("0.5.18", "StandaloneWorkerV2", "synchronous", standalone())
V1_KNOWING = Launch(
    "0.5.12.post1", "StandaloneWorker", "synchronous", (*standalone(draft="target"), "--disable-overlap-schedule")
)
V2_KNOWING = Launch("0.5.12.post1", "StandaloneWorkerV2", "overlap", standalone(draft="target"))
V2_LATEST = Launch("0.5.23", "StandaloneWorkerV2", "synchronous", standalone())


def place_of(worker: str, tree: Path) -> tuple[str, int]:
    """The file of a worker's class, from the tree's root, and the line where its statement begins."""
    for path in sorted((tree / "sglang" / "srt" / "speculative").rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if re.match(rf"class {worker}\b", line):
                return path.relative_to(tree).as_posix(), number
    raise AssertionError(f"{tree} has no class {worker}")


def prompts(count: int, shortest: int = 3, longest: int = 40) -> list[Sequence[int]]:
    """Prompts of several lengths; the first ``n`` of more are the same as of fewer."""
    lengths = [shortest + (number * 17) % (longest - shortest + 1) for number in range(count)]
    return [
        [1, *((7 + 131 * number + 37 * place) % 990 + 3 for place in range(length - 1))]
        for number, length in enumerate(lengths)
    ]
