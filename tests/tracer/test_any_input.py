"""Whatever the sources, the launch and the configs are: an answer, or one sentence, in bounded time."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pathtrace.tests import trees
from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, LLAMA, PARAMETERS, ChangedTree, ask
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.errors import BadInput

if TYPE_CHECKING:
    from types import FrameType

    from pathtrace.tracer.tree.model import Tree

RELEASE = "0.5.3"
SECONDS = 20
BYTES = 6 << 30  # of address space: what wants more fails here, not the machine
MUTATED = ("sglang/srt/server_args.py", "sglang/srt/speculative/spec_info.py", "sglang/srt/environ.py")
# The worker's own module stands for itself: its hundreds of imports are no part of what is mutated here.
SHORT_WORKER = (
    b"class EAGLEWorker:\n    def __init__(self, **kwargs): ...\n\n    def forward_batch_generation(self, batch): ...\n"
)
SPECULATIVE = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "a/draft", *PARAMETERS)

pytestmark = pytest.mark.fuzz


def share(percent: int) -> settings:
    """A part of the profile's examples: all tests of this file together run 300, or 10,000 in `make fuzz`."""
    return settings(
        max_examples=max(1, settings.default.max_examples * percent // 100),
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )


class TooLong(BaseException):
    """Not an Exception: nothing on the way may take it for one of its own."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Stop what needs more of the processor's time; waiting for a busy machine does not count."""

    def stop(_signal: int, frame: FrameType | None) -> None:
        where = [] if frame is None else [f"{frame.f_code.co_filename}:{frame.f_lineno}"]
        raise TooLong(f"more than {seconds} s, at {where}")

    limits = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGVTALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES if limits[1] < 0 else min(BYTES, limits[1]), limits[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGVTALRM, before)


def outcome(question: Callable[[], Answer]) -> Answer | str:
    """An answer, or one sentence. Anything else is a defect."""
    with at_most(SECONDS):
        try:
            answer = question()
        except BadInput as error:
            sentence = str(error)
            assert sentence and "\n" not in sentence.strip()
            return sentence
    assert isinstance(answer, Answer)
    if answer.outcome == "worker":
        assert answer.worker is not None and answer.event_loop is not None
    elif answer.outcome == "refused":
        assert answer.refusal is not None and answer.refusal.exception
    elif answer.outcome == "undecided":
        assert answer.alternatives
    return answer


@pytest.fixture(scope="module")
def small() -> ChangedTree:
    """A real release with a short worker module."""
    from pathtrace.tracer.tree.open import open_tree

    tree = open_tree(str(trees.wheel(RELEASE)))
    return ChangedTree(tree, {"sglang/srt/speculative/eagle_worker.py": SHORT_WORKER})


# --------------------------------------------------------------------- sources

POSITIONS = st.floats(0, 1, exclude_max=True)
WORDS = st.sampled_from(
    [
        "None",
        "True",
        "self",
        "not",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "=",
        "==",
        "+",
        "-",
        "*",
        "**",
        ".",
        "0",
        "''",
        "lambda: 0",
        "yield",
        "await",
        "return",
        "raise",
        "del",
        "global",
        "import",
        "class",
        "def",
        "while True:",
        "for x in",
        "async",
        "@",
        "...",
        "%",
        "f'{x}'",
        "1/0",
        "[0] * 10**9",
        "'x' * 10**12",
        "10 ** 10 ** 8",
        "range(10**12)",
        "self.__class__",
        "type(self)",
        "super()",
        "[*x]",
        "{**x}",
        "if",
        "else",
        "try:",
        "except:",
        "with x:",
        "in",
        "is",
        ";",
    ]
)
EDITS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["delete line", "double line", "indent", "dedent", "cut off", "to the end"]), POSITIONS
        ),
        st.tuples(st.sampled_from(["swap lines", "swap words", "copy word", "copy line"]), POSITIONS, POSITIONS),
        st.tuples(st.sampled_from(["replace word", "insert word"]), POSITIONS, WORDS),
        st.tuples(st.just("bytes"), POSITIONS, st.binary(min_size=1, max_size=6)),
    ),
    min_size=1,
    max_size=4,
)


def hot(lines: list[bytes], position: float) -> int:
    """A line: two of three times one that has to do with speculation, overlap or the environment."""
    if position < 2 / 3:
        near = [
            n
            for n, line in enumerate(lines)
            if b"spec" in line.lower() or b"overlap" in line or b"__post_init__" in line
        ]
        if near:
            return near[int(position * 1.5 * len(near))]
    return int(position * 7919) % len(lines)


