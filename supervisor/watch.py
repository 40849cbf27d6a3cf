"""Watching one server until it is confirmed or cannot be: what has come so far, and what follows from it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from pathtrace.instrument.assertion import Standing
from pathtrace.instrument.confirmation import Built, Failed, Line
from pathtrace.supervisor.confirm_dir import ConfirmFolder
from pathtrace.supervisor.static_answer import StaticAnswer
from pathtrace.supervisor.verdict import Assertion, confirmed_sentence

# A server of any size takes longer to start than its static answer takes; past this it is given up.
ANSWER_S = 120.0
# What a process has said is here long before this, once another one of the same machine has acted upon it.
GRACE_S = 10.0
# A warm-up that has reached every replica is over long before this.
WARM_UP_S = 120.0
# Far more than the processes of any server say.
MOST_LINES = 20_000


@dataclass(frozen=True)
class Decision:
    """How it ended.

    Attributes:
        confirmed: whether the server is confirmed.
        sentence: what was confirmed, or the first reason why not.
        reasons: further reasons.
    """

    confirmed: bool
    sentence: str
    reasons: tuple[str, ...] = ()


@dataclass
class Watch:
    """One server's way to its confirmation.

    Attributes:
        assertion: what it has to confirm.
        timeout_s: how long it may take.
        folder: where the nodes of a deployment tell each other, None without.
        began: when the server was started.
        lines: what it has said, its own lines only.
        answer_pending: whether the static answer is still being made.
        listens_at: since when the server listens, None while it does not.
        probed_at: when the last probe request was answered.
        probe_failed: why a probe request was not answered.
    """

    assertion: Assertion
    timeout_s: float
    folder: ConfirmFolder | None = None
    began: float = field(default_factory=time.monotonic)
    lines: list[Line] = field(default_factory=list)
    answer_pending: bool = False
    listens_at: float | None = None
    probed_at: float | None = None
    probe_failed: str | None = None
    _heard: set[Line] = field(default_factory=set)

    def hear(self, line: Line) -> None:
        """Takes a line of a log; those of another run are let pass."""
        if line.origin.run == self.assertion.run and line not in self._heard and len(self.lines) < MOST_LINES:
            self._heard.add(line)
            self.lines.append(line)

    def learn(self, answer: StaticAnswer) -> None:
        """Takes the static answer, and what the tree made of the launch."""
        self.answer_pending = False
        shape = self.assertion.shape.resolved(answer.resolved)
        self.assertion = replace(self.assertion, answer=answer, shape=shape)

    def wants_probe(self, now: float) -> bool:
        """Whether the server listens, with nothing but a request missing that nobody else will send."""
        shape = self.assertion.shape
        # A prefill-only or decode-only server takes no request without its counterpart.
        if self.listens_at is None or self.answer_pending or shape.disaggregation_mode != "null":
            return False
        is_quiet = shape.skip_server_warmup or now - self.listens_at >= WARM_UP_S
        return is_quiet and self.assertion.all_built(self.lines) and self.assertion.judge(self.lines).state == "waiting"

    def answer_is_late(self, now: float) -> bool:
        """Whether the static answer is to be given up."""
        return self.answer_pending and now - self.began >= min(ANSWER_S, self.timeout_s)

    def is_late(self, now: float) -> bool:
        """Whether the time to confirm is over."""
        return now - self.began >= self.timeout_s

    def decide(self, now: float) -> Decision | None:
        """How it ended, None as long as it may still go either way.

        Raises:
            OSError: the folder of the nodes cannot be written.
        """
        is_late = self.is_late(now)
        if self.answer_pending and not (is_late or self._is_hopeless()):
            return None
        standing = self.assertion.judge(self.lines)
        if standing.state == "confirmed" and not any(isinstance(line, Built) for line in self.lines):
            # No rank of this node builds a worker; that its schedulers stand is waited for all the same.
            standing = replace(standing, state="waiting", reasons=("no scheduler process has said a word",))
        if self.folder is not None:
            self.folder.publish(standing.state, self.lines)
        if standing.state == "failed":
            return Decision(False, standing.reasons[0], standing.reasons[1:])
        if standing.state == "confirmed":
            return self._on_all_nodes(standing, is_late)
        reason = self._cannot_come(now)
        if reason is None and is_late:
            reason = f"it was not confirmed within {self.timeout_s:g} s"
        return None if reason is None else Decision(False, reason, standing.reasons)

    def _is_hopeless(self) -> bool:
        """Whether a process has said what no static answer mends."""
        wanted = self.assertion.worker
        return any(
            isinstance(line, Failed)
            or (
                isinstance(line, Built)
                and line.worker is not None
                and (line.problem or line.refused or wanted not in (None, line.worker))
            )
            for line in self.lines
        )

    def keep_published(self) -> None:
        """Tells the folder again where another run has begun on node 0.

        Raises:
            OSError: the folder cannot be written.
        """
        if self.folder is not None:
            self.folder.publish(self.assertion.judge(self.lines).state, self.lines)

    def _on_all_nodes(self, standing: Standing, is_late: bool) -> Decision | None:
        if self.folder is None or self.folder.node != 0:
            where = ""
            if self.assertion.shape.nnodes > 1:
                ranks = "; ".join(f"({rank})" for rank in sorted(standing.confirmed))
                where = f"; node {self.assertion.shape.node_rank} of {self.assertion.shape.nnodes}, ranks {ranks}"
            return Decision(True, confirmed_sentence(standing, self.lines) + where)
        others, waiting = self.folder.others()
        together = [*self.lines, *others]
        # Every node's run has marked its lines with a token of its own; they were told apart when they came.
        everyone = replace(self.assertion, run=None, all_nodes=True).judge(together)
        if everyone.state == "failed":
            return Decision(False, everyone.reasons[0], everyone.reasons[1:])
        if everyone.state == "confirmed" and not waiting:
            return Decision(True, f"{confirmed_sentence(everyone, together)}; all {self.folder.nodes} nodes")
        if is_late:
            return Decision(
                False, f"not all nodes confirmed within {self.timeout_s:g} s", (*waiting, *everyone.reasons)
            )
        return None

    def _cannot_come(self, now: float) -> str | None:
        """Why nothing more is to be waited for, None where something may come."""
        if self.probe_failed is not None:
            return self.probe_failed
        if self.probed_at is not None and now - self.probed_at >= GRACE_S:
            return "the probe request was answered, and no step for it went through the hook"
        is_silent = not any(isinstance(line, Built) for line in self.lines)
        if is_silent and self.listens_at is not None and now - self.listens_at >= GRACE_S:
            host, port = self.assertion.shape.address
            return f"the server listens on {host}:{port}, and no scheduler process has said a word: see doctor"
        return None
