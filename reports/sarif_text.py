"""Messages of SARIF, and the rules as its descriptors."""

from __future__ import annotations

import re
from typing import Any

from pathtrace.reports.document import printable
from pathtrace.rules.model import Rule

Json = dict[str, Any]


def message(text: str) -> Json:
    """A plain text message: braces doubled (3.11.5), and nothing in it a link (3.11.6)."""
    return {"text": _literal(printable(text))}


def descriptor(rule: type[Rule]) -> Json:
    """What a viewer shows of a rule."""
    documentation = rule.documentation()
    sections = dict(_sections(documentation))
    does = sections["What it does"]
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": message(re.split(r"(?<=\.) ", does, maxsplit=1)[0]),
        "fullDescription": message(f"{does} {sections['Why is this bad']}"),
        "help": {
            "text": _literal(documentation.replace("## ", "")),
            "markdown": documentation.replace("{", "{{").replace("}", "}}"),
        },
        "defaultConfiguration": {"level": "error"},
    }


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _sections(documentation: str) -> list[tuple[str, str]]:
    parts = re.split(r"^## (.*)\n", documentation, flags=re.MULTILINE)
    return [(name, " ".join(text.split())) for name, text in zip(parts[1::2], parts[2::2], strict=True)]
