"""A worker's hand-off as a graph of functions, for Graphviz and for Mermaid."""

from __future__ import annotations

from typing import TextIO

from pathtrace.reports.document import printable
from pathtrace.tracer.handoff.graph import leading_graph
from pathtrace.tracer.handoff.model import Handoff


def write_dot(handoff: Handoff, stream: TextIO) -> None:
    """The Graphviz language; functions with a site are filled."""
    names, edges = _named(handoff)
    stream.write("digraph handoff {\n  rankdir=LR;\n  node [shape=box, fontname=monospace];\n")
    for node, (label, marked) in names.items():
        text = "\\n".join(part.replace("\\", "\\\\").replace('"', '\\"') for part in label)
        stream.write(f'  {node} [label="{text}"{", style=filled" if marked else ""}];\n')
    for caller, callee in edges:
        stream.write(f"  {caller} -> {callee};\n")
    stream.write("}\n")


def write_mermaid(handoff: Handoff, stream: TextIO) -> None:
    """A Mermaid flowchart; functions with a site are marked."""
    names, edges = _named(handoff)
    stream.write("flowchart LR\n")
    for node, (label, marked) in names.items():
        text = "<br/>".join(part.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;") for part in label)
        stream.write(f'  {node}["{text}"]{":::site" if marked else ""}\n')
    for caller, callee in edges:
        stream.write(f"  {caller} --> {callee}\n")
    stream.write("  classDef site fill:#ffd,stroke:#333,color:#000\n")


def _named(handoff: Handoff) -> tuple[dict[str, tuple[tuple[str, ...], bool]], list[tuple[str, str]]]:
    """Short names with what they stand for and whether they have a site; and the calls."""
    graph = leading_graph(handoff)
    short = {node: f"f{number}" for number, node in enumerate(graph)}
    names = {}
    for node, data in graph.nodes(data=True):
        roles = ", ".join(data["roles"])
        label = (printable(data["name"]), printable(node.rpartition("/")[2]), *((roles,) if roles else ()))
        names[short[node]] = (label, bool(roles))
    return names, [(short[caller], short[callee]) for caller, callee in graph.edges]
