"""What makes a finding the same one tomorrow, after lines and folders have moved."""

from __future__ import annotations

import hashlib
import json
import os
import re

from pathtrace.tracer.answer import Finding

LENGTH = 32

_LINE = re.compile(r"(?<=\S):\d+\b")
_ABSOLUTE = re.compile(r"(?<![\w.~/:])/(?:[^\s/'\",;]+/)*(?=[^\s/'\",;])")


def fingerprint(finding: Finding, deployment: str) -> str:
    """Hexadecimal digits that stay while the finding does.

    They come from the rule, the deployment, the message without its lines and folders, and the file: the tree's, or
    the name of the user's where the finding is about no line of the tree.

    Args:
        finding: what a rule found.
        deployment: the name of the deployment that it was found in.
    """
    parts = [finding.code, deployment, _steady(finding.message), _file(finding)]
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:LENGTH]


def _steady(message: str) -> str:
    """The message without ``:LINE`` and without the folders of absolute paths."""
    return " ".join(_ABSOLUTE.sub("", _LINE.sub("", message)).split())


def _file(finding: Finding) -> str:
    if finding.place is not None:
        return finding.place.file
    return "" if finding.at is None else os.path.basename(finding.at.file)
