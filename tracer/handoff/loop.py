"""Whether a worker hands on what the overlap loop reads."""

from __future__ import annotations

from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.handoff.definitions import Definitions
from pathtrace.tracer.handoff.find import find_handoff
from pathtrace.tracer.handoff.model import Consumer
from pathtrace.tracer.handoff.worker import FIELD
from pathtrace.tracer.tree.model import Tree


def unmet_reader(tree: Tree, module: str, name: str, field: str = FIELD) -> Consumer | None:
    """The statement of the overlap loop that reads a field which this worker's step never sets; None if it does.

    A worker whose own files speak of the field is taken to set it; any other is followed.
    """
    sources = Sources(tree)
    definitions = Definitions(sources)
    cls = definitions.find(module, name)
    if cls is None or any(field.encode() in (sources.read(each.file) or b"") for each in definitions.line(cls)):
        return None
    handoff = find_handoff(tree, module, name, field)
    if handoff.named:
        return None
    return next((each for each in handoff.consumers if each.loop == "overlap"), None)
