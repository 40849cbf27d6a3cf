"""Launches in files as deployments: each with what holds for all launches of the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pathtrace.tracer.project.model import Deployment


def deployments_in(file: Path, shared: Deployment, given: Mapping[str, str]) -> tuple[Deployment, ...]:
    """The launches that a file holds.

    Args:
        file: a script, Dockerfile, manifest, unit or Python file.
        shared: what holds for each of them.
        given: variables that are stated for the file itself.

    Raises:
        BadInput: the file cannot be read.
    """
    from pathtrace.tracer.manifests.find import find_launches

    return tuple(
        replace(shared, name=each.name or file.name, file=each.file, line=each.spot.line, found=each)
        for each in find_launches(file, given)
    )
