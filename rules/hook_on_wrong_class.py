"""PT303 hook-on-wrong-class."""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.rules.dead_patch import loads
from pathtrace.rules.examples import V1, V2, launch
from pathtrace.rules.model import Rule, Subject
from pathtrace.tracer.answer import Finding, Place, Site
from pathtrace.tracer.change.hook_model import HookTarget, JudgedHook
from pathtrace.tracer.change.judge import Twin

_ON_V2 = HookTarget(
    "sglang.srt.speculative.eagle_worker_v2", "EAGLEWorkerV2.verify", "hooks.py", 5, 23, "HookRegistry.register"
)
_TWIN = Twin("EAGLEWorker.verify", V1, 691)
_DEAD = JudgedHook(_ON_V2, False, True, (V2, 705), _TWIN)


class HookOnWrongClass(Rule):
    """## What it does
    Finds a hook of the project on a class or function of a speculative worker that the launch never runs, or that the
    tree does not have.

    Hooks are plugin hooks (`HookRegistry.register`, `plugin_hook`), wrapt wrappers, `unittest.mock.patch`, and
    assignments to a class or module of SGLang.

    ## Why is this bad
    The hook is applied, its log line says so, and it is never called.

    ## Example
    `HookRegistry.register("sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify", ...)` with release 0.5.9 and
    no `SGLANG_ENABLE_SPEC_V2=1`: the server loads `EAGLEWorker`.

    ## Use instead
    The class that loads: the finding names it. A file that hooks the one that runs as well is not found.
    """

    code = "PT303"
    name = "hook-on-wrong-class"
    VALID = (
        launch(),
        launch(hooks=(JudgedHook(_ON_V2, True, True, (V2, 705)),)),
        launch(hooks=(JudgedHook(_ON_V2, False, True, (V2, 705), _TWIN, covered=True),)),
    )
    INVALID = (
        (
            launch(hooks=(_DEAD,)),
            f"{_ON_V2.name} is hooked, and this launch never runs it: it loads EAGLEWorker. "
            f"What runs is EAGLEWorker.verify, {V1}:691",
        ),
        (
            launch(hooks=(JudgedHook(_ON_V2, False, False),)),
            f"{_ON_V2.name} is hooked, and it names nothing in this tree",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each such hook, where it is written."""
        for each in subject.hooks:
            if each.runs or each.covered:
                continue
            target = each.target
            never = f"this launch never runs it: {loads(subject)}" if each.exists else "it names nothing in this tree"
            text = f"{target.name} is hooked, and {never}"
            if each.twin is not None:
                text += f". What runs is {each.twin.name}, {each.twin.file}:{each.twin.line}"
            place = None if each.place is None else Place(*each.place)
            yield Finding(self.code, text, place, at=Site(target.file, target.line, target.column))
