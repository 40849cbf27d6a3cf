"""The cache is keyed by content: it never serves an answer for a tree, launch or config that changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pathtrace.tests.tracer.changed import EAGLE3_DRAFT, LLAMA, PARAMETERS, TRUTH, ask, said
from pathtrace.tracer.answer import Answer
from pathtrace.tracer.tree.open import open_tree

RELEASE = "0.4.6.post5"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept answers, empty and this test's own."""
    monkeypatch.setenv("PATHTRACE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "answers"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pathtrace.tests import trees

    return trees.mutable_tree(RELEASE, tmp_path_factory.mktemp("pristine"))


@pytest.fixture
def folder(pristine: Path, tmp_path: Path) -> Path:
    """A tree of the test's own."""
    return Path(shutil.copytree(pristine, tmp_path / "tree"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Answer]]:
    """The answers that were worked out, not taken from the cache."""
    from pathtrace.tracer import answering

    seen: list[Answer] = []
    original = answering.answer

    def counting(request):  # type: ignore[no-untyped-def]
        found = original(request)
        seen.append(found[0])
        return found

    monkeypatch.setattr(answering, "answer", counting)
    yield seen


def question(folder: Path, *words: str, env: dict[str, str] | None = None, draft: str = EAGLE3_DRAFT) -> Answer:
    """Ask with the cache, as a new process would: the tree is opened anew."""
    return ask(
        open_tree(str(folder)),
        "--model-path",
        "a/llama",
        "--speculative-algorithm",
        "EAGLE3",
        "--speculative-draft-model-path",
        "a/draft",
        *PARAMETERS,
        *words,
        env=env,
        model=LLAMA,
        draft=draft,
        cache=True,
    )


def edit(folder: Path, name: str, change: Callable[[str], str]) -> None:
    """Change a file in place; its size and time may stay as they were."""
    path = folder / "sglang/srt" / name
    status, before = path.stat(), path.read_text("utf-8")
    after = change(before)
    assert after != before
    path.write_text(after, "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_the_second_time_is_from_the_cache_and_the_same(kept: Path, folder: Path, made: list[Answer]) -> None:
    first, second = question(folder), question(folder)
    assert said(first) == ("EAGLEWorker", "synchronous")
    assert second == first
    assert len(made) == 1
    assert len(list(kept.iterdir())) == 1


@pytest.mark.parametrize(
    "name", ["server_args.py", "managers/scheduler.py", "speculative/eagle_worker.py", "speculative/spec_info.py"]
)
def test_a_changed_file_of_same_size_and_time_is_read_again(
    name: str, kept: Path, folder: Path, made: list[Answer]
) -> None:
    question(folder)
    edit(folder, name, lambda text: text.replace("import", "imp0rt", 1))
    changed = question(folder)
    assert len(made) == 2
    assert changed.outcome in ("refused", "undecided")


def test_a_changed_decision_is_the_new_answer_and_changing_back_the_old(
    kept: Path, folder: Path, made: list[Answer]
) -> None:
    first = question(folder)
    old = (
        "            self.disable_overlap_schedule = True\n"
        "            logger.warning(\n"
        '                "Overlap scheduler is disabled because of using "\n'
        '                "eagle speculative decoding.'
    )
    text = (folder / "sglang/srt/server_args.py").read_text("utf-8")
    assert text.count(old) == 1
    edit(folder, "server_args.py", lambda text: text.replace(old, old.replace("= True", "= False")))
    assert said(question(folder)) == ("EAGLEWorker", "overlap")
    edit(folder, "server_args.py", lambda text: text.replace(old.replace("= True", "= False"), old))
    assert question(folder) == first


WORKER = "speculative/eagle_worker.py"
VERIFY = "    def verify(self, batch: ScheduleBatch, spec_info: EagleVerifyInput):\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (VERIFY, VERIFY + "        return None\n"),
        (VERIFY, VERIFY.rstrip() + "  # slow\n"),
        (
            "def load_token_map(token_map_path: str) -> List[int]:\n",
            "\n\ndef load_token_map(token_map_path: str) -> List[int]:\n",
        ),
    ],
)
def test_an_edit_inside_the_workers_steps_leaves_the_answer(
    before: str, after: str, kept: Path, folder: Path, made: list[Answer]
) -> None:
    first = question(folder)
    edit(folder, WORKER, lambda text: text.replace(before, after, 1))
    assert question(folder) == first
    assert len(made) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("class EAGLEWorker(TpModelWorker):\n", "\nclass EAGLEWorker(TpModelWorker):\n"),  # another line
        ("class EAGLEWorker(TpModelWorker):\n", "class EAGLEWorker(TpModelWorker, object):\n"),
        (VERIFY, VERIFY.replace("spec_info: EagleVerifyInput", "spec_info: EagleVerifyInput = LATER")),
        (VERIFY, "    @unheard_of\n" + VERIFY),
        ("logger = logging.getLogger(__name__)\n", "logger = logging.getLogger(__name__)\nEAGLEWorker = None\n"),
        (VERIFY, VERIFY + '        os.environ["SGLANG_SOME_SWITCH"]\n'),  # a variable of the launch
        (VERIFY, VERIFY + "        return (\n"),  # no Python any more
    ],
)
def test_any_other_edit_of_the_workers_file_counts(
    before: str, after: str, kept: Path, folder: Path, made: list[Answer]
) -> None:
    question(folder, env={"SGLANG_SOME_SWITCH": "1"})
    edit(folder, WORKER, lambda text: text.replace(before, after, 1))
    question(folder, env={"SGLANG_SOME_SWITCH": "1"})
    assert len(made) == 2


