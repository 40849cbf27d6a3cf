"""``pathtrace log``: the assertions of ``run`` on a log that somebody kept, and the three exit statuses."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pathtrace.cli import cli
from pathtrace.instrument.confirmation import Built, Failed, Line, Live, Origin, line_text
from pathtrace.supervisor.run_mark import mark_text

FIRST, SECOND = "0123456789ab", "ba9876543210"
LAUNCH = ["python", "-m", "sglang.launch_server", "--model-path", "m"]


def built(tensor: int = 0, run: str | None = None, worker: str = "EAGLEWorker", **more: object) -> Built:
    origin = Origin(100 + tensor, run, tensor, 0)
    return Built(origin, worker=worker, module="m", mechanism="observe", **more)  # type: ignore[arg-type]


def live(mode: str, tensor: int = 0, run: str | None = None) -> Live:
    return Live(Origin(100 + tensor, run, tensor, 0), "EAGLEWorker", mode, 1)


def said(*lines: Line) -> str:
    return "".join(line_text(line) + "\n" for line in lines)


def rank(tensor: int = 0, run: str | None = None) -> str:
    return said(built(tensor, run), live("prefill", tensor, run), live("decode", tensor, run))


def log(path: Path | str, *words: str, **given: object) -> Result:
    before = list(words[: words.index("--")]) if "--" in words else list(words)
    return CliRunner().invoke(cli, ["log", *before, str(path), *words[len(before) :]], **given)  # type: ignore[arg-type]


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_whole_confirmation_is_0(tmp_path: Path) -> None:
    done = log(written(tmp_path, "loading\n" + rank() + "serving\n"))
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "confirmed: EAGLEWorker on 1 rank; prefill and decode seen",
        "how many ranks there are is not known: give --ranks N or the launch to have them counted",
    ]


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("", [], "no scheduler process has said that it has built its worker"),
        ("no line of ours\n", [], "no scheduler process has said that it has built its worker"),
        (said(built()), [], "rank dp 0, pp 0, tp 0: no decode and no prefill step has gone through the hook"),
        (said(built(), live("prefill")), [], "rank dp 0, pp 0, tp 0: no decode step has gone through the hook"),
        (rank(), ["--expect", "EAGLEWorkerV2"], "EAGLEWorker was built, EAGLEWorkerV2 is expected"),
        (rank(), ["--ranks", "2"], "1 ranks have spoken, 2 build a worker"),
        (rank(0) + rank(1), ["--ranks", "1"], "2 ranks have spoken, 1 build a worker"),
        (rank(0) + said(built(1, worker="Other")), [], "the ranks are not alike: worker is"),
        (said(Failed(Origin(5), "wrapt cannot be imported")), [], "wrapt cannot be imported"),
        (said(built(problem="it has no steps")), [], "EAGLEWorker is not hooked: it has no steps"),
        (said(built(threshold=8, refused="no way")), [], "the threshold 8 is not acted upon: no way"),
        (rank(), ["--no-static-answer", "--", *LAUNCH, "--tp", "2"], "rank dp 0, pp 0, tp 1 has not said"),
    ],
)
def test_anything_less_is_1_with_the_reason(tmp_path: Path, text: str, words: list[str], reason: str) -> None:
    done = log(written(tmp_path, text), *words)
    assert done.exit_code == 1
    assert reason in done.output
    assert all(line.startswith("not confirmed: ") for line in done.output.splitlines())


def test_the_launch_says_how_many_ranks_there_are(tmp_path: Path) -> None:
    done = log(written(tmp_path, rank(0) + rank(1)), "--no-static-answer", "--", *LAUNCH, "--tp", "2")
    assert (done.exit_code, done.output) == (0, "confirmed: EAGLEWorker on 2 ranks; prefill and decode seen\n")


def test_a_tree_that_cannot_be_read_leaves_what_the_processes_said(tmp_path: Path) -> None:
    done = log(written(tmp_path, rank()), "--sglang", str(tmp_path / "none"), "--", *LAUNCH)
    assert done.exit_code == 0
    assert "pathtrace: no static answer: " in done.output


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(gzip.compress(rank().encode())[:-9]),
        lambda path: path.write_bytes(b"\x1f\x8b" + b"no gzip at all" * 10),
    ],
    ids=["absent", "folder", "half a gzip file", "no gzip file"],
)
def test_a_log_that_cannot_be_read_is_2(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "log")
    done = log(tmp_path / "log")
    assert done.exit_code == 2
    assert len(done.output.splitlines()) == 1


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--ranks", "0", "a"], ["--ranks", "1", "a", "--", *LAUNCH]])
def test_words_that_are_not_understood_are_2(words: list[str]) -> None:
    assert CliRunner().invoke(cli, ["log", *words]).exit_code == 2


def test_more_lines_than_servers_say_are_2_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathtrace.supervisor.saved_log.MOST_LINES", 20)
    done = log(written(tmp_path, said(*(built(each) for each in range(40)))))
    assert done.exit_code == 2
    assert "more than 20 confirmation lines" in done.output


def test_gzip_standard_input_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(rank().encode()))
    assert log(packed).exit_code == 0
    assert log(written(tmp_path, rank().replace("\n", "\r\n"))).exit_code == 0


@pytest.mark.parametrize(
    "around",
    [
        lambda text: b"\x00\xff" * 50_000 + text.encode(),
        lambda text: b"x" * 3_000_000 + text.encode(),
        lambda text: random.Random(7).randbytes(300_000) + b"\n" + text.encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: b"".join(b'{"log":%s}\n' % json.dumps(each).encode() for each in text.splitlines(True)),
        lambda text: b"".join(b"2026-01-01T00:00:00Z stderr F " + each.encode() for each in text.splitlines(True)),
        lambda text: b"".join(b"\x1b[33m" + each.encode() for each in text.splitlines(True)),
        lambda text: b"".join(b"half a line of another process " + each.encode() for each in text.splitlines(True)),
    ],
    ids=["binary", "a line of 3 MB", "random", "no last end", "docker", "kubernetes", "coloured", "half lines"],
)
def test_the_lines_are_found_in_whatever_stands_around_them(tmp_path: Path, around: Callable[[str], bytes]) -> None:
    assert log(written(tmp_path, around(rank()))).exit_code == 0


def test_the_last_run_of_a_log_counts(tmp_path: Path) -> None:
    begins = f"pathtrace: {mark_text(SECOND)}\n"
    assert log(written(tmp_path, rank(run=FIRST) + rank(run=SECOND))).exit_code == 0
    # The one before was confirmed, this one is not (yet).
    assert log(written(tmp_path, rank(run=FIRST) + said(built(run=SECOND)))).exit_code == 1
    assert log(written(tmp_path, rank(run=FIRST) + begins)).exit_code == 1
    late = said(live("mixed", run=FIRST))
    assert log(written(tmp_path, rank(run=FIRST) + begins + rank(run=SECOND) + late)).exit_code == 0


def test_the_report_for_programs(tmp_path: Path) -> None:
    done = log(written(tmp_path, rank(run=FIRST)), "--output-format", "json")
    assert json.loads(done.output) == {
        "confirmed": True,
        "sentence": "confirmed: EAGLEWorker on 1 rank; prefill and decode seen",
        "reasons": [],
        "ranks": [{"dp": 0, "pp": 0, "tp": 0}],
        "run": FIRST,
    }


# --wait: one part of the log is there at once, the rest comes while it is read.


def later(action: Callable[[], object], after_s: float = 0.4) -> threading.Thread:
    def act() -> None:
        time.sleep(after_s)
        action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def append(path: Path, *pieces: str) -> None:
    for piece in pieces:
        with path.open("a") as stream:
            stream.write(piece)
        time.sleep(0.05)


def rotated(path: Path, text: str) -> None:
    path.rename(path.with_suffix(".1"))
    path.write_text(text)


@pytest.mark.parametrize(
    "action",
    [
        lambda path: append(path, rank()),
        lambda path: append(path, rank()[:40], rank()[40:300], rank()[300:]),
        lambda path: rotated(path, rank()),
        lambda path: (append(path, said(built(), live("prefill"))), rotated(path, said(live("decode")))),
        lambda path: path.write_text(rank()),
    ],
    ids=["grows", "grows in pieces", "replaced", "goes on in a new file", "cut and written anew"],
)
def test_a_growing_log_is_read_until_it_confirms(tmp_path: Path, action: Callable[[Path], object]) -> None:
    path = written(tmp_path, "loading\n" * 1000)
    thread = later(lambda: action(path))
    began = time.monotonic()
    done = log(path, "--wait", "30")
    thread.join()
    assert done.exit_code == 0, done.output
    assert time.monotonic() - began < 20


def test_a_log_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "later.log"
    thread = later(lambda: path.write_text(rank()))
    assert log(path, "--wait", "30").exit_code == 0
    thread.join()


def test_waiting_ends_as_soon_as_nothing_can_mend_it(tmp_path: Path) -> None:
    began = time.monotonic()
    done = log(written(tmp_path, rank()), "--wait", "60", "--expect", "EAGLEWorkerV2")
    assert done.exit_code == 1
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("seconds", ["0", "0.3"])
def test_waiting_in_vain_is_1(tmp_path: Path, seconds: str) -> None:
    assert log(written(tmp_path, said(built())), "--wait", seconds).exit_code == 1
    assert log(written(tmp_path, rank()), "--wait", seconds).exit_code == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        lambda path: os.mkfifo(path),
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b"\x1f\x8b00"),
    ],
    ids=["never there", "a pipe", "a folder", "compressed"],
)
def test_what_cannot_grow_is_2(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "log")
    assert log(tmp_path / "log", "--wait", "0.3").exit_code == 2