def edited(data: bytes, edits: list[tuple[Any, ...]]) -> bytes:
    """The file after some edits."""
    for kind, position, *rest in edits:
        lines = data.split(b"\n")
        at = hot(lines, position)
        words = lines[at].split(b" ")
        word = int(position * 104_729) % len(words)
        if kind == "delete line":
            del lines[at]
        elif kind == "double line":
            lines.insert(at, lines[at])
        elif kind == "indent":
            lines[at] = b"    " + lines[at]
        elif kind == "dedent":
            lines[at] = lines[at][4:] if lines[at].startswith(b"    ") else lines[at].lstrip()
        elif kind == "cut off":
            lines[at:] = [lines[at][: len(lines[at]) // 2]]
        elif kind == "to the end":
            lines.append(lines.pop(at))
        elif kind in ("swap lines", "copy line"):
            other = hot(lines, rest[0])
            lines[at], lines[other] = lines[other], (lines[at] if kind == "swap lines" else lines[other])
        elif kind in ("swap words", "copy word"):
            other = hot(lines, rest[0])
            there = lines[other].split(b" ")
            index = int(rest[0] * 104_729) % len(there)
            if other != at:
                words[word], there[index] = there[index], (words[word] if kind == "swap words" else there[index])
                lines[at], lines[other] = b" ".join(words), b" ".join(there)
        elif kind == "replace word":
            words[word] = rest[0].encode()
            lines[at] = b" ".join(words)
        elif kind == "insert word":
            words.insert(word, rest[0].encode())
            lines[at] = b" ".join(words)
        else:
            half = len(lines[at]) // 2
            lines[at] = lines[at][:half] + rest[0] + lines[at][half:]
        data = b"\n".join(lines) or b"\n"
    return data


@share(60)
@given(name=st.sampled_from(MUTATED), edits=EDITS, env=st.sampled_from([{}, {"SGLANG_ENABLE_SPEC_V2": "1"}]))
def test_any_edit_of_the_sources(
    name: str, edits: list[tuple[Any, ...]], env: dict[str, str], small: ChangedTree
) -> None:
    data = small.read(name)
    assert data is not None
    tree = ChangedTree(small, {name: edited(data, edits)})
    outcome(lambda: ask(tree, "--model-path", "a/llama", *SPECULATIVE, env=env, model=LLAMA, draft=EAGLE3_DRAFT))


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nx.append(x)\ny = str(x)",
        "x = {}\nx['x'] = x\ny = f'{x}'\nz = x == x",
        "x = 'a' * 10**12",
        "x = [0] * 10**10",
        "x = 10 ** 10 ** 9",
        "x = 1 << 10**11",
        "while True: pass",
        "for x in iter(int, 1): pass",
        "x = list(range(10**12))",
        "x = sum(range(10**12))",
        "x = ''.join('a' for _ in range(10**11))",
        "def f(): return f()\nf()",
        "def f(n): return [f(n + 1), f(n + 1)]\nf(0)",
        "class A(A): pass",
        "class A:\n    @property\n    def x(self): return self.x\nA().x",
        "x = '%1000000000000d' % 1",
        "x = f'{1:1000000000000}'",
        "x = 'a'.ljust(10**12)",
        "x = (lambda f: f(f))(lambda f: f(f))",
        "x = bytes(10**12)",
        "import re\nx = re.match('(a+)+$', 'a' * 64 + 'b')",
        "x = int('9' * 10**6)",
        "x = " + "(" * 150 + "0" + ")" * 150,
        "x = " + "-" * 3000 + "1",
        "x = " + " + ".join(["1"] * 3000),
        "import sglang.srt.speculative.spec_info as me\nx = me.nothing",
        "from sglang.srt.speculative.spec_info import nothing",
        "x = 'a'\nfor _ in range(60): x = x + x",
        "x = []\nfor _ in range(60): x = [x, x]\ny = str(x)",
        "raise SystemExit(3)",
        "raise KeyboardInterrupt",
        "raise 1",
        "raise",
        "import os\nwhile os.path.exists('/x'): pass",
        "import os\nx = [os.getpid() for _ in range(40)]\nif any(x): y = 1",
        "x = 1\ndel x\nx",
        "x: 5 = y = 3",
        "x = memoryview(b'a'); x = complex(1, 2) ** 0.5; x = hash('a')",
    ],
)
def test_code_that_would_not_end_or_not_fit(code: str, small: ChangedTree) -> None:
    name = "sglang/srt/speculative/spec_info.py"
    data = small.read(name)
    assert data is not None
    tree = ChangedTree(small, {name: data + b"\n" + code.encode() + b"\n"})
    outcome(lambda: ask(tree, "--model-path", "a/llama", *SPECULATIVE))


# --------------------------------------------------------------------- launches

