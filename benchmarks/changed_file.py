"""A repository with a vendored tree and one staged change: what a commit hook meets."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = "sglang/srt/speculative"
# A method of the worker that loads in the story of the README, and its twin that does not.
LIVE, DEAD = f"{PACKAGE}/eagle_worker.py", f"{PACKAGE}/eagle_worker_v2.py"
_VERIFY = "def verify("


class Repository:
    """A git repository in a folder: ``vendor/`` with the tree, ``pyproject.toml`` with one deployment.

    Args:
        folder: an empty folder.
        wheel: the release's wheel.
        configs: paths of the model's and the draft model's config.json.
        launch: the deployment's words.
    """

    def __init__(self, folder: Path, wheel: Path, configs: Sequence[str], launch: Sequence[str]) -> None:
        self.folder = folder
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith("sglang/") and name.endswith(".py")]
            archive.extractall(folder / "vendor", names)
        words = ", ".join(f'"{word}"' for word in launch)
        (folder / "pyproject.toml").write_text(
            f'[tool.pathtrace]\nsglang = "vendor"\nmodel-config = "{configs[0]}"\ndraft-config = "{configs[1]}"\n'
            'assume = {sm = 90}\n\n[[tool.pathtrace.deployments]]\nname = "production"\n'
            f"launch = [{words}]\n"
        )
        (folder / "other.yaml").write_text("services: {}\n")
        self._git("init", "--quiet")
        self._git("add", ".")
        self._git("commit", "--quiet", "--message", "before")

    def changes(self) -> Iterator[tuple[str, str]]:
        """Stage one change after the other; what it is, and the changed file."""
        yield "no launch and no worker in it", "other.yaml"
        for what, path in (("a step of the worker that loads", LIVE), ("a step that never runs", DEAD)):
            file = self.folder / "vendor" / path
            before = file.read_text("utf-8")
            at = before.index("\n", before.index("):\n", before.index(_VERIFY)) + 1) + 1
            file.write_text(before[:at] + "        pass  # changed\n" + before[at:], "utf-8")
            self._git("add", ".")
            yield what, f"vendor/{path}"
            file.write_text(before, "utf-8")

    def _git(self, *words: str) -> None:
        identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org")
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True)
