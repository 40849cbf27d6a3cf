"""Small made-up SGLang trees in every form a tree can have."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

BOOBY_TRAP = b"raise SystemExit('the tree was executed')\n"

SOURCES: dict[str, bytes] = {
    "sglang/__init__.py": BOOBY_TRAP,
    "sglang/version.py": b'__version__ = "0.9.1"\n',
    "sglang/srt/__init__.py": b"",
    "sglang/srt/server_args.py": BOOBY_TRAP + b"# \xc3\xa9\r\n",
    "sglang/srt/speculative/__init__.py": b"",
    "sglang/srt/speculative/eagle_worker.py": b"class EAGLEWorker: ...\n",
}


def directory(folder: Path, sources: dict[str, bytes] = SOURCES) -> Path:
    """Write the sources below a folder; returns the folder that holds ``sglang/``."""
    for name, content in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def wheel(path: Path, sources: dict[str, bytes] = SOURCES) -> Path:
    """Write the sources as a wheel."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sources.items():
            archive.writestr(name, content)
    return path


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as nobody in particular."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, "-C", str(folder), *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, message: str) -> str:
    """Commit all that lies in a repository's folder; returns the commit's name."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path, below: str = "python", sources: dict[str, bytes] = SOURCES) -> Path:
    """A repository with one commit whose package lies in ``below``."""
    directory(folder / below, sources)
    git(folder, "init", "--quiet")
    commit(folder, "first")
    return folder