LAUNCH_WORDS = st.one_of(
    st.sampled_from(
        [
            *SPECULATIVE,
            "--speculative-algorithm=EAGLE",
            "NEXTN",
            "STANDALONE",
            "NGRAM",
            "eagle",
            "--model-path",
            "--tp",
            "--tp-size=2",
            "--pp-size",
            "--dp",
            "--enable-dp-attention",
            "--device",
            "cuda",
            "cpu",
            "hip",
            "npu",
            "--attention-backend",
            "flashinfer",
            "fa3",
            "--page-size",
            "--config",
            "nowhere.yaml",
            "--",
            "-1",
            "0",
            "1e3",
            "nan",
            "999999999999999999999",
            "--speculative",
            "--sp",
            "--help",
            "-h",
            "--version",
            "--mem-fraction-static",
            "--disable-overlap-schedule",
            "--json-model-override-args",
            '{"architectures": null}',
            '{"architectures": []}',
            "{",
            "[]",
            "--enable-mixed-chunk",
            "--dtype",
            "auto",
            "--quantization",
            "fp8",
            "--load-format",
            "dummy",
            "none",
            "--context-length",
            "--schedule-policy",
            "--max-running-requests",
            "--chunked-prefill-size",
            "--cuda-graph-max-bs",
            "--nnodes",
            "2",
            "--node-rank",
            "--lora-paths",
            "a=b",
            "--kv-cache-dtype",
            "--moe-a2a-backend",
            "deepep",
            "--enable-deterministic-inference",
            "--mamba-ssm-dtype",
            "--disaggregation-mode",
            "decode",
            "prefill",
            "--grammar-backend",
        ]
    ),
    st.text(max_size=5),
)
VARIABLES = st.dictionaries(
    st.sampled_from(
        [
            "SGLANG_ENABLE_SPEC_V2",
            "SGLANG_BLOCK_NONZERO_RANK_CHILDREN",
            "SGLANG_USE_MODELSCOPE",
            "HF_HUB_OFFLINE",
            "SGLANG_IS_IN_CI",
        ]
    ),
    st.one_of(st.sampled_from(["", "0", "1", "true", "no", "2", "-1", "x", "é"]), st.text(max_size=4)),
    max_size=3,
)


@share(20)
@given(words=st.lists(LAUNCH_WORDS, max_size=10), speculative=st.booleans(), env=VARIABLES)
def test_any_launch(words: list[str], speculative: bool, env: dict[str, str], small: ChangedTree) -> None:
    start = ("--model-path", "a/llama", *(SPECULATIVE if speculative else ()))
    outcome(lambda: ask(small, *start, *words, env=env, model=LLAMA, draft=EAGLE3_DRAFT))


# --------------------------------------------------------------------- configs

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.just("LlamaForCausalLM")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [*json.loads(Path(LLAMA).read_text("utf-8")), "quantization_config", "text_config", "auto_map", "rope_scaling"]
)
CHANGES = st.dictionaries(KEYS, st.one_of(JSON, st.just("gone")), min_size=1, max_size=4)


@share(20)
@given(
    changes=CHANGES, of_the_draft=st.booleans(), raw=st.one_of(st.none(), st.none(), st.none(), st.binary(max_size=20))
)
def test_any_config(
    changes: dict[str, Any],
    of_the_draft: bool,
    raw: bytes | None,
    small: ChangedTree,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.getbasetemp() / "config.json"
    data = json.loads(Path(EAGLE3_DRAFT if of_the_draft else LLAMA).read_text("utf-8"))
    for key, value in changes.items():
        data[key] = value
        if value == "gone":
            del data[key]
    path.write_bytes(json.dumps(data).encode() if raw is None else raw)
    model, draft = (LLAMA, str(path)) if of_the_draft else (str(path), EAGLE3_DRAFT)
    outcome(lambda: ask(small, "--model-path", "a/llama", *SPECULATIVE, model=model, draft=draft))


def test_edits_are_what_they_say() -> None:
    """The mutations of this file change the text in ways that often stay Python."""
    data = b"a = spec\nb = 2\nc = 3"
    assert edited(data, [("delete line", 0.0)]) == b"b = 2\nc = 3"
    assert edited(data, [("double line", 0.0)]) == b"a = spec\na = spec\nb = 2\nc = 3"
    assert edited(data, [("replace word", 0.0, "None")]) == b"None = spec\nb = 2\nc = 3"
    assert edited(data, [("to the end", 0.0)]) == b"b = 2\nc = 3\na = spec"


def test_the_unchanged_tree_is_decided(small: Tree) -> None:
    answer = outcome(lambda: ask(small, "--model-path", "a/llama", *SPECULATIVE))
    assert isinstance(answer, Answer)
    assert answer.worker is not None and answer.worker.cls == "EAGLEWorker"
