"""Output tokens a second without speculation, with it always, and with it turned off above a batch size.

    python benchmarks/dynamic_disable.py --threshold 24 -- python -m sglang.launch_server ...

The command is one with speculation and with ``--max-running-requests``. It is started three times: without its
``--speculative-*`` flags, as it is, and with pathtrace's hook. Each server is asked in a closed loop, several times at
each concurrency; the table shows medians and their spread. Needs a machine that can run the server, and nothing of
pathtrace's own requirements but wrapt.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from serving_load import Load, Wave  # noqa: E402

SITE = Path(__file__).resolve().parent.parent / "instrument" / "site"
MODES = ("none", "always", "pathtrace")
NAMES = {"none": "no speculation", "always": "always speculation", "pathtrace": "pathtrace", "native": "native switch"}


def without_speculation(words: Sequence[str]) -> list[str]:
    """The command without its ``--speculative-*`` flags and their values."""
    kept: list[str] = []
    is_value = False
    for word in words:
        if word.startswith("--speculative-"):
            is_value = "=" not in word
        elif word.startswith("-") or not is_value:
            is_value = False
            kept.append(word)
        else:
            is_value = False
    return kept


def adaptive(words: Sequence[str], threshold: int, folder: Path) -> list[str]:
    """The flags of SGLang's own adaptive steps: those of the command up to the threshold, none above it."""
    steps = words[words.index("--speculative-num-steps") + 1]
    file = folder / "adaptive.json"
    file.write_text(
        json.dumps({"1": {"candidate_steps": [int(steps)]}, str(threshold + 1): {"candidate_steps": [0]}}), "utf-8"
    )
    return ["--speculative-adaptive", "--speculative-adaptive-config", str(file)]


def environment(mode: str, threshold: int, more: Sequence[str]) -> dict[str, str]:
    """The variables of one mode."""
    found = dict(os.environ)
    if mode == "pathtrace":
        path = [str(SITE), *filter(None, [found.get("PYTHONPATH")])]
        found |= {"PYTHONPATH": os.pathsep.join(path), "PATHTRACE_ENABLE": "1", "PATHTRACE_THRESHOLD": str(threshold)}
        found |= dict(each.split("=", 1) for each in more)
    return found


@contextlib.contextmanager
def serving(words: Sequence[str], environ: dict[str, str], port: int, log: Path, wait_s: float) -> Iterator[float]:
    """A server, for as long as it is needed; yields the seconds until it was ready."""
    began = time.monotonic()
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*words, "--host", "127.0.0.1", "--port", str(port)],
            env=environ,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while not is_ready(port):
            if server.poll() is not None or time.monotonic() - began > wait_s:
                raise SystemExit(f"the server did not come up:\n{log.read_text('utf-8', 'replace')[-3500:]}")
            time.sleep(0.5)
        yield time.monotonic() - began
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
            for _ in range(20):
                if server.poll() is not None:
                    break
                time.sleep(0.25)
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def is_ready(port: int) -> bool:
    """Whether the server answers a request for its model's name."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def measured(load: Load, concurrencies: Sequence[int], repeat: int) -> dict[int, list[Wave]]:
    """The waves at each concurrency, round by round, so that a drift of the machine touches all alike."""
    for concurrency in concurrencies:
        load.wave(concurrency, concurrency, output=16)
    found: dict[int, list[Wave]] = {concurrency: [] for concurrency in concurrencies}
    for _ in range(repeat):
        for concurrency in concurrencies:
            found[concurrency].append(load.wave(concurrency, concurrency * (4 if concurrency <= 8 else 3)))
    return found


def rates(found: dict[str, dict[int, list[Wave]]]) -> dict[str, dict[int, list[float]]]:
    """Output tokens a second, of every wave."""
    return {
        mode: {concurrency: [wave.rate for wave in waves] for concurrency, waves in rows.items()}
        for mode, rows in found.items()
    }


def cell(waves: Sequence[Wave]) -> str:
    """Median and half the spread, in percent."""
    rates = [wave.rate for wave in waves]
    middle = statistics.median(rates)
    return f"{middle:,.0f} ±{50 * (max(rates) - min(rates)) / middle:.0f}%"


def table(found: dict[str, dict[int, list[Wave]]], concurrencies: Sequence[int]) -> str:
    """The figures as a Markdown table."""
    lines = ["| output tok/s at | " + " | ".join(map(str, concurrencies)) + " |"]
    lines.append("|---" * (len(concurrencies) + 1) + "|")
    found = {mode: found[mode] for mode in NAMES if mode in found}
    for mode, rows in found.items():
        lines.append(f"| {NAMES[mode]} | " + " | ".join(cell(rows[each]) for each in concurrencies) + " |")
    if set(MODES) <= set(found):
        shares = []
        for each in concurrencies:
            middle = {mode: statistics.median(wave.rate for wave in rows[each]) for mode, rows in found.items()}
            shares.append(f"{middle['pathtrace'] / max(middle['none'], middle['always']):.2f}")
        lines.append("| pathtrace to the better of the two | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threshold", type=int, required=True, help="largest batch that speculates")
    parser.add_argument("--concurrency", default="1,8,32,64,128", help="numbers with commas between them")
    parser.add_argument("--prompt", type=int, default=64, help="tokens of a prompt")
    parser.add_argument("--output", type=int, default=128, help="tokens of an answer")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--wait", type=float, default=300, help="seconds that a server may take to start")
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="a variable of the hook; repeatable")
    parser.add_argument("--folder", type=Path, default=Path(), help="where logs and results go")
    parser.add_argument("command", nargs="+", help="the server's command, after --")
    given = parser.parse_args()
    concurrencies = [int(each) for each in given.concurrency.split(",")]
    found: dict[str, dict[int, list[Wave]]] = {}
    for mode in given.modes.split(","):
        words = without_speculation(given.command) if mode == "none" else given.command
        if mode == "native":
            words = [*words, *adaptive(given.command, given.threshold, given.folder)]
        log = given.folder / f"server-{mode}.log"
        environ = environment(mode, given.threshold, given.set)
        with serving(words, environ, given.port, log, given.wait) as seconds:
            print(f"{NAMES[mode]}: ready after {seconds:.0f} s", flush=True)
            load = Load(given.port, given.prompt, given.output)
            found[mode] = measured(load, concurrencies, given.repeat)
        for concurrency, waves in found[mode].items():
            lengths = [f"{wave.accept_length:.2f}" for wave in waves if wave.accept_length]
            print(f"  {concurrency}: {[round(wave.rate) for wave in waves]} accept {lengths}", flush=True)
        for line in log.read_text("utf-8", "replace").splitlines():
            if line.startswith("pathtrace: ") and "live" not in line[:17]:
                print("  " + line[:240])
        rates = {
            mode: {each: [wave.rate for wave in waves] for each, waves in rows.items()} for mode, rows in found.items()
        }
        (given.folder / "dynamic_disable.json").write_text(json.dumps(rates, indent=1), "utf-8")
    print(table(found, concurrencies))


if __name__ == "__main__":
    main()
