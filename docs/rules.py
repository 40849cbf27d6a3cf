"""Write docs/rules.md from the rules: ``python docs/rules.py``."""

from __future__ import annotations

import re
from pathlib import Path

from pathtrace.rules.model import Rule
from pathtrace.rules.registry import RULES

PAGE = Path(__file__).with_name("rules.md")

HEAD = """\
# Rules
<!-- written by docs/rules.py from rules/; do not edit -->
A rule looks at what a launch does, and at a change that is about to be made to the tree. `pathtrace rules` lists the
rules, `pathtrace rule PT101` shows one. `pathtrace check --select ALL -- LAUNCH` asks for all of them; `--select` and
`--ignore` take codes, beginnings of codes (`PT1`) and names. A finding makes the exit code 1. Without these options no
rule is asked, but for PT101 where `--patch FILE`, `--diff REV` or `--staged` gives a change.

| code | name |
| --- | --- |
"""


def page() -> str:
    """The page as it should stand in docs/rules.md."""
    table = "".join(f"| [{rule.code}](#{rule.code.lower()}-{rule.name}) | {rule.name} |\n" for rule in RULES)
    return HEAD + table + "".join(map(_section, RULES))


def _section(rule: type[Rule]) -> str:
    text = re.sub(r"^## ", "### ", rule.documentation(), flags=re.MULTILINE)
    return f"\n## {rule.code} {rule.name}\n{text}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
