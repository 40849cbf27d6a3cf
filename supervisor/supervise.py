"""``pathtrace run``: a server under supervision, from its start to its exit status."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import time
from collections.abc import Callable
from functools import partial

from pathtrace.instrument.read_line import SIGN, read_line
from pathtrace.supervisor import processes
from pathtrace.supervisor.ending import end_descendants
from pathtrace.supervisor.forwarding import STALLED_S, Writer
from pathtrace.supervisor.probing import probe_in_background, watch_listening
from pathtrace.supervisor.run_mark import mark_text
from pathtrace.supervisor.run_request import CANNOT_RUN, NOT_FOUND, UNCONFIRMED, RunRequest
from pathtrace.supervisor.signals import ENDING, FROM_TERMINAL, take_signals
from pathtrace.supervisor.static_answer import StaticAnswer, read_in_background
from pathtrace.supervisor.streams import ServerPipes, Streams, open_log, open_standard_streams
from pathtrace.supervisor.terminal import give_terminal, has_terminal
from pathtrace.supervisor.watch import Decision

TICK_S = 0.5
# What stands in our output once the server has ended goes out in this time, or nobody reads it.
LAST_WORDS_S = 5.0
_SIGN = SIGN.encode()


def supervise(request: RunRequest) -> int:
    """Runs a server; returns the exit status of ``pathtrace run``.

    Raises:
        OSError: the log file, the ready file or the folder of the nodes cannot be written.
    """
    open_standard_streams()
    log = None if request.log_file is None else open_log(request.log_file)
    if request.ready_file is not None:
        request.ready_file.unlink(missing_ok=True)
        # Better now than after an hour of loading.
        if not os.access(request.ready_file.parent, os.W_OK):
            raise PermissionError(f"{request.ready_file} cannot be written")
    if request.watch.folder is not None:
        request.watch.folder.start()
    return _Supervision(request, log).run()


class _Supervision:
    """One server. All of it happens in one thread, on events that other threads and signals put into a queue."""

    def __init__(self, request: RunRequest, log: int | None) -> None:
        self.request = request
        self.watch = request.watch
        self.log = log
        self.events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.server = self.beside = 0
        self.status: int | None = None
        self.decision: Decision | None = None
        self.shown: list[bytes] = []
        self.is_asked_to_end = False
        self.kill_at: float | None = None
        self.is_probing = self.adopts = self.has_folder_trouble = False

    def run(self) -> int:
        self.adopts = processes.adopt_orphans()
        take_signals(
            forward=lambda number: self.events.put(partial(self._signalled, number)),
            reap=lambda: self.events.put(self._reap),
            pause=lambda: self.events.put(self._pause),
        )
        pipes = ServerPipes.open()
        problem = None
        try:
            self.server = processes.start(self.request.words, self.request.environ, pipes.there)
            self.watch.began = time.monotonic()
        except OSError as raised:
            problem = raised
        pipes.close_there()
        source = self._start_static_answer() if problem is None else None
        # Threads from here on: what forks has forked.
        self.streams = Streams(self.log, str(self.request.log_file), self._line)
        if problem is not None:
            return self._not_started(problem)
        self.streams.say_everywhere(mark_text(self.request.token))
        for remark in self.request.remarks:
            self.streams.say(remark)
        self.streams.forward(pipes.sources)
        try:
            if source is not None:
                read_in_background(source, lambda answer: self.events.put(partial(self._answered, answer)))
            if self.watch.assertion.shape.node_rank == 0:
                watch_listening(
                    self.watch.assertion.shape,
                    lambda: self.status is not None or self.decision is not None,
                    lambda is_listening: self.events.put(partial(self._listens, is_listening)),
                )
            self._loop()
        finally:
            self._end_everything()
        self.streams.drain(LAST_WORDS_S)
        self._handle_what_came()
        if self.decision is None and not self.is_asked_to_end:
            self._judge(time.monotonic())
        return self._finish()

    def _loop(self) -> None:
        while self.status is None:
            # Stops between the look at the queue and the wait are not lost: the queue holds what comes.
            try:
                self.events.get(timeout=TICK_S)()
            except queue.Empty:
                self._reap()
            now = time.monotonic()
            if self.kill_at is not None and now >= self.kill_at:
                self.kill_at = None
                processes.send(signal.SIGKILL, self.server, to_group=True)
            if self.beside and self.watch.answer_is_late(now):
                processes.send(signal.SIGKILL, self.beside, to_group=True)
            # One that was asked to end and goes on serving is judged by the clock.
            if self.status is None and (not self.is_asked_to_end or self.watch.is_late(now)):
                self._judge(now)

    def _handle_what_came(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self.events.get_nowait()()

    # Judging.

    def _judge(self, now: float) -> None:
        if self.decision is not None:
            self._keep_published()
            return
        try:
            self.decision = self.watch.decide(now)
        except OSError as problem:
            self.decision = Decision(False, f"the folder of the nodes cannot be written: {problem}")
        if self.decision is None:
            if self.status is None and self.request.probe and not self.is_probing and self.watch.wants_probe(now):
                self._probe()
        elif self.decision.confirmed:
            self._confirmed(self.decision)
        else:
            self._unconfirmed(self.decision, now)

    def _keep_published(self) -> None:
        # A server that is confirmed and serves is not ended because a shared folder went away.
        try:
            self.watch.keep_published()
        except OSError as problem:
            if not self.has_folder_trouble:
                self.streams.say(f"the folder of the nodes cannot be written: {problem}; the server runs on")
            self.has_folder_trouble = True

    def _confirmed(self, decision: Decision) -> None:
        self.streams.say_everywhere(decision.sentence)
        if self.request.ready_file is not None:
            try:
                self.request.ready_file.write_text(decision.sentence + "\n", "utf-8")
            except OSError as problem:
                self.streams.say(f"{self.request.ready_file} cannot be written: {problem}; the server runs on")

    def _unconfirmed(self, decision: Decision, now: float) -> None:
        self.shown = list(self.streams.last_lines)
        is_stopping = self.request.on_unconfirmed == "stop"
        effect = "the server is stopped" if is_stopping else "the server runs on, unconfirmed"
        self.streams.say_everywhere(f"NOT confirmed: {decision.sentence}; {effect}")
        for reason in decision.reasons:
            self.streams.say(f"  {reason}")
        if is_stopping and self.status is None:
            self.kill_at = now + self.request.kill_after_s
            processes.send(signal.SIGTERM, self.server, to_group=True)
            processes.send(signal.SIGCONT, self.server, to_group=True)
        elif not is_stopping:
            self._show_lines()

    def _probe(self) -> None:
        def ended(failure: str | None) -> None:
            field, value = ("probe_failed", failure) if failure else ("probed_at", time.monotonic())
            self.events.put(lambda: setattr(self.watch, field, value))

        self.is_probing = True
        self.streams.say("no request has come: one short probe request shows whether steps go through the hook")
        probe_in_background(self.watch.assertion.shape, lambda: self.status is not None, ended)

    # What other threads and signals bring.

    def _signalled(self, number: int) -> None:
        if number in ENDING:
            self.is_asked_to_end = True
        if self.status is None:
            to_group = number in FROM_TERMINAL and has_terminal()
            processes.send(number, self.server, to_group=to_group)

    def _pause(self) -> None:
        processes.send(signal.SIGSTOP, self.server, to_group=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        processes.send(signal.SIGCONT, self.server, to_group=True)

    def _reap(self) -> None:
        for pid, status in processes.reap(self._stopped):
            if pid == self.server:
                self.status = status
            elif pid == self.beside:
                self.beside = 0

    def _stopped(self, pid: int, number: int) -> None:
        if pid == self.server and number in (signal.SIGTTIN, signal.SIGTTOU) and has_terminal():
            give_terminal(self.server)

    def _line(self, line: bytes) -> None:
        if _SIGN in line:
            said = read_line(line.decode("utf-8", "replace"))
            if said is not None:
                self.events.put(partial(self.watch.hear, said))

    def _listens(self, is_listening: bool) -> None:
        self.watch.listens_at = time.monotonic() if is_listening else None

    # The static answer.

    def _start_static_answer(self) -> int | None:
        """Starts the process that makes it; returns where to read it."""
        asked = self.request.static_answer
        if asked is None:
            return None
        source, there = os.pipe()
        silent = os.open(os.devnull, os.O_RDWR)
        try:
            self.beside = processes.start(asked.words, asked.environ, {0: silent, 1: there, 2: silent})
        except OSError as problem:
            # Whoever reads finds the end at once, and this is what it says.
            os.write(there, f"{asked.words[0]}: {problem}".encode())
        finally:
            os.close(there)
            os.close(silent)
        self.watch.answer_pending = True
        return source

    def _answered(self, answer: StaticAnswer) -> None:
        if self.decision is None and not self.is_asked_to_end:
            missing = "; asserting only what the processes say" if answer.outcome == "unknown" else ""
            self.streams.say(f"static answer: {answer.sentence}{missing}")
        self.watch.learn(answer)

    # The end.

    def _end_everything(self) -> None:
        """No process stays behind: not the one beside, and none that the server has left."""
        if self.beside:
            processes.send(signal.SIGKILL, self.beside, to_group=True)
        if not self.adopts:
            processes.send(signal.SIGTERM, self.server, to_group=True)
        rest = end_descendants(self.request.kill_after_s, self._reap)
        if rest:
            named = ", ".join(map(str, rest))
            self.streams.say(f"processes {named} could not be ended: they hang in the kernel, or are another user's")

    def _not_started(self, problem: OSError) -> int:
        is_absent = isinstance(problem, FileNotFoundError | NotADirectoryError)
        self.streams.say(f"{self.request.words[0]} could not be started: {problem.strerror or problem}")
        self.streams.error.finish(LAST_WORDS_S)
        return NOT_FOUND if is_absent else CANNOT_RUN

    def _show_lines(self) -> None:
        self.streams.say(f"the last {len(self.shown)} lines of the server until then:")
        for line in self.shown:
            self.streams.say(f"| {line.decode('utf-8', 'replace').rstrip()}")

    def _finish(self) -> int:
        status = UNCONFIRMED if self.status is None else self.status
        if self.decision is not None and not self.decision.confirmed:
            if self.request.on_unconfirmed == "stop":
                self._show_lines()
                self.streams.say(f"exit {UNCONFIRMED}: not confirmed: {self.decision.sentence}")
                status = UNCONFIRMED
        elif self.decision is None and not self.is_asked_to_end:
            self.streams.say(f"the server ended with status {status} before it was confirmed")
            if status == 0 and self.request.on_unconfirmed == "stop":
                status = UNCONFIRMED
        for writer in self.streams.writers:
            self._finish_writer(writer, LAST_WORDS_S if status == UNCONFIRMED else None)
        return status

    def _finish_writer(self, writer: Writer, patience_s: float | None) -> None:
        """Waits as long as somebody reads, unless this process is told to end."""
        until = None if patience_s is None else time.monotonic() + patience_s
        while not writer.finish(TICK_S):
            self._handle_what_came()
            if self.is_asked_to_end and until is None:
                until = time.monotonic() + LAST_WORDS_S
            is_over = until is not None and time.monotonic() >= until
            if is_over or writer.is_stalled(STALLED_S):
                return