def test_of_a_file_that_is_being_edited_only_the_outside_of_its_functions_counts(
    kept: Path, folder: Path, made: list[Answer]
) -> None:
    """server_args.py imports it, and none of its functions runs before the worker is chosen."""
    file = "reasoning_parser.py"
    question(folder)
    for number, count in ((1, 2), (2, 2), (3, 2)):
        edit(
            folder,
            file,
            lambda text, number=number: text.replace("        self.", f"        # {number}\n        self.", 1),
        )
        question(folder)
        assert len(made) == count
    edit(folder, file, lambda text: text.replace("\nclass ", "\nraise ValueError()\n\n\nclass ", 1))
    question(folder)
    assert len(made) == 3


def test_a_file_that_appears_counts(kept: Path, folder: Path, made: list[Answer]) -> None:
    """A package beside a module of the same name hides the module."""
    question(folder)
    package = folder / "sglang/srt/speculative/eagle_worker"
    package.mkdir()
    (package / "__init__.py").write_text(
        "class EAGLEWorker:\n    def forward_batch_speculative_generation(self, batch): ...\n"
    )
    worker = question(folder).worker
    assert worker is not None
    assert worker.file == "sglang/srt/speculative/eagle_worker/__init__.py"


def test_a_file_that_goes_counts(kept: Path, folder: Path, made: list[Answer]) -> None:
    question(folder)
    (folder / "sglang/srt/speculative/eagle_worker.py").unlink()
    assert said(question(folder))[1] == "dispatch"


def test_a_changed_config_counts(kept: Path, folder: Path, made: list[Answer], tmp_path: Path) -> None:
    config = tmp_path / "draft.json"
    config.write_text(Path(EAGLE3_DRAFT).read_text("utf-8"), "utf-8")
    question(folder, draft=str(config))
    config.write_text("not json", "utf-8")
    from pathtrace.tracer.errors import BadInput

    try:
        question(folder, draft=str(config))
    except BadInput:
        return
    assert len(made) == 2 or str(config) not in repr(made)


