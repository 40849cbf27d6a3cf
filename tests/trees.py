"""The SGLang releases that tests read: real wheels, downloaded once, pinned by hash.

``trees.json`` holds release -> sha256 of the wheel. The wheels lie in the user's cache
(``PATHTRACE_CACHE_DIR`` moves it) and are checked on every use.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pathtrace.tracer.tree.wheel_cache import cache_folder, cached_wheel

PINNED: dict[str, str] = json.loads(Path(__file__).with_name("trees.json").read_text("utf-8"))

# From 0.5.11 on there is a wheel for each interpreter. Reading needs none, so all runs take the same.
SAME_FOR_ALL = (
    *("--only-binary", ":all:", "--implementation", "cp", "--abi", "cp311", "--python-version", "3.11"),
    *("--platform", "manylinux_2_34_x86_64", "--platform", "any"),
)


def wheel(release: str) -> Path:
    """The wheel of a pinned release, fetched if need be, its hash checked."""
    folder = Path(cache_folder()).with_name("pinned-wheels")
    path = Path(cached_wheel(release, _fetch, print, str(folder)))
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != PINNED[release]:
        pytest.fail(
            f"{path} has sha256 {actual}, tests/trees.json pins {PINNED[release]} for {release}: "
            "this is not the wheel that the tests were written for; find out why before changing either",
            pytrace=False,
        )
    return path


def mutable_tree(release: str, folder: Path) -> Path:
    """The release's Python files under ``folder``, to be changed at will; returns ``folder``."""
    with zipfile.ZipFile(wheel(release)) as archive:
        members = [n for n in archive.namelist() if n.startswith("sglang/") and n.endswith(".py")]
        archive.extractall(folder, members)
    return folder


def _fetch(release: str, folder: str) -> str:
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps")
    done = subprocess.run(
        [*pip, *SAME_FOR_ALL, "--dest", folder, f"sglang=={release}"], capture_output=True, text=True, check=False
    )
    wheels = [str(path) for path in Path(folder).glob("*.whl")]
    if done.returncode != 0 or len(wheels) != 1:
        pytest.fail(f"pip could not download sglang {release}:\n{done.stderr[-2000:]}", pytrace=False)
    return wheels[0]
