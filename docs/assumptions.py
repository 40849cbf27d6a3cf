"""Write docs/assumptions.md from the table of facts: ``python docs/assumptions.py``."""

from __future__ import annotations

from pathlib import Path

from pathtrace.tracer.facts import FACTS, Fact

PAGE = Path(__file__).with_name("assumptions.md")

HEAD = """\
# Assumptions
<!-- written by docs/assumptions.py from tracer/facts.py; do not edit -->
A launch does not say everything that its result depends on. What it leaves out about the machine and the models is a
*fact*. A fact is given with `--assume NAME=VALUE`; some have a default; any other is unknown, and the answer then says
what hangs on it. Every report lists the facts that its answer read, with where each value came from.

| fact | kind | meaning | default | what the tree asks |
| --- | --- | --- | --- | --- |
"""

TAIL = """
`*` stands for any name: `--assume pkg.dill=false`, `--assume version.torch=2.9.1`, `--assume hf.vision_config=null`.

Two more things are taken for granted. The packages that the release itself requires are installed, in versions that it
accepts. And what a call of a package outside the tree returns is unknown, but the call itself succeeds: see
[limits.md](limits.md).
"""


def page() -> str:
    """The page as it should stand in docs/assumptions.md."""
    return HEAD + "".join(map(_row, FACTS)) + TAIL


def _row(fact: Fact) -> str:
    default = "unknown" if fact.default is None else f"`{fact.default}`"
    return f"| `{fact.name}` | {fact.kind} | {fact.meaning} | {default} | {fact.asked} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
