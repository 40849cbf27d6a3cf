"""Findings that a project knows of and lets pass: their fingerprints, in a file of the project."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pathtrace.rules.fingerprint import fingerprint
from pathtrace.tracer.answer import Finding
from pathtrace.tracer.errors import BadInput

VERSION = 1
LIMIT = 8 << 20


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints of a baseline.

    Raises:
        BadInput: it cannot be read, or is none.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(LIMIT + 1)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror}); --update-baseline makes it", path) from None
    if len(data) > LIMIT:
        raise BadInput("is over 8 MB; a baseline is smaller", path)
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
