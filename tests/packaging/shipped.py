"""Which files of the repository belong in the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_SHIPPED = {"tests", "benchmarks", "docs", "build", "dist"}
# A folder for PYTHONPATH, which must not be a package: shipped as data.
CARRIER = ROOT / "instrument" / "site"


def sources() -> Iterator[Path]:
    """The package's Python files, as absolute paths."""
    for path in sorted(ROOT.rglob("*.py")):
        top = path.relative_to(ROOT).parts[0]
        if top not in NOT_SHIPPED and not top.startswith(".") and path.parent != CARRIER:
            yield path
