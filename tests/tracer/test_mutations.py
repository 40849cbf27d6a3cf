"""The tree decides, never its version: a changed tree gives the changed answer.

Every mutation says what it replaces; text that is not there exactly once fails the test, not the tracer.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, PARAMETERS, TRUTH, Mutant, ask, said, speculate
from pathtrace.tracer.errors import BadInput

if TYPE_CHECKING:
    from pathtrace.tracer.answer import Answer
    from pathtrace.tracer.tree.model import Tree

Trees = Callable[[str], "Tree"]

SPEC_INFO = "speculative/spec_info.py"
V1_IMPORT = "from sglang.srt.speculative.eagle_worker import EAGLEWorker\n"
V1 = "speculative/eagle_worker.py"
V2_ON = {"SGLANG_ENABLE_SPEC_V2": "1"}
V2_OFF = {"SGLANG_ENABLE_SPEC_V2": "0"}


def line_of(mutant: Mutant, name: str, text: str) -> int:
    """The line of a text that is there exactly once."""
    whole = mutant.text(name)
    assert whole.count(text) == 1
    return whole[: whole.index(text)].count("\n") + 1


def decided(answer: Answer) -> Answer:
    """An answer that hangs on nothing."""
    assert answer.outcome != "undecided", answer.alternatives
    return answer


# --------------------------------------------------------------------- modules and classes: 0.5.9


def test_a_renamed_module_is_followed_where_the_import_follows(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).move(V1, "speculative/plain/worker.py")
    mutant.write("speculative/plain/__init__.py", "")
    mutant.replace(SPEC_INFO, V1_IMPORT, "from sglang.srt.speculative.plain.worker import EAGLEWorker\n")
    worker = speculate(mutant.tree).worker
    assert worker is not None
    assert (worker.cls, worker.module) == ("EAGLEWorker", "sglang.srt.speculative.plain.worker")
    assert worker.file == "sglang/srt/speculative/plain/worker.py"
    assert worker.line == line_of(mutant, "speculative/plain/worker.py", "class EAGLEWorker(")


def test_a_renamed_module_that_the_choice_does_not_follow_is_a_refusal(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).move(V1, "speculative/plain_worker.py")
    answer = speculate(mutant.tree)
    line = line_of(mutant, SPEC_INFO, V1_IMPORT)
    assert said(answer) == (f"ModuleNotFoundError at spec_info.py:{line}", "dispatch")
    assert answer.refusal is not None
    assert answer.refusal.message == "No module named 'sglang.srt.speculative.eagle_worker'"


def test_a_class_whose_module_imports_a_renamed_module_is_a_refusal(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).move(V1, "speculative/plain_worker.py")
    mutant.replace(SPEC_INFO, V1_IMPORT, "from sglang.srt.speculative.plain_worker import EAGLEWorker\n")
    assert said(speculate(mutant.tree)) == ("EAGLEWorker", "synchronous")
    line = line_of(mutant, "speculative/standalone_worker.py", V1_IMPORT)
    assert said(speculate(mutant.tree, "STANDALONE")) == (
        f"ModuleNotFoundError at standalone_worker.py:{line}",
        "dispatch",
    )


def test_a_renamed_class_is_followed_where_the_import_follows(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).replace(V1, "class EAGLEWorker(", "class PlainWorker(")
    mutant.replace(SPEC_INFO, V1_IMPORT, V1_IMPORT.replace("EAGLEWorker\n", "PlainWorker as EAGLEWorker\n"))
    assert said(speculate(mutant.tree)) == ("PlainWorker", "synchronous")


def test_a_renamed_class_that_the_choice_does_not_follow_is_a_refusal(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).replace(V1, "class EAGLEWorker(", "class PlainWorker(")
    answer = speculate(mutant.tree)
    assert said(answer) == (f"ImportError at spec_info.py:{line_of(mutant, SPEC_INFO, V1_IMPORT)}", "dispatch")
    assert answer.refusal is not None
    assert answer.refusal.message.startswith(
        "cannot import name 'EAGLEWorker' from 'sglang.srt.speculative.eagle_worker'"
    )


def test_the_line_is_where_the_class_is_now(tree: Trees) -> None:
    before = speculate(tree("0.5.9")).worker
    mutant = Mutant(tree("0.5.9"))
    after = speculate(mutant.write(V1, "# moved\n" * 7 + mutant.text(V1)).tree).worker
    assert before is not None and after is not None
    assert after.line == before.line + 7


def test_what_a_tree_calls_itself_decides_nothing(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9"))
    for name in ("version.py", "_version.py"):
        mutant.tree.files[f"sglang/{name}"] = b'__version__ = "0.5.23"\n__version_tuple__ = (0, 5, 23)\n'
    assert said(speculate(mutant.tree)) == ("EAGLEWorker", "synchronous")


# --------------------------------------------------------------------- the worker's own top level


@pytest.mark.parametrize(
    ("old", "new", "exception", "at"),
    [
        ("class EAGLEWorker(TpModelWorker):\n", "class EAGLEWorker(TpModelWorkerOfOld):\n", "NameError", None),
        (
            "class EAGLEWorker(TpModelWorker):\n",
            "class EAGLEWorker(TpModelWorker):\n    most = MOST_STEPS\n",
            "NameError",
            "    most = ",
        ),
        (
            "class EAGLEWorker(TpModelWorker):\n",
            "def f(x: NotImported) -> None: ...\n\n\nclass EAGLEWorker(TpModelWorker):\n",
            "NameError",
            "def f(x",
        ),
        (
            "import torch\n",
            "import torch\nimport sglang.srt.speculative.gone\n",
            "ModuleNotFoundError",
            "import sglang.srt.speculative.gone",
        ),
        (
            "import torch\n",
            "import torch\nfrom sglang.srt.environ import gone\n",
            "ImportError",
            "from sglang.srt.environ import gone",
        ),
        (
            "import torch\n",
            "import torch\nfrom sglang.srt.environ import envs as e\ne.SGLANG_GONE.get()\n",
            "AttributeError",
            "e.SGLANG_GONE",
        ),
        (
            "import torch\n",
            "import torch\nraise RuntimeError('not here')\n",
            "RuntimeError",
            "raise RuntimeError('not here')",
        ),
        ("import torch\n", "import torch\nassert not {'a': 1}['b']\n", "KeyError", "assert not {'a'"),
    ],
    ids=["base", "class body", "annotation", "module", "name", "attribute", "raise", "key"],
)
def test_a_class_whose_module_cannot_be_imported_is_a_refusal(
    old: str, new: str, exception: str, at: str | None, tree: Trees
) -> None:
    mutant = Mutant(tree("0.5.9")).replace(V1, old, new)
    line = line_of(mutant, V1, at or new)
    assert said(speculate(mutant.tree)) == (f"{exception} at eagle_worker.py:{line}", "dispatch")


def test_the_other_class_does_not_mind(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).replace("speculative/eagle_worker_v2.py", "import torch\n", "import gone.a\nGONE\n")
    assert said(speculate(mutant.tree)) == ("EAGLEWorker", "synchronous")
    assert said(speculate(mutant.tree, env=V2_ON))[1] == "dispatch"


def test_an_annotation_that_is_never_evaluated_does_not_matter(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9"))
    mutant.write(V1, "from __future__ import annotations\n" + mutant.text(V1))
    mutant.replace(
        V1, "class EAGLEWorker(TpModelWorker):\n", "def f(x: Gone): ...\n\n\nclass EAGLEWorker(TpModelWorker):\n"
    )
    assert said(speculate(mutant.tree)) == ("EAGLEWorker", "synchronous")


# --------------------------------------------------------------------- defaults, conditions, checks


def test_a_flipped_default(tree: Trees) -> None:
    default = "SGLANG_ENABLE_SPEC_V2 = EnvBool({})"
    mutant = Mutant(tree("0.5.9")).replace("environ.py", default.format("False"), default.format("True"))
    assert said(speculate(mutant.tree)) == ("EAGLEWorkerV2", "overlap")
    assert said(speculate(mutant.tree, env=V2_OFF)) == ("EAGLEWorker", "synchronous")


def test_an_inverted_condition(tree: Trees) -> None:
    old = "elif self.is_eagle():\n            if enable_overlap:"
    mutant = Mutant(tree("0.5.9")).replace(SPEC_INFO, old, old.replace("enable_overlap", "not enable_overlap"))
    assert said(speculate(mutant.tree)) == ("EAGLEWorkerV2", "synchronous")
    assert said(speculate(mutant.tree, env=V2_ON)) == ("EAGLEWorker", "overlap")


def test_a_check_that_is_gone_refuses_nothing(tree: Trees) -> None:
    wide = ("--speculative-eagle-topk", "4", "--speculative-num-draft-tokens", "8")
    assert said(speculate(tree("0.5.9"), "EAGLE3", *wide, env=V2_ON))[1] == "resolve"
    text = (
        '                    raise ValueError(\n                        "Spec v2 currently only supports topk = 1 '
        'for speculative decoding."\n                    )\n'
    )
    mutant = Mutant(tree("0.5.9")).replace("server_args.py", text, "                    pass\n")
    answer = speculate(mutant.tree, "EAGLE3", *wide, env=V2_ON)
    assert said(answer) == ("EAGLEWorkerV2", "overlap")
    assert answer.resolved["speculative_eagle_topk"] == 4


def test_another_limit_in_a_check(tree: Trees) -> None:
    old = 'and self.speculative_eagle_topk > 1\n                ):\n                    raise ValueError(\n                        "Spec v2'  # noqa: E501
    mutant = Mutant(tree("0.5.9")).replace("server_args.py", old, old.replace("> 1", "> 4"))
    wide = ("--speculative-num-draft-tokens", "8", "--speculative-eagle-topk")
    assert said(speculate(mutant.tree, "EAGLE3", *wide, "4", env=V2_ON)) == ("EAGLEWorkerV2", "overlap")
    assert said(speculate(mutant.tree, "EAGLE3", *wide, "5", env=V2_ON))[1] == "resolve"


def test_an_early_return(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).replace(
        "server_args.py",
        "        # Handle speculative decoding logic.\n",
        "        if self.tp_size == 1:\n            return\n\n        # Handle speculative decoding logic.\n",
    )
    assert said(speculate(mutant.tree)) == ("EAGLEWorkerV2", "overlap")
    assert said(speculate(mutant.tree, "EAGLE3", "--tp", "2")) == ("EAGLEWorker", "synchronous")


# --------------------------------------------------------------------- handlers


def moved_handler(mutant: Mutant) -> Mutant:
    """The body of the speculative handler as a function of a module of its own."""
    text = mutant.text("server_args.py")
    method = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == "_handle_speculative_decoding"
    )
    lines = text.split("\n")
    body = textwrap.dedent("\n".join(lines[method.lineno - 1 : method.end_lineno]))
    mutant.write(
        "arg_hooks/speculative.py",
        "import logging\n\nfrom sglang.srt.environ import envs\n\nlogger = logging.getLogger(__name__)\n\n\n"
        "def auto_choose_speculative_params(args):\n"
        "    from sglang.srt.server_args import auto_choose_speculative_params as choose\n\n"
        "    return choose(args)\n\n\n" + body + "\n",
    )
    mutant.write("arg_hooks/__init__.py", "from .speculative import _handle_speculative_decoding as handle\n")
    lines[method.lineno : method.end_lineno] = [
        "        from sglang.srt import arg_hooks",
        "",
        "        arg_hooks.handle(self)",
    ]
    return mutant.write("server_args.py", "\n".join(lines))


def test_a_handler_moved_to_another_module(tree: Trees) -> None:
    mutant = moved_handler(Mutant(tree("0.5.9")))
    assert said(speculate(mutant.tree)) == ("EAGLEWorker", "synchronous")
    on = speculate(mutant.tree, env=V2_ON)
    assert said(on) == ("EAGLEWorkerV2", "overlap")
    assert any(step.place.file == "sglang/srt/arg_hooks/speculative.py" for step in on.decisions)
    refused = speculate(mutant.tree, "EAGLE3", "--speculative-eagle-topk", "4", env=V2_ON).refusal
    assert refused is not None
    assert (refused.phase, refused.file) == ("resolve", "sglang/srt/arg_hooks/speculative.py")


def test_a_reordered_pair_of_handlers(tree: Trees) -> None:
    """The model's hook sets the variable too late: multi-layer with V2 off is a NameError at import."""
    mimo = str(TRUTH / "models/mimo_v2/config.json")
    words = ("--model-path", str(TRUTH / "models/mimo_v2"), "--speculative-algorithm", "EAGLE", *PARAMETERS)
    assert said(ask(tree("0.5.9"), *words, model=mimo, draft=None)) == ("MultiLayerEagleWorkerV2", "overlap")
    model, speculative = (
        "        self._handle_model_specific_adjustments()\n",
        "        self._handle_speculative_decoding()\n",
    )
    mutant = (
        Mutant(tree("0.5.9"))
        .replace("server_args.py", model, "")
        .replace("server_args.py", speculative, speculative + model)
    )
    what, phase = said(ask(mutant.tree, *words, model=mimo, draft=None))
    assert phase == "dispatch"
    assert what is not None and what.startswith("NameError at multi_layer_eagle_worker.py")


