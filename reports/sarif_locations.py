"""Locations of SARIF: files below the current folder, and files of trees.

A file below the current folder is relative to ``%SRCROOT%``. A file of a tree that lies elsewhere is relative to a
base of that tree's own, which the log describes and gives no URI: the report names no folder of this machine for it.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterable
from typing import Any

from pathtrace.reports.locations import below_here
from pathtrace.reports.sarif_text import message
from pathtrace.tracer.answer import Place, Site, TreeInfo

Json = dict[str, Any]
HERE = "%SRCROOT%"


class Locations:
    """Makes locations for a set of trees.

    Args:
        trees: every tree that places will be of.
    """

    def __init__(self, trees: Iterable[TreeInfo]) -> None:
        elsewhere = [tree for tree in dict.fromkeys(trees) if not _is_here(tree)]
        self._bases = {tree: f"TREE{number}" for number, tree in enumerate(elsewhere, 1)}

    def bases(self) -> Json:
        """``run.originalUriBaseIds``."""
        described = {HERE: "The folder that pathtrace was run in."}
        for tree, name in self._bases.items():
            version = "SGLang of no stated version" if tree.version is None else f"SGLang {tree.version}"
            described[name] = f"The folder that holds the sglang package of {version}, {tree.kind}."
        return {name: {"description": message(text)} for name, text in described.items()}

    def of_site(self, site: Site) -> Json:
        """A line of the user's own file."""
        relative = below_here(site.file)
        if relative is None:
            artifact = {"uri": f"file://{percent_encoded(os.path.abspath(site.file))}"}
        else:
            artifact = {"uri": percent_encoded(relative), "uriBaseId": HERE}
        return {"physicalLocation": {"artifactLocation": artifact, **_region(site.line, site.column)}}

    def of_place(self, place: Place, tree: TreeInfo) -> Json:
        """A line of a tree."""
        if tree not in self._bases:
            return self.of_site(Site(os.path.join(tree.path, place.file), place.line))
        artifact = {"uri": percent_encoded(place.file.lstrip("/")), "uriBaseId": self._bases[tree]}
        return {"physicalLocation": {"artifactLocation": artifact, **_region(place.line, None)}}


def percent_encoded(path: str) -> str:
    """The path in a URI; bytes of a name that is no UTF-8 are encoded as they are."""
    try:
        data = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = path.encode("utf-8", "surrogatepass")
    return urllib.parse.quote(data)


def _is_here(tree: TreeInfo) -> bool:
    return tree.kind == "directory" and below_here(tree.path) is not None


def _region(line: int | None, column: int | None) -> Json:
    if line is None or line < 1:
        return {}
    return {"region": {"startLine": line} if column is None else {"startLine": line, "startColumn": column}}
