"""The transformers that the chosen interpreter has: its configuration classes are read, never imported."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion

from pathtrace.tracer.configs.config_source import ConfigClassReader
from pathtrace.tracer.tree.interpreter import package_folders

_VERSION = re.compile(r"""^__version__\s*=\s*["']([^"']+)["']""", re.MULTILINE)


@dataclass(frozen=True)
class InstalledTransformers:
    """One installation.

    Attributes:
        root: the package's folder.
        version: as ``transformers/__init__.py`` says it; None where it does not.
        reader: reads its configuration classes.
    """

    root: Path
    version: str | None
    reader: ConfigClassReader

    def meets(self, required: str | None) -> bool:
        """Whether a tree that requires ``required`` (``==4.57.1``; None: not said) would run with it."""
        if required is None or self.version is None:
            return required is None
        try:
            return SpecifierSet(required).contains(self.version, prereleases=True)
        except (InvalidSpecifier, InvalidVersion):
            return False


def installed_transformers(python: str | None) -> InstalledTransformers | None:
    """The transformers of an interpreter (this one for None); None where it has none.

    Raises:
        BadInput: there is no such interpreter, or it cannot be run.
    """
    for folder in package_folders(python, "transformers"):
        if (Path(folder) / "models").is_dir():
            return _at(Path(folder))
    return None


@functools.lru_cache(maxsize=4)
def _at(root: Path) -> InstalledTransformers:
    try:
        text = (root / "__init__.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = _VERSION.search(text)
    return InstalledTransformers(root, None if match is None else match.group(1), ConfigClassReader(root))
