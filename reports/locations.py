"""Where a finding is shown: the user's file first, then the line of the tree."""

from __future__ import annotations

import os

from pathtrace.tracer.answer import Finding, Place, Site, TreeInfo
from pathtrace.tracer.project.check import Checked


def below_here(path: str) -> str | None:
    """The path from the current folder, with ``/``; None where it is not below it."""
    relative = os.path.relpath(os.path.abspath(path), os.getcwd()).replace(os.sep, "/")
    return None if relative == ".." or relative.startswith("../") else relative


def shown_path(path: str) -> str:
    """The path from the current folder where it is below it, else as given."""
    return below_here(path) or path


def tree_path(place: Place, tree: TreeInfo) -> str:
    """The file of a tree that is a folder, as ``shown_path``; of any other tree, its path in the tree."""
    return shown_path(os.path.join(tree.path, place.file)) if tree.kind == "directory" else place.file


def path_beside(place: Place, tree: TreeInfo) -> str:
    """The file of a tree, where it is named beside the user's own: the folder only where the tree is below here."""
    below = below_here(os.path.join(tree.path, place.file)) if tree.kind == "directory" else None
    return below or place.file


def written_at(checked: Checked) -> Site | None:
    """Where a deployment is written; None for a launch that was typed."""
    return checked.at if checked.at.file else None


def user_site(finding: Finding, checked: Checked) -> Site | None:
    """The user's own line to look at; None where the launch was typed."""
    return finding.at if finding.at is not None and finding.at.file else written_at(checked)


def escaped(text: str) -> str:
    """The text with control characters as escapes; blanks stay, for in a path they count."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def site_text(site: Site) -> str:
    """``deploy/prod.yaml:12:7``, as far as it is known."""
    numbers = [site.line, site.column] if site.line is not None else []
    return ":".join([escaped(site.file), *(str(each) for each in numbers if each is not None)])
