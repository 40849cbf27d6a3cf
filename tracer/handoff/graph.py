"""The call graph of a worker's step, cut down to what leads to the hand-off."""

from __future__ import annotations

import networkx

from pathtrace.tracer.handoff.model import Handoff


def call_graph(handoff: Handoff) -> networkx.DiGraph[str]:
    """Functions as ``file:line`` of their definition, with ``name`` and ``roles``; an edge is a call."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    for call in handoff.calls:
        graph.add_node(call.caller_at, name=call.caller, roles=())
        graph.add_node(call.callee_at, name=call.callee, roles=())
        graph.add_edge(call.caller_at, call.callee_at)
    for role in handoff.functions:
        if role.on_path:
            graph.add_node(f"{role.file}:{role.line}", name=role.name, roles=role.roles)
    return graph


def leading_graph(handoff: Handoff) -> networkx.DiGraph[str]:
    """The part of the call graph from the entry method to the functions that have a site."""
    graph = call_graph(handoff)
    ends = [node for node, roles in graph.nodes(data="roles") if roles]
    kept = set(ends).union(*(networkx.ancestors(graph, node) for node in ends))
    part = graph.subgraph(kept)
    found: networkx.DiGraph[str] = networkx.DiGraph()
    found.add_nodes_from((node, part.nodes[node]) for node in graph if node in kept)
    found.add_edges_from(edge for edge in graph.edges if edge in part.edges)
    return found
