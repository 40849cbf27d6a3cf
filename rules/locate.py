"""Where a user would mend a finding: the very flag or variable, else the deployment."""

from __future__ import annotations

from dataclasses import replace

from pathtrace.tracer.answer import Finding, Site
from pathtrace.tracer.manifests.model import FoundLaunch, Spot, UnreadLaunch
from pathtrace.tracer.project.model import Deployment


def located(finding: Finding, deployment: Deployment) -> Finding:
    """The finding with its place; one of a launch that was typed has none."""
    if finding.at is not None or not deployment.file:
        return finding
    spot = _spot(finding.input, deployment.found)
    site = Site(deployment.file, deployment.line) if spot is None else Site(deployment.file, spot.line, spot.column)
    return replace(finding, at=site)


def _spot(name: str | None, found: FoundLaunch | UnreadLaunch | None) -> Spot | None:
    if found is None or isinstance(found, UnreadLaunch) or name is None:
        return None if found is None else found.spot
    if name in found.variables:
        return found.variables[name]
    for word, spot in zip(found.launch.argv, found.words, strict=False):
        flag = word.partition("=")[0]
        # argparse takes a beginning of a flag for the flag.
        if flag == name or (len(flag) > 2 and flag.startswith("--") and name.startswith(flag)):
            return spot
    return found.spot
