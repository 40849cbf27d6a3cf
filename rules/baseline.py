"""Findings that a project knows of and lets pass: their fingerprints, in a file of the project."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pathtrace.rules.fingerprint import fingerprint
from pathtrace.tracer.answer import Finding
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.reading import read_limited

VERSION = 1
LIMIT = 8 << 20


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints of a baseline.

    Raises:
        BadInput: it cannot be read, or is none.
    """
    data = read_limited(path, LIMIT, "a baseline that --update-baseline has made")
    try:
        document = json.loads(data)
        if document["version"] != VERSION:
            raise BadInput(f"is a baseline of version {document['version']}; make it anew with --update-baseline", path)
        return frozenset(str(each["fingerprint"]) for each in document["findings"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadInput("is no baseline; make it with --update-baseline", path) from error


def write_baseline(path: str, findings: Iterable[tuple[str, Finding]]) -> None:
    """Write the findings of each deployment, by name, in an order that changes little.

    Raises:
        BadInput: the file cannot be written.
    """
    listed = sorted(
        (
            {
                "fingerprint": fingerprint(finding, deployment),
                "deployment": deployment,
                "code": finding.code,
                "message": finding.message,
            }
            for deployment, finding in findings
        ),
        key=lambda each: (each["deployment"], each["code"], each["fingerprint"]),
    )
    try:
        Path(path).write_text(json.dumps({"version": VERSION, "findings": listed}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be written ({error.strerror})", path) from None
