"""How long pathtrace takes and how much memory, as a markdown table (``make bench``; see README.md here).

Every figure is of a process of its own, as a user starts it: ``python -m pathtrace ...``. Standard output
carries the table and nothing else.
"""

from __future__ import annotations

import argparse
import os
import pickle
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathtrace.benchmarks.changed_file import Repository

ROOT = Path(__file__).resolve().parents[1]
CONFORMANCE = ROOT / "tests" / "conformance"
BEGIN, END = "<!-- benchmark -->", "<!-- /benchmark -->"
RELEASES = ("0.5.9", "0.5.23")
COLD_GOALS = {"0.5.9": 1.5, "0.5.23": 2.5}
WARM_GOAL_S, HOOK_GOAL_S, SWEEP_GOAL, MEMORY_GOAL_MB = 0.3, 0.4, 10.0, 400.0

MACHINE_FACTS = ("--assume", "sm=90", "--assume", "gpus=8", "--assume", "gpu_memory_mib=81559")
CONFIGS = (
    *("--model-config", str(CONFORMANCE / "models" / "llama" / "config.json")),
    *("--draft-config", str(CONFORMANCE / "models" / "llama-eagle3" / "config.json")),
)
LAUNCH = shlex.split(
    "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct "
    "--speculative-algorithm EAGLE3 --speculative-draft-model-path yuhuili/EAGLE3-LLaMA3.1-Instruct-8B "
    "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
)

# Parses the files on standard input (a pickled list of bytes) again and again; prints seconds.
FLOOR = """
import ast, pickle, sys, time
files = pickle.load(sys.stdin.buffer)
for _ in range(int(sys.argv[1])):
    start = time.perf_counter()
    for data in files:
        ast.parse(data)
    print(time.perf_counter() - start)
"""


class Failed(Exception):
    """A command gave no answer; the sentence goes into the table's row."""


@dataclass(frozen=True)
class Timed:
    """One finished process: wall seconds, peak memory in MB, and when each line of output came."""

    seconds: float
    memory_mb: float
    lines_at: tuple[float, ...]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    goal: str = ""


def run(command: Sequence[str], timeout: float, good: Iterable[int] = (0, 1), folder: Path | None = None) -> Timed:
    """Run a command, in this folder or another, and measure it.

    Raises:
        Failed: it ended otherwise than with one of the ``good`` codes, or not in time.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
    assert process.stdout is not None
    alarm = threading.Timer(timeout, process.kill)
    alarm.start()
    lines = tuple(time.perf_counter() - start for _line in process.stdout)
    _pid, status, usage = os.wait4(process.pid, 0)  # unlike wait(), this says what the process used
    seconds = time.perf_counter() - start
    alarm.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode < 0:
        raise Failed(f"no answer in {timeout:.0f} s")
    if process.returncode not in good:
        raise Failed(f"exit code {process.returncode}")
    # Linux counts in KiB.
    return Timed(seconds, usage.ru_maxrss * 1024 / 1e6, lines)


def pathtrace(*words: str) -> list[str]:
    """The command line of pathtrace in this environment."""
    return [sys.executable, "-m", "pathtrace", *words]


def check_command(release: str, *options: str) -> list[str]:
    """The story of the README on one release."""
    return pathtrace("check", "--sglang", release, *options, *CONFIGS, *MACHINE_FACTS, "--", *LAUNCH)


def summary(times: Sequence[float]) -> str:
    """Best and median."""
    return f"{min(times):.2f} s (median {statistics.median(times):.2f} s)"


class Benchmark:
    """Measures row by row; a row that cannot be measured says why."""

    def __init__(self, repeat: int, timeout: float) -> None:
        self.repeat = repeat
        self.timeout = timeout
        self.memory_mb = 0.0

    def measured(self, command: Sequence[str], folder: Path | None = None) -> list[float]:
        """Wall seconds of each repetition."""
        found = [run(command, self.timeout, folder=folder) for _ in range(self.repeat)]
        self.memory_mb = max(self.memory_mb, *(each.memory_mb for each in found))
        return [each.seconds for each in found]

    def cold(self, release: str) -> Row:
        """A check without the cache; the first run is not counted (it may fetch the release)."""
        what, goal = f"cold check of {release}", f"≤ {COLD_GOALS[release]} s"
        command = check_command(release, "--no-cache")
        try:
            run(command, self.timeout)
            return Row(what, summary(self.measured(command)), goal)
        except Failed as error:
            return Row(what, str(error), goal)

    def warm(self, release: str) -> Row:
        """A check whose answer is kept."""
        what, goal = f"warm check of {release}", f"≤ {WARM_GOAL_S} s"
        command = check_command(release)
        try:
            run(command, self.timeout)
            return Row(what, summary(self.measured(command)), goal)
        except Failed as error:
            return Row(what, str(error), goal)

    def hook(self, release: str) -> Iterator[Row]:
        """The commit hook on one changed file, once the answer and the tree's outlines are kept."""
        from pathtrace.tracer.tree.open import open_tree

        with tempfile.TemporaryDirectory() as folder:
            wheel = Path(open_tree(release).info.path)
            repository = Repository(Path(folder), wheel, (CONFIGS[1], CONFIGS[3]), LAUNCH)
            for change, file in repository.changes():
                what, goal = f"commit hook, {change} changed", f"≤ {HOOK_GOAL_S} s"
                command = pathtrace("check", "--select", "PT101", file)
                try:
                    run(command, self.timeout, folder=repository.folder)
                    yield Row(what, summary(self.measured(command, repository.folder)), goal)
                except Failed as error:
                    yield Row(what, str(error), goal)

    def sweep(self, release: str) -> Row:
        """Launches a second on one core, after the first."""
        what, goal = f"sweep on {release}, one core, after the first launch", f"≥ {SWEEP_GOAL:.0f} launches/s"
        launches = str(CONFORMANCE / "launches.jsonl")
        command = pathtrace(
            *("sweep", "--no-cache", "--sglang", release, "--launches", launches, "--jobs", "1", *MACHINE_FACTS)
        )
        try:
            done = run(command, self.timeout)
        except Failed as error:
            return Row(what, str(error), goal)
        self.memory_mb = max(self.memory_mb, done.memory_mb)
        first, last = done.lines_at[0], done.lines_at[-1]
        count = len(done.lines_at) - 1
        return Row(what, f"{count / (last - first):.1f} launches/s ({count} launches in {last - first:.1f} s)", goal)

    def floor(self, release: str) -> Row:
        """``ast.parse`` of the files that a check parses, and nothing else."""
        what = f"floor: `ast.parse` of the files that a check of {release} parses"
        files = parsed_files(release)
        done = subprocess.run(
            [sys.executable, "-c", FLOOR, str(self.repeat)], input=pickle.dumps(files), capture_output=True, check=True
        )
        times = [float(line) for line in done.stdout.split()]
        size = sum(len(data) for data in files) / 1e6
        return Row(f"{what} ({len(files)} files, {size:.1f} MB)", summary(times))

    def asking(self, command: str | None) -> Row:
        """SGLang's own answer, by whatever command gets it."""
        what = "asking SGLang itself, once"
        if command is None:
            return Row(what, 'not measured (`--ask-sglang "COMMAND"`)')
        try:
            done = run(shlex.split(command), self.timeout, good=(0,))
        except (Failed, OSError) as error:
            return Row(what, str(error))
        return Row(what, f"{done.seconds:.2f} s, {done.memory_mb:.0f} MB")

    def rows(self, ask: str | None) -> list[Row]:
        """The whole table."""
        rows = [self.cold(release) for release in RELEASES]
        rows += [self.warm(release) for release in RELEASES]
        rows += self.hook(RELEASES[0])
        rows.append(self.sweep(RELEASES[0]))
        memory = f"{self.memory_mb:.0f} MB" if self.memory_mb else "not measured"
        rows.append(Row("peak memory of all of these", memory, f"< {MEMORY_GOAL_MB:.0f} MB"))
        rows += [self.floor(release) for release in RELEASES]
        rows.append(self.asking(ask))
        return rows


