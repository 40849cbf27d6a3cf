"""``pathtrace run``: signals arrive at the server, and no process stays behind, however it ends."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pathtrace.tests.supervisor.running import (
    CONFIRMS,
    children_said,
    environment,
    is_running,
    own_lines,
    read_until,
    run,
    run_command,
    running,
)

FOREVER = ["sleep", 300]


def all_end(pids: list[int], within_s: float = 20) -> bool:
    until = time.monotonic() + within_s
    while any(map(is_running, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_a_signal_arrives_at_the_server_once(name: str) -> None:
    with running([["trap", [name], None], *CONFIRMS, ["sleep", 0.5], ["sleep", 2], ["exit", 6]]) as process:
        assert process.stdout is not None and process.stderr is not None
        read_until(process.stdout, "trapped")
        read_until(process.stderr, "confirmed: ")
        process.send_signal(getattr(signal, name))
        output, _ = process.communicate(timeout=30)
    assert output.decode().split() == ["got", name]
    assert process.returncode == 6


def test_a_server_that_is_told_to_end_gives_its_own_status() -> None:
    with running([["trap", ["SIGTERM"], 3], *CONFIRMS, FOREVER]) as process:
        assert process.stderr is not None
        read_until(process.stderr, "confirmed: ")
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    assert own_lines(said) == []


@pytest.mark.parametrize("status", [0, 3])
def test_sigterm_during_the_start_is_no_failed_confirmation(status: int) -> None:
    with running([["trap", ["SIGTERM"], status], FOREVER]) as process:
        assert process.stdout is not None
        read_until(process.stdout, "trapped")
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert process.returncode == status
    assert own_lines(said) == []


def test_a_server_that_lives_on_after_a_signal_is_judged_all_the_same() -> None:
    options = ["--confirm-timeout", "3", "--kill-after", "1"]
    with running([["trap", ["SIGTERM", "SIGHUP"], None], ["sleep", 60], FOREVER], options=options) as process:
        assert process.stdout is not None
        read_until(process.stdout, "trapped")
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert process.returncode == 97
    assert own_lines(said)[0].startswith("pathtrace: NOT confirmed: it was not confirmed within 3 s")


@pytest.mark.parametrize(("stubborn", "own_session"), [(False, False), (True, False), (False, True), (True, True)])
def test_no_child_outlives_a_server_that_dies(stubborn: bool, own_session: bool) -> None:
    steps = [["fork", 2, stubborn, own_session], ["die", "SIGKILL"]]
    done = run(steps, options=["--kill-after", "0.5"])
    pids = children_said(done.stdout)
    assert len(pids) == 2
    assert not any(map(is_running, pids))
    assert done.returncode == 137


def test_no_child_outlives_a_server_that_is_not_confirmed() -> None:
    options = ["--expect", "EAGLEWorkerV2", "--kill-after", "0.5"]
    steps = [["fork", 1, True, True], ["trap", ["SIGTERM"], None], ["built", {}], FOREVER, FOREVER]
    done = run(steps, options=options)
    (pid,) = children_said(done.stdout)
    assert done.returncode == 97
    assert not is_running(pid)


def test_a_child_that_ends_before_its_server_is_reaped(tmp_path: Path) -> None:
    # The child's own parent ends at once, so that nobody but the supervisor can reap it.
    code = "import os, subprocess, time\n"
    code += "subprocess.run(['sh', '-c', '(sleep 0.2; exit 0) & echo']); time.sleep(1)\n"
    code += "parent = str(os.getppid())\n"
    code += "states = [open(f'/proc/{p}/stat').read().rpartition(')')[2].split()[:2] for p in os.listdir('/proc')"
    code += " if p.isdigit() and os.path.exists(f'/proc/{p}/stat')]\n"
    code += "print([s for s in states if s[1] == parent and s[0] == 'Z'])"
    script = tmp_path / "server.py"
    script.write_text(code)
    words = [sys.executable, "-m", "pathtrace", "run", "--no-static-answer", "--on-unconfirmed", "warn", "--"]
    done = subprocess.run([*words, sys.executable, str(script)], capture_output=True, timeout=40, check=False)
    assert done.stdout.split(b"\n")[-2] == b"[]"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a child that its parent died")
def test_a_supervisor_that_is_killed_takes_its_server_along() -> None:
    with running([["fork", 0, False, False], ["print", "child "], ["environ"], *CONFIRMS, FOREVER]) as process:
        assert process.stderr is not None
        read_until(process.stderr, "confirmed: ")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (server,) = map(int, children)
        process.kill()
        assert all_end([server])


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    words = run_command([*CONFIRMS, ["die", "SIGHUP"], ["exit", 4]])
    done = subprocess.run(["nohup", *words], capture_output=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 4


def test_control_c_in_a_terminal_reaches_the_server_once_and_reading_from_there_works() -> None:
    code = "import os, signal, sys, time\n"
    code += "print('typed', repr(sys.stdin.readline()), flush=True)\n"
    code += (
        "signal.signal(signal.SIGINT, lambda *_: (print('interrupted', flush=True), time.sleep(0.5), sys.exit(7)))\n"
    )
    code += "print('ready', flush=True); time.sleep(60)"
    words = [sys.executable, "-m", "pathtrace", "run", "--no-static-answer", "--", sys.executable, "-c", code]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(words[0], words)
    os.write(terminal, b"hello\n")
    said = b""
    until = time.monotonic() + 30
    while b"ready" not in said and time.monotonic() < until:
        said += os.read(terminal, 1000)
    assert b"typed 'hello\\n'" in said
    os.write(terminal, b"\x03")
    try:
        while time.monotonic() < until:
            said += os.read(terminal, 1000)
    except OSError:
        pass  # nobody has the terminal open any more
    assert said.count(b"interrupted") == 1
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def can_be_process_1() -> bool:
    words = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return (
        shutil.which("unshare") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif("not can_be_process_1()")
@pytest.mark.parametrize(("last", "status"), [(["exit", 5], 5), (["die", "SIGKILL"], 137)])
def test_as_process_1_of_a_container_it_ends_with_the_server_and_its_children(last: list[object], status: int) -> None:
    steps = [["fork", 1, True, True], *CONFIRMS, ["sleep", 0.3], last]
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    words += run_command(steps, options=["--kill-after", "0.5"])
    done = subprocess.run(words, capture_output=True, timeout=40, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == status
    assert "confirmed: EAGLEWorker" in done.stderr.decode()


@pytest.mark.skipif("not can_be_process_1()")
def test_as_process_1_it_hands_sigterm_on() -> None:
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", 'exec "$@"', "sh"]
    words += run_command([["trap", ["SIGTERM"], 9], *CONFIRMS, FOREVER])
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stderr is not None
        read_until(process.stderr, "confirmed: ")
        (first,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        os.kill(first, signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 9
    finally:
        process.kill()
        process.communicate()


def test_a_fault_of_pathtrace_itself_ends_with_98_and_leaves_no_server(tmp_path: Path) -> None:
    # A sitecustomize of the supervisor's own interpreter breaks a function that it will call later.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'run' in sys.orig_argv:\n"
        "    import pathtrace.supervisor.watch as w\n"
        "    def broken(self, now): raise KeyError('broken on purpose')\n"
        "    w.Watch.decide = broken\n"
    )
    steps = [["fork", 1, False, True], FOREVER]
    done = run(steps, options=["--kill-after", "1"], env=environment(PYTHONPATH=str(tmp_path)))
    assert done.returncode == 98
    assert b"a fault of pathtrace: KeyError" in done.stderr
    assert not any(map(is_running, children_said(done.stdout)))