def test_a_handler_that_is_not_called_any_more(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).replace("server_args.py", "        self._handle_speculative_decoding()\n", "")
    assert said(speculate(mutant.tree)) == ("EAGLEWorkerV2", "overlap")


# --------------------------------------------------------------------- new inputs, new algorithms


def with_medusa(mutant: Mutant) -> Mutant:
    """A new algorithm: a member, a branch, a worker and a choice of the flag."""
    mutant.replace(SPEC_INFO, "    NGRAM = auto()\n", "    NGRAM = auto()\n    MEDUSA = auto()\n")
    mutant.replace(
        SPEC_INFO,
        '        raise ValueError("Unreachable code path in create_worker.")\n',
        "        elif self == SpeculativeAlgorithm.MEDUSA:\n"
        "            from sglang.srt.speculative.medusa_worker import MedusaWorker\n\n"
        "            return MedusaWorker\n\n"
        '        raise ValueError("Unreachable code path in create_worker.")\n',
    )
    mutant.write(
        "speculative/medusa_worker.py",
        "from sglang.srt.managers.tp_worker import TpModelWorker\n\n\n"
        "class MedusaWorker(TpModelWorker):\n    def forward_batch_generation(self, batch):\n        return None\n",
    )
    return mutant.replace(
        "server_args.py",
        'choices=["EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM"]',
        'choices=["EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "MEDUSA"]',
    )