def parsed_files(release: str) -> list[bytes]:
    """The contents of the tree's files that a check of the story parses."""
    from pathtrace.tracer.answering import evaluator_for, inputs_of
    from pathtrace.tracer.check import CheckRequest
    from pathtrace.tracer.launch.environment import merge_environment
    from pathtrace.tracer.launch.parse import parse_launch
    from pathtrace.tracer.tree.open import open_tree

    launch = parse_launch(tuple(LAUNCH))
    given = dict(word.split("=") for word in MACHINE_FACTS if "=" in word)
    request = CheckRequest(
        tree=open_tree(release),
        launch=launch,
        environment=merge_environment(launch, (), None, None),
        model_config=CONFIGS[1],
        draft_config=CONFIGS[3],
        assume=given,
    )
    evaluator = evaluator_for(request)
    evaluator.evaluate(inputs_of(request))
    sources = evaluator.sources
    found = [source for source in map(sources.find, sources._bodies) if source is not None]
    contents = [sources.read(source.path) for source in found]
    return [data for data in contents if data is not None]


def machine() -> str:
    """The machine in a few words."""
    version = platform.python_version_tuple()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {version[0]}.{version[1]}"


def table(rows: Sequence[Row], where: str, repeat: int) -> str:
    """The table in markdown, with a line that says where it was measured."""
    lines = ["| what | measured | goal |", "| --- | --- | --- |"]
    lines += [f"| {row.what} | {row.measured} | {row.goal} |" for row in rows]
    lines += ["", f"Measured on: {where}. Wall time; best and median of {repeat} runs."]
    return "\n".join(lines)


def replace_between_markers(text: str, new: str) -> str:
    """The text with what stands between the markers replaced.

    Raises:
        ValueError: the markers are not there, once each and in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"the file must hold {BEGIN} and {END} once, in this order")
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def main() -> None:
    """Measure, print, and write the table where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each check (default: 5)")
    parser.add_argument(
        "--timeout", type=int, default=300, metavar="S", help="seconds a command may take (default: 300)"
    )
    parser.add_argument("--machine", metavar="TEXT", help="words for the machine (default: found out)")
    parser.add_argument("--ask-sglang", metavar="COMMAND", help="a command that asks SGLang itself; run once")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also replace the table between the markers there")
    options = parser.parse_args()
    rows = Benchmark(options.repeat, options.timeout).rows(options.ask_sglang)
    text = table(rows, options.machine or machine(), options.repeat)
    print(text)
    if options.write is not None:
        old = options.write.read_text("utf-8")
        options.write.write_text(replace_between_markers(old, text), "utf-8")


if __name__ == "__main__":
    main()
