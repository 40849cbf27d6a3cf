"""``sglang serve``: the words that the tree's own front end hands to the server's parser.

The front end is the tree's ``sglang/cli/serve.py``. It runs here up to the parser. Whether a model is a
diffusion model, which the front end asks the model itself, is taken to be answered with no; a launch
that says ``--model-type diffusion`` has no speculative worker, and is told so.
"""

from __future__ import annotations

from typing import Any

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.eval.machine import Machine
from pathtrace.tracer.eval.objects import get_attr
from pathtrace.tracer.eval.values import Args, ModuleV, Native

MODULE = "sglang.cli.serve"
ARGS_MODULE = "sglang.srt.server_args"
LAUNCHER = "sglang.launch_server"
DIFFUSION = "sglang.multimodal_gen"

_ASKS_THE_MODEL = ("get_is_diffusion_model", "is_registered_native_pipeline")


def server_words(m: Machine, argv: tuple[str, ...]) -> Any:
    """What ``prepare_server_args`` is given by the tree's ``serve``.

    Raises:
        BadInput: the tree has no ``sglang serve``, the launch starts no language model server, or the
            front end cannot be followed.
        Raised: the front end refuses the words.
    """
    if m.find_module(MODULE) is None:
        raise BadInput(
            "this tree has no `sglang serve` (no sglang/cli/serve.py); write python -m sglang.launch_server ...",
            m.sources.tree.info.given,
        )
    front, launcher, parser = (m.import_module(name) for name in (MODULE, LAUNCHER, ARGS_MODULE))
    given: list[Any] = []

    def keep(_m: Machine, args: Args) -> None:
        given.append(args.pos[0] if args.pos else args.kw.get("argv"))

    doubles: list[tuple[ModuleV, str, Any]] = [
        (parser, "prepare_server_args", Native("prepare_server_args", keep)),
        (launcher, "run_server", Native("run_server", lambda _m, _args: None)),
        (front, "kill_process_tree", Native("kill_process_tree", lambda _m, _args: None)),
    ]
    doubles += [(front, name, Native(name, lambda _m, _args: False)) for name in _ASKS_THE_MODEL if name in front.slots]
    kept = [(module, name, module.slots.get(name)) for module, name, _double in doubles]
    for module, name, double in doubles:
        module.slots[name] = double
    m.closed_packages = {
        DIFFUSION: "this launch starts the server for diffusion models, which has no speculative worker"
    }
    try:
        m.call(get_attr(m, front, "serve"), Args([None, m.lower(list(argv))]))
    finally:
        m.closed_packages = {}
        for module, name, own in kept:
            module.slots[name] = own
    if len(given) != 1:
        raise BadInput(
            "what this tree's `sglang serve` hands to the server cannot be followed; write the launch as "
            "python -m sglang.launch_server ...",
            f"{front.path}",
        )
    return given[0]