def test_a_new_algorithm_with_its_own_worker(tree: Trees) -> None:
    assert said(speculate(tree("0.5.9"), "MEDUSA"))[1] == "parse"
    answer = speculate(with_medusa(Mutant(tree("0.5.9"))).tree, "MEDUSA")
    assert said(answer) == ("MedusaWorker", "overlap")
    assert answer.worker is not None
    assert (answer.worker.module, answer.worker.line) == ("sglang.srt.speculative.medusa_worker", 4)


def test_a_new_algorithm_without_a_branch_is_the_trees_own_error(tree: Trees) -> None:
    mutant = with_medusa(Mutant(tree("0.5.9")))
    mutant.replace(SPEC_INFO, "elif self == SpeculativeAlgorithm.MEDUSA:", "elif self.is_medusa:")
    assert said(speculate(mutant.tree, "MEDUSA"))[0] == (
        f"AttributeError at spec_info.py:{line_of(mutant, SPEC_INFO, 'elif self.is_medusa:')}"
    )


@pytest.mark.parametrize(
    ("declare", "test"),
    [
        ("SGLANG_PLAIN_WORKER = EnvBool(False)", "envs.SGLANG_PLAIN_WORKER.get()"),
        ("", "os.environ.get('SGLANG_PLAIN_WORKER', '') in ('1', 'yes')"),
        ("", "bool(int(os.getenv('SGLANG_PLAIN_WORKER') or 0))"),
        ("", "get_bool_env_var('SGLANG_PLAIN_WORKER')"),
    ],
    ids=["envs", "os.environ", "os.getenv", "helper"],
)
def test_a_new_variable_that_the_choice_reads(declare: str, test: str, tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9"))
    mutant.replace("environ.py", "    # Overlap Spec V2\n", f"    # Overlap Spec V2\n    {declare}\n")
    mutant.replace(
        SPEC_INFO,
        "        enable_overlap = not server_args.disable_overlap_schedule\n",
        "        import os\n        from sglang.srt.environ import envs\n        from sglang.srt.utils import get_bool_env_var\n"  # noqa: E501
        f"        enable_overlap = not server_args.disable_overlap_schedule and not {test}\n",
    )
    assert said(speculate(mutant.tree, env=V2_ON)) == ("EAGLEWorkerV2", "overlap")
    plain = speculate(mutant.tree, env={**V2_ON, "SGLANG_PLAIN_WORKER": "1"})
    assert said(plain) == ("EAGLEWorker", "overlap")
    assert plain.ignored == ()


def test_a_new_flag_that_the_choice_reads(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9"))
    mutant.replace(
        "server_args.py",
        "    disable_overlap_schedule: bool = False\n",
        "    disable_overlap_schedule: bool = False\n    plain_worker: bool = False\n",
    )
    mutant.replace(
        "server_args.py",
        '        parser.add_argument(\n            "--speculative-algorithm",\n',
        '        parser.add_argument("--plain-worker", action="store_true")\n'
        '        parser.add_argument(\n            "--speculative-algorithm",\n',
    )
    mutant.replace(
        SPEC_INFO,
        "enable_overlap = not server_args.disable_overlap_schedule\n",
        "enable_overlap = not server_args.plain_worker\n",
    )
    assert said(speculate(mutant.tree)) == ("EAGLEWorkerV2", "synchronous")
    assert said(speculate(mutant.tree, "EAGLE3", "--plain-worker", env=V2_ON)) == ("EAGLEWorker", "overlap")


# --------------------------------------------------------------------- files that are not Python


@pytest.mark.parametrize(
    "name", [V1, SPEC_INFO, "environ.py", "server_args.py", "managers/scheduler.py", "utils/common.py"]
)
@pytest.mark.parametrize(
    "content",
    [b"class EAGLEWorker(:\n", b"\x00\x01\x02" * 100, b"\xff\xfe\xfa latin", b"# coding: nonsense\n", b"(" * 5000],
    ids=["syntax", "NUL", "not UTF-8", "coding", "deep"],
)
def test_a_file_that_is_not_python_is_named_and_never_a_crash(name: str, content: bytes, tree: Trees) -> None:
    if name != V1 and content[:5] not in (b"class", b"\x00\x01\x02\x00\x01"):
        pytest.skip("two kinds are enough for the files besides the worker's")
    answer = speculate(Mutant(tree("0.5.9")).write(name, content).tree)
    assert answer.outcome in ("refused", "undecided")
    assert f"sglang/srt/{name}" in repr(answer)


def test_a_scheduler_without_a_choice_is_undecided_or_refused(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9")).write("managers/scheduler.py", "class Scheduler:\n    pass\n")
    assert speculate(mutant.tree).outcome in ("undecided", "refused")


def test_an_empty_file_defines_nothing(tree: Trees) -> None:
    answer = speculate(Mutant(tree("0.5.9")).write(V1, "").tree)
    assert said(answer)[0] is not None and str(said(answer)[0]).startswith("ImportError at spec_info.py")


# --------------------------------------------------------------------- the registry of 0.5.4.post3


def test_a_registration_that_names_another_worker(tree: Trees) -> None:
    old = '    "EAGLE3",\n    worker_cls=_create_eagle_worker,'
    mutant = Mutant(tree("0.5.4.post3")).replace(
        SPEC_INFO, old, old.replace("_create_eagle_worker", "_create_plain_worker")
    )
    mutant.replace(
        SPEC_INFO,
        "# Register built-in algorithms.\n",
        "def _create_plain_worker(enable_overlap=False, **kwargs):\n"
        "    from sglang.srt.speculative.standalone_worker import StandaloneWorker\n\n"
        "    return StandaloneWorker(**kwargs)\n\n\n# Register built-in algorithms.\n",
    )
    assert said(speculate(mutant.tree)) == ("StandaloneWorker", "synchronous")
    assert said(speculate(mutant.tree, "EAGLE")) == ("EAGLEWorker", "synchronous")


def test_an_algorithm_registered_by_another_module(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.4.post3")).write(
        "speculative/medusa.py",
        "from sglang.srt.managers.tp_worker import TpModelWorker\n"
        "from sglang.srt.speculative.spec_info import register_speculative_algorithm\n\n\n"
        "class MedusaWorker(TpModelWorker):\n    def forward_batch_generation(self, batch): ...\n\n\n"
        'register_speculative_algorithm("medusa", worker_cls=MedusaWorker, flags=["STANDALONE"])\n',
    )
    mutant.replace("server_args.py", '"STANDALONE", "NGRAM"]', '"STANDALONE", "NGRAM", "MEDUSA"]')
    scheduler = "managers/scheduler.py"
    first = next(
        line
        for line in mutant.text(scheduler).split("\n")
        if line.startswith("from sglang.srt.speculative.spec_info import")
    )
    mutant.replace(scheduler, f"{first}\n", f"{first}\nimport sglang.srt.speculative.medusa\n")
    assert said(speculate(mutant.tree, "MEDUSA")) == ("MedusaWorker", "overlap")


def test_a_second_registration_is_the_registrys_own_error(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.4.post3"))
    mutant.replace(
        SPEC_INFO,
        "class SpecInputType(IntEnum):\n",
        'register_speculative_algorithm("ngram", worker_cls=_create_eagle_worker)\n\n\nclass SpecInputType(IntEnum):\n',
    )
    answer = speculate(mutant.tree)
    assert answer.refusal is not None
    assert "Worker already registered for SpeculativeAlgorithm.NGRAM" in answer.refusal.message


def test_a_factory_that_is_overridden(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.4.post3"))
    mutant.replace(
        SPEC_INFO,
        "class SpecInputType(IntEnum):\n",
        'register_speculative_algorithm("eagle3", worker_cls=lambda enable_overlap=False, **kw: _create_ngram_worker(**kw), '  # noqa: E501
        "override_worker=True)\n\n\nclass SpecInputType(IntEnum):\n",
    )
    assert said(speculate(mutant.tree)) == ("NGRAMWorker", "synchronous")


# --------------------------------------------------------------------- later releases


def test_a_flipped_default_turns_the_later_release_back(tree: Trees) -> None:
    default = "SGLANG_ENABLE_SPEC_V2 = EnvBool({})"
    mutant = Mutant(tree("0.5.12.post1")).replace("environ.py", default.format("True"), default.format("False"))
    assert said(speculate(mutant.tree)) == ("EAGLEWorker", "synchronous")


def test_an_algorithm_registered_through_the_plugin_interface(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.12.post1")).replace(
        SPEC_INFO,
        "class SpecInputType(IntEnum):\n",
        '@SpeculativeAlgorithm.register("MEDUSA", supports_overlap=True)\n'
        "def _medusa(server_args):\n"
        "    from sglang.srt.speculative.standalone_worker_v2 import StandaloneWorkerV2\n\n"
        "    return StandaloneWorkerV2\n\n\nclass SpecInputType(IntEnum):\n",
    )
    assert said(decided(speculate(mutant.tree, "medusa"))) == ("StandaloneWorkerV2", "overlap")


PASS = (
    "\n\n@register_post_process\ndef _turn_off(view):\n"
    "    return {{'disable_overlap_schedule': True, 'enable_multi_layer_eagle': {}}}\n"
)
CALL = (
    "from sglang.srt.arg_groups import overrides\n        overrides.run_post_process_pass(self, overrides._turn_off)\n"
)


def test_a_declaration_counts_when_it_is_made_and_is_lost_when_the_list_is_bound_anew(tree: Trees) -> None:
    """0.5.18 keeps what passes declare in a list; assigning the list drops what it held."""
    kept = Mutant(tree("0.5.18"))
    kept.write(
        "arg_groups/overrides.py",
        kept.text("arg_groups/overrides.py") + PASS.format("view.disable_overlap_schedule is False"),
    )
    kept.replace(
        "server_args.py",
        "        handle_speculative_decoding(self)\n",
        f"        handle_speculative_decoding(self)\n        {CALL}",
    )
    assert said(speculate(kept.tree)) == ("MultiLayerEagleWorkerV2", "synchronous")
    lost = Mutant(tree("0.5.18"))
    lost.write("arg_groups/overrides.py", lost.text("arg_groups/overrides.py") + PASS.format("True"))
    stash = "        self._resolved_overrides = collect_model_override_declarations(\n"
    lost.replace("server_args.py", stash, f"        {CALL}{stash}")
    assert said(speculate(lost.tree)) == ("EAGLEWorkerV2", "overlap")


def test_a_declaration_of_a_field_that_may_not_be_declared_is_the_trees_own_error(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.18")).replace(
        "arg_groups/overrides.py",
        "def _sparse_head_overlap_disable(view: Any) -> dict:\n",
        "def _sparse_head_overlap_disable(view: Any) -> dict:\n    return {'no_such_field': True}\n",
    )
    assert said(speculate(mutant.tree))[1] in ("parse", "resolve")


def test_the_drafts_own_config_is_asked(tree: Trees) -> None:
    """A mutated condition on the draft's architecture reaches the choice."""
    mutant = Mutant(tree("0.5.12.post1"))
    old = '"Gemma4AssistantForCausalLM"'
    text = mutant.text("server_args.py")
    assert old in text
    mutant.write("server_args.py", text.replace(old, '"LlamaForCausalLMEagle3"'))
    answer = ask(
        mutant.tree,
        "--model-path",
        str(TRUTH / "models/llama"),
        "--speculative-algorithm",
        "EAGLE",
        "--speculative-draft-model-path",
        str(TRUTH / "models/llama-eagle3"),
        *PARAMETERS,
        draft=EAGLE3_DRAFT,
    )
    assert said(answer) == ("FrozenKVMTPWorker", "synchronous")


def test_a_file_without_what_a_server_starts_from_is_bad_input(tree: Trees) -> None:
    mutant = Mutant(tree("0.5.9"))
    text = mutant.text("server_args.py")
    mutant.write("server_args.py", text[: text.index("def prepare_server_args")])
    with pytest.raises(BadInput, match="no prepare_server_args"):
        speculate(mutant.tree)


def test_text_that_runs_as_code_leaves_everything_open(tree: Trees) -> None:
    old = "        self._handle_speculative_decoding()\n"
    mutant = Mutant(tree("0.5.9")).replace("server_args.py", old, old + '        exec("self.topk = 1")\n')
    answer = speculate(mutant.tree)
    assert answer.outcome == "undecided"
    assert any("exec(...)" in note and "server_args.py" in note for note in answer.notes)


def test_the_scope_is_written_through_its_dictionary(tree: Trees) -> None:
    old = "        self._handle_speculative_decoding()\n"
    off = '        locals()["self"].speculative_algorithm = None\n'
    mutant = Mutant(tree("0.5.9")).replace("server_args.py", old, off + old)
    assert said(speculate(mutant.tree)) == ("none", "overlap")