def test_a_config_that_appears_in_the_models_folder_counts(
    kept: Path, folder: Path, made: list[Answer], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()

    def asked() -> Answer:
        words = ("--model-path", str(model), "--speculative-algorithm", "EAGLE", *PARAMETERS)
        return ask(open_tree(str(folder)), *words, model=None, draft=None, cache=True)

    without = asked()
    shutil.copy(TRUTH / "models/deepseek_v3/config.json", model)
    with_config = asked()
    assert len(made) == 2, "the answer without a config is not the answer with one"
    assert with_config.notes != without.notes


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 100, -1])
def test_a_cut_off_entry_is_no_entry(size: int, kept: Path, folder: Path, made: list[Answer]) -> None:
    first = question(folder)
    (entry,) = kept.iterdir()
    entry.write_bytes(entry.read_bytes()[:size])
    assert question(folder) == first
    assert len(made) == 2
    assert question(folder) == first
    assert len(made) == 2, "the entry is whole again"


@pytest.mark.parametrize("at", [0, 10, 0.5, -20, -1])
def test_a_damaged_entry_is_no_entry(at: float, kept: Path, folder: Path, made: list[Answer]) -> None:
    first = question(folder)
    (entry,) = kept.iterdir()
    data = bytearray(entry.read_bytes())
    data[int(at * len(data)) if isinstance(at, float) else at] ^= 0xFF
    entry.write_bytes(data)
    assert question(folder) == first
    assert len(made) == 2


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"\x80\x04N.", b"cos\nsystem\n(S'true'\ntR."])
def test_an_entry_with_a_right_digest_and_a_wrong_content_is_no_entry(
    content: bytes, kept: Path, folder: Path, made: list[Answer]
) -> None:
    import hashlib

    question(folder)
    (entry,) = kept.iterdir()
    entry.write_bytes(content + hashlib.blake2b(content, digest_size=16).digest())
    assert said(question(folder)) == ("EAGLEWorker", "synchronous")
    assert len(made) == 2


# The superuser may write anywhere; then the read-only case shows nothing and is left out.
OBSTACLES = ["file", "folder of the entry's name", *(["read-only"] if os.geteuid() else [])]


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_cache_that_cannot_be_written_is_no_error(
    obstacle: str, kept: Path, folder: Path, made: list[Answer]
) -> None:
    if obstacle == "file":
        kept.parent.parent.mkdir(exist_ok=True)
        kept.parent.write_text("in the way")
    elif obstacle == "read-only":
        kept.mkdir(parents=True)
        kept.chmod(0o500)
    else:
        question(folder)
        (entry,) = kept.iterdir()
        entry.unlink()
        entry.mkdir()
    before = len(made)
    assert said(question(folder)) == ("EAGLEWorker", "synchronous")
    assert len(made) == before + 1


@pytest.mark.parametrize(
    "other",
    [
        {"words": ("--disable-overlap-schedule",)},
        {"words": ("--tp", "2")},
        {"env": {"SGLANG_ENABLE_SPEC_V2": "1"}},
        {"env": {"UNRELATED": "1"}},
    ],
    ids=str,
)
def test_another_launch_has_its_own_answer(
    other: dict[str, object], kept: Path, folder: Path, made: list[Answer]
) -> None:
    question(folder)
    question(folder, *other.get("words", ()), env=other.get("env"))  # type: ignore[misc, arg-type]
    assert len(made) == 2


def test_two_trees_of_the_same_release_do_not_share_answers(kept: Path, folder: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    (other / "sglang/srt/speculative/eagle_worker.py").unlink()
    assert said(question(folder)) == ("EAGLEWorker", "synchronous")
    assert said(question(other))[1] == "dispatch"
    assert said(question(folder)) == ("EAGLEWorker", "synchronous")


def test_nothing_half_written_is_left_behind(kept: Path, folder: Path) -> None:
    for words in ((), ("--tp", "2"), ("--tp", "4")):
        question(folder, *words)
    assert len(list(kept.iterdir())) == 3
