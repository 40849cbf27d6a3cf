"""Hand-made answers, one for each outcome. The lines are those of a real release where it matters."""

from __future__ import annotations

from pathtrace.tracer.answer import (
    Alternative,
    Answer,
    Assumption,
    Change,
    Condition,
    Decision,
    Expect,
    Finding,
    Ignored,
    LogLine,
    Origin,
    Place,
    PossibleRefusal,
    Reading,
    Refusal,
    TreeInfo,
    Worker,
)

ARGS = "sglang/srt/server_args.py"
SPEC = "sglang/srt/speculative/spec_info.py"
TREE = TreeInfo(given="0.5.9", kind="release", path="/cache/sglang-0.5.9", version="0.5.9")

V1 = Worker("EAGLEWorker", "sglang.srt.speculative.eagle_worker", "sglang/srt/speculative/eagle_worker.py", 88)
V2 = Worker("EAGLEWorkerV2", "sglang.srt.speculative.eagle_worker_v2", "sglang/srt/speculative/eagle_worker_v2.py", 577)
TOPK = Refusal(
    "resolve", "ValueError", "Spec v2 currently only supports topk = 1 for speculative decoding.", ARGS, 2380
)

ALGORITHM_FLAG = Origin("flag", "--speculative-algorithm EAGLE3")
VARIABLE_UNSET = Origin(
    "default",
    "SGLANG_ENABLE_SPEC_V2",
    Place("sglang/srt/environ.py", 414, "SGLANG_ENABLE_SPEC_V2 = EnvBool(False)"),
)
OVERLAP_OFF = Place(ARGS, 2384, "self.disable_overlap_schedule = True")

STORY = Answer(
    outcome="worker",
    tree=TREE,
    worker=V1,
    event_loop="synchronous",
    resolved={
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
        "enable_multi_layer_eagle": False,
        "disable_overlap_schedule": True,
        "max_running_requests": 48,
    },
    decisions=(
        Decision(
            "branch",
            Place(
                ARGS,
                2368,
                'if self.speculative_algorithm in ["EAGLE", "EAGLE3", "STANDALONE"]'
                " and envs.SGLANG_ENABLE_SPEC_V2.get():",
            ),
            "false",
            (
                Reading("self.speculative_algorithm", "'EAGLE3'", (ALGORITHM_FLAG,)),
                Reading("envs.SGLANG_ENABLE_SPEC_V2.get()", "False", (VARIABLE_UNSET,)),
            ),
        ),
        Decision("write", OVERLAP_OFF, "True"),
        Decision(
            "branch",
            Place(SPEC, 77, "elif self.is_eagle():"),
            "true",
            (Reading("self", "SpeculativeAlgorithm.EAGLE3", (ALGORITHM_FLAG,)),),
        ),
        Decision(
            "branch",
            Place(SPEC, 78, "if enable_overlap:"),
            "false",
            (Reading("enable_overlap", "False", (VARIABLE_UNSET,)),),
        ),
        Decision("choice", Place(SPEC, 85, "return EAGLEWorker"), "EAGLEWorker"),
    ),
    warnings=(
        LogLine(
            "warning",
            "Max running requests is reset to 48 for speculative decoding. You can override this by"
            " explicitly setting --max-running-requests.",
            Place(ARGS, 2364),
        ),
        LogLine(
            "warning",
            "Overlap scheduler is disabled when spec v2 is off or using unsupported speculative algorithm.",
            Place(ARGS, 2385),
        ),
        LogLine("warning", "Attention backend is fa3.", Place(ARGS, 1700), Condition("sm == 90", ("--assume sm=90",))),
    ),
    changes=(
        Change(("set SGLANG_ENABLE_SPEC_V2=1",), "worker", V2, "overlap"),
        Change(("set SGLANG_ENABLE_SPEC_V2=1", "--speculative-eagle-topk 4"), "refused", refusal=TOPK),
        Change(("drop --speculative-algorithm",), "none", event_loop="overlap"),
    ),
    changes_note="17 evaluations",
    ignored=(
        Ignored("variable", "SGLANG_SPEC_MAGIC", "1", "unread"),
        Ignored("flag", "--disable-overlap-schedule", "", "overwritten", "True", OVERLAP_OFF),
    ),
    assumptions=(
        Assumption("device", "cuda", "default"),
        Assumption("sm", "90", "given"),
        Assumption("gpu_memory_mib", None, "unknown"),
    ),
    possible_refusals=tuple(
        PossibleRefusal(
            Condition(f"torch.cuda.device_count() < {count}", (f"--assume gpus={count}",)),
            Refusal("validate", "AssertionError", f"needs {count} GPUs", ARGS, 5000 + count),
        )
        for count in range(1, 6)
    ),
    notes=("your shell sets SGLANG_ENABLE_SPEC_V2, which this tree reads; give it with --env or --inherit-env",),
)

UNMET = Answer(
    outcome="worker",
    tree=TREE,
    worker=V1,
    event_loop="synchronous",
    decisions=STORY.decisions,
    changes=STORY.changes[:1],
    expect=Expect("EAGLEWorkerV2", met=False),
)

NONE = Answer(
    outcome="none",
    tree=TreeInfo("installed", "installed", "/venv/site-packages", "0.5.23"),
    event_loop="overlap",
)

REFUSED = Answer(outcome="refused", tree=TREE, refusal=TOPK, decisions=STORY.decisions[:1])

REFUSED_AT_PARSE = Answer(
    outcome="refused",
    tree=TREE,
    refusal=Refusal(
        "parse",
        "SystemExit",
        "unrecognized arguments: --speculative-algoritm EAGLE3",
        hint="the nearest flag of this tree is --speculative-algorithm",
    ),
)

UNDECIDED = Answer(
    outcome="undecided",
    tree=TreeInfo("./checkout@main", "git", "/src/checkout", None),
    alternatives=(
        Alternative(
            Condition("the draft model's architecture is Gemma4Assistant", ("--draft-config FILE",)),
            "worker",
            Worker(
                "FrozenKVMTPWorker",
                "sglang.srt.speculative.frozen_kv_mtp_worker",
                "sglang/srt/speculative/frozen_kv_mtp_worker.py",
                40,
            ),
            "synchronous",
        ),
        Alternative(Condition("it is not", ("--draft-config FILE",)), "worker", V2, "overlap"),
        Alternative(
            Condition("gpus < 2", ("--assume gpus=N",)), "refused", refusal=Refusal("dispatch", "NameError", "x")
        ),
    ),
)

UNDECIDED_SHORT = Answer(
    outcome="undecided",
    tree=TREE,
    alternatives=(
        Alternative(Condition("sm >= 90", ("--assume sm=90",)), "worker", V2, "overlap"),
        Alternative(Condition("sm < 90", ("--assume sm=90",)), "worker", V2, "synchronous"),
    ),
)

FOUND = Answer(
    outcome="worker",
    tree=TREE,
    worker=V1,
    event_loop="synchronous",
    findings=(
        Finding("PT101", "eagle_worker_v2.py is changed, but off the path", Place(V2.file, 577)),
        Finding("PT102", "nothing reads SGLANG_SPEC_MAGIC"),
    ),
)

ALL = {
    "story": STORY,
    "unmet": UNMET,
    "none": NONE,
    "refused": REFUSED,
    "refused_at_parse": REFUSED_AT_PARSE,
    "undecided": UNDECIDED,
    "undecided_short": UNDECIDED_SHORT,
    "found": FOUND,
}
