"""The rules on hand-offs, imports, thresholds, the native switch and hooks, each on a real release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pathtrace.rules.hook_on_wrong_class import HookOnWrongClass
from pathtrace.rules.model import Subject
from pathtrace.rules.registry import findings
from pathtrace.rules.threshold_never_reached import ThresholdNeverReached
from pathtrace.tests.trees import mutable_tree, wheel
from pathtrace.tracer.answer import Answer, Finding, Place, Worker
from pathtrace.tracer.change.filled_field import filled_at
from pathtrace.tracer.change.hook_targets import hook_targets, judged_hooks
from pathtrace.tracer.check import CheckRequest, check
from pathtrace.tracer.handoff.missing import missing_handoffs
from pathtrace.tracer.launch.environment import merge_environment
from pathtrace.tracer.launch.parse import parse_launch
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import open_tree

MODELS = Path(__file__).parent.parent / "conformance" / "models"
EAGLE3 = (
    *("--model-path", "m", "--speculative-draft-model-path", "d", "--speculative-algorithm", "EAGLE3"),
    *("--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)
TOPK4 = (*EAGLE3[:-3], "4", "--speculative-num-draft-tokens", "8")
LIMITED = (*EAGLE3, "--max-running-requests", "16")
SPECULATIVE = "sglang.srt.speculative"


def answer_of(tree: Tree, *words: str) -> Answer:
    launch = parse_launch(("python", "-m", "sglang.launch_server", *words))
    return check(
        CheckRequest(
            tree=tree,
            launch=launch,
            environment=merge_environment(launch, (), None, None),
            model_config=str(MODELS / "llama/config.json"),
            draft_config=str(MODELS / "llama-eagle3/config.json"),
            changes=False,
            cache=False,
        )
    )


def found(code: str, tree: Tree, answer: Answer) -> tuple[Finding, ...]:
    from pathtrace.rules.registry import rule_named
    from pathtrace.rules.subject import subject_of

    rule = rule_named(code)
    return findings([rule], subject_of(tree, answer, (), [rule]))


# ---------------------------------------------------------------- PT201
EAGLE_V2 = "sglang/srt/speculative/eagle_worker_v2.py"
BEHIND_THE_TARGET = "                model_worker_batch\n            )\n"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mutable_tree("0.5.9", tmp_path_factory.mktemp("unpacked"))


@pytest.mark.parametrize(
    ("put_in", "lines"),
    [
        # 0.5.9, eagle_worker_v2.py:657: the target's forward pass of a prefill ends at line 659.
        ("            if len(model_worker_batch.seq_lens) > 64:\n                return batch_output\n", [661]),
        ("            if not get_pp_group().is_last_rank:\n                return batch_output\n", []),
        ("            if self._draft_worker is None:\n                return batch_output\n", []),
        ("            if self.off:\n                return self.other.result(batch_output)\n", []),
    ],
)
def test_an_early_return_of_a_changed_release(unpacked: Path, put_in: str, lines: list[int]) -> None:
    path = unpacked / EAGLE_V2
    text = path.read_text("utf-8")
    assert text.split("\n")[656].strip() == "batch_output = self.target_worker.forward_batch_generation("
    path.write_text(text.replace(BEHIND_THE_TARGET, BEHIND_THE_TARGET + put_in, 1), "utf-8")
    try:
        ways = missing_handoffs(open_tree(str(unpacked)), f"{SPECULATIVE}.eagle_worker_v2", "EAGLEWorkerV2")
    finally:
        path.write_text(text, "utf-8")
    assert [each.line for each in ways] == lines
    for each in ways:
        # 0.5.9, scheduler.py:2347 reads it, and sets future_indices of it in the next statement.
        assert (each.function, each.file, each.text) == (
            "EAGLEWorkerV2.forward_batch_generation", EAGLE_V2, "return batch_output",
        )  # fmt: skip
        assert each.when == "len(model_worker_batch.seq_lens) > 64"
        assert (each.reader.file, each.reader.line) == ("sglang/srt/managers/scheduler.py", 2347)


@pytest.mark.parametrize(
    ("release", "module", "worker"),
    [
        ("0.5.9", "eagle_worker_v2", "EAGLEWorkerV2"),
        pytest.param("0.5.14", "ngram_worker", "NGRAMWorker", marks=pytest.mark.slow),
        # The first stages of a pipeline return early, on purpose.
        pytest.param("0.5.20", "eagle_worker_v2", "EAGLEWorkerV2", marks=pytest.mark.slow),
        pytest.param("0.5.23", "eagle_worker_v2", "EAGLEWorkerV2", marks=pytest.mark.slow),
        pytest.param("0.5.23", "dspark_components.dspark_worker_v2", "DSparkWorkerV2", marks=pytest.mark.slow),
    ],
)
def test_no_release_lacks_a_handoff(release: str, module: str, worker: str) -> None:
    assert missing_handoffs(open_tree(str(wheel(release))), f"{SPECULATIVE}.{module}", worker) == ()


# ---------------------------------------------------------------- PT203, PT105, PT302
def test_a_worker_whose_module_misses_a_name() -> None:
    """0.5.9, multi_layer_eagle_worker.py:60 imports ModelRunner for type checking; line 236 evaluates it."""
    tree = open_tree(str(wheel("0.5.9")))
    answer = answer_of(tree, *EAGLE3, "--enable-multi-layer-eagle")
    (finding,) = found("PT203", tree, answer)
    file = "sglang/srt/speculative/multi_layer_eagle_worker.py"
    assert finding.place is not None and (finding.place.file, finding.place.line) == (file, 236)
    assert f"{file}:236 uses ModelRunner" in finding.message
    assert found("PT203", tree, answer_of(tree, *EAGLE3)) == ()


@pytest.mark.parametrize(
    ("release", "place"),
    [
        # the lines `self.max_running_requests = 48` and `max_running_requests=48,` of each
        ("0.5.9", "sglang/srt/server_args.py:2363"),
        ("0.5.14", "sglang/srt/arg_groups/speculative_hook.py:271"),
        pytest.param("0.5.23", "sglang/srt/arg_groups/speculative_hook.py:1090", marks=pytest.mark.slow),
    ],
)
def test_a_limit_that_the_launch_does_not_give(release: str, place: str) -> None:
    tree = open_tree(str(wheel(release)))
    (finding,) = found("PT105", tree, answer_of(tree, *EAGLE3))
    assert (finding.input, str(finding.place)) == ("--max-running-requests", place)
    assert finding.message.startswith("max_running_requests is 48: the launch does not give it")
    assert found("PT105", tree, answer_of(tree, *LIMITED)) == ()


@pytest.mark.parametrize(
    ("release", "launch", "reason"),
    [
        # adaptive_spec_params.py: only a topk of 1; only EAGLE and EAGLE3
        pytest.param("0.5.12.post1", TOPK4, "speculative_eagle_topk=4", marks=pytest.mark.slow),
        ("0.5.14", TOPK4, "speculative_eagle_topk=4"),
        ("0.5.14", ("--model-path", "m", "--speculative-algorithm", "NGRAM"), "speculative_algorithm=NGRAM"),
        pytest.param("0.5.23", TOPK4, "speculative_eagle_topk=4", marks=pytest.mark.slow),
    ],
)
def test_a_switch_that_is_turned_off(release: str, launch: tuple[str, ...], reason: str) -> None:
    tree = open_tree(str(wheel(release)))
    (finding,) = found("PT302", tree, answer_of(tree, *launch, "--speculative-adaptive"))
    assert finding.input == "--speculative-adaptive" and reason in finding.message
    assert finding.place is not None and finding.place.file.endswith(("server_args.py", "speculative_hook.py"))


def test_a_switch_that_stays_on() -> None:
    tree = open_tree(str(wheel("0.5.14")))
    assert found("PT302", tree, answer_of(tree, *EAGLE3, "--speculative-adaptive")) == ()


# ---------------------------------------------------------------- PT301
@pytest.mark.parametrize(("threshold", "counts"), [(47, 0), (48, 1), (64, 1)])
def test_a_threshold_beside_the_tree_s_own_limit(threshold: int, counts: int) -> None:
    tree = open_tree(str(wheel("0.5.9")))
    answer = answer_of(tree, *EAGLE3)
    at = filled_at(tree, answer, "max_running_requests")
    assert at == Place("sglang/srt/server_args.py", 2363, "self.max_running_requests = 48")
    subject = Subject(answer, threshold=threshold, limit_set_at=at)
    messages = [each.message for each in findings([ThresholdNeverReached], subject)]
    assert len(messages) == counts
    assert all(f"{threshold}, and max_running_requests is 48 ({at} sets it)" in each for each in messages)


# ---------------------------------------------------------------- PT303
def hook(target: str) -> str:
    return f"from sglang.srt.plugins.hook_registry import HookRegistry\nHookRegistry.register({target!r}, print)\n"


V1 = ("eagle_worker", "EAGLEWorker")
V2 = ("eagle_worker_v2", "EAGLEWorkerV2")
STANDALONE = ("standalone_worker_v2", "StandaloneWorkerV2")
NOTHING = "names nothing in this tree"


@pytest.mark.parametrize(
    ("release", "loaded", "target", "says"),
    [
        ("0.5.9", V1, f"{SPECULATIVE}.eagle_worker_v2.EAGLEWorkerV2.verify", "What runs is EAGLEWorker.verify"),
        ("0.5.9", V1, f"{SPECULATIVE}.eagle_worker.EAGLEWorker.verify", None),
        ("0.5.9", V2, f"{SPECULATIVE}.eagle_worker.EAGLEWorker.verify", "What runs is EAGLEWorkerV2.verify"),
        # StandaloneWorkerV2 inherits verify; EAGLEWorkerV2 knows nothing of StandaloneWorkerV2.
        ("0.5.9", STANDALONE, f"{SPECULATIVE}.eagle_worker_v2.EAGLEWorkerV2.verify", None),
        ("0.5.9", V2, f"{SPECULATIVE}.standalone_worker_v2.StandaloneWorkerV2.verify", "it loads EAGLEWorkerV2"),
        # a part of the worker, and a function that both workers use
        ("0.5.9", V2, f"{SPECULATIVE}.eagle_worker_v2.EagleDraftWorker.draft", None),
        ("0.5.9", V1, f"{SPECULATIVE}.eagle_worker_v2.EagleDraftWorker.draft", "What runs is EAGLEWorker.draft"),
        ("0.5.9", V1, f"{SPECULATIVE}.eagle_utils.build_tree_kernel_efficient", None),
        ("0.5.9", V1, "sglang.srt.managers.scheduler.Scheduler.run_batch", None),
        # what is not there: a method, a class, a module, a part of the server
        ("0.5.9", V1, f"{SPECULATIVE}.eagle_worker.EAGLEWorker.verfy", NOTHING),
        ("0.5.14", V2, f"{SPECULATIVE}.eagle_worker.EAGLEWorker.verify", NOTHING),
        ("0.5.9", V1, "sglang.srt.managers.no_such_module.Scheduler.run_batch", NOTHING),
    ],
)
def test_a_hook(release: str, loaded: tuple[str, str], target: str, says: str | None) -> None:
    tree = open_tree(str(wheel(release)))
    answer = Answer("worker", tree.info, Worker(loaded[1], f"{SPECULATIVE}.{loaded[0]}", "", 1), "overlap")
    hooks = judged_hooks(tree, hook_targets(hook(target).encode(), "hooks.py"), answer)
    messages = [each.message for each in findings([HookOnWrongClass], Subject(answer, hooks=hooks))]
    assert len(messages) == (says is not None)
    assert all(message.startswith(f"{target} is hooked") and says in message for message in messages if says)


def test_a_file_that_hooks_both_workers_is_clean() -> None:
    tree = open_tree(str(wheel("0.5.9")))
    both = "".join(hook(f"{SPECULATIVE}.{module}.{cls}.verify") for module, cls in (V1, V2)).encode()
    answer = Answer("worker", tree.info, Worker(V1[1], f"{SPECULATIVE}.{V1[0]}", "", 1), "synchronous")
    hooks = judged_hooks(tree, hook_targets(both, "hooks.py"), answer)
    assert [(each.target.qualname, each.runs, each.covered) for each in hooks] == [
        ("EAGLEWorker.verify", True, False),
        ("EAGLEWorkerV2.verify", False, True),
    ]
    assert findings([HookOnWrongClass], Subject(answer, hooks=hooks)) == ()


def test_where_a_hook_is_mended() -> None:
    tree = open_tree(str(wheel("0.5.9")))
    text = (
        "import wrapt\n\n@wrapt.patch_function_wrapper('sglang.srt.speculative.eagle_worker_v2', 'EAGLEWorkerV2.x')\n"
    )
    text += "def f(w, i, a, k): ...\n"
    answer = Answer("worker", tree.info, Worker(V1[1], f"{SPECULATIVE}.{V1[0]}", "", 1), "synchronous")
    hooks = judged_hooks(tree, hook_targets(text.encode(), "my/hooks.py"), answer)
    (finding,) = findings([HookOnWrongClass], Subject(answer, hooks=hooks))
    at = finding.at
    assert at is not None and (at.file, at.line) == ("my/hooks.py", 3)
    assert at.column == text.split("\n")[2].index("'EAGLEWorkerV2.x'") + 1


def test_a_refused_launch_judges_no_hook() -> None:
    tree: Any = open_tree(str(wheel("0.5.9")))
    targets = hook_targets(hook(f"{SPECULATIVE}.eagle_worker.EAGLEWorker.verfy").encode(), "hooks.py")
    assert judged_hooks(tree, targets, Answer("refused", tree.info)) == ()
