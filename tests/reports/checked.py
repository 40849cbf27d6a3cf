"""Deployments with hand-made answers, and any deployment at all."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from hypothesis import strategies as st

from pathtrace.tests.reports.answers import ALL, ARGS, NONE, REFUSED, STORY, UNMET, V2
from pathtrace.tracer.answer import Answer, Decision, Finding, Place, Reading, Site, TreeInfo
from pathtrace.tracer.project.check import Checked

RELEASE = TreeInfo(given="0.5.9", kind="release", path="cache/sglang-0.5.9", version="0.5.9")
VENDORED = TreeInfo(given="vendor", kind="directory", path="vendor/python", version="0.5.9")
TYPED = Site("")
LISTED = Site("pyproject.toml", 7)


@dataclass(frozen=True)
class NamedTree:
    """A tree of which only the description is asked."""

    info: TreeInfo

    def read(self, path: str) -> bytes | None:
        """No file is there."""
        return None

    def is_dir(self, path: str) -> bool:
        """No folder is there."""
        return False

    def listdir(self, path: str) -> tuple[str, ...]:
        """Nothing is there."""
        return ()


def deployment(
    answer: Answer,
    *findings: Finding,
    name: str = "production",
    at: Site = LISTED,
    tree: TreeInfo = RELEASE,
    accepted: frozenset[str] = frozenset(),
) -> Checked:
    """A deployment with that answer and those findings."""
    return Checked(name, at, NamedTree(tree), replace(answer, findings=findings), accepted, len(accepted))


def written(write: Callable[[Sequence[Checked], TextIO], None], *checked: Checked) -> str:
    """What a renderer writes."""
    stream = io.StringIO()
    write(checked, stream)
    return stream.getvalue()


DEAD_PATCH = Finding("PT101", "EAGLEWorkerV2.verify is changed, and never runs", Place(V2.file, 706))
DEAD_VARIABLE = Finding(
    "PT102",
    "the tree does not read SGLANG_MAGIC",
    input="SGLANG_MAGIC",
    at=Site("deploy/prod.yaml", 12, 7),
)
WARNED = Finding("PT102", "SGLANG_OLD is read only to warn", Place(ARGS, 2385), "SGLANG_OLD", Site("deploy/prod.yaml"))

CLEAN = deployment(NONE, name="chat", at=Site("pyproject.toml", 3))
FOUND = deployment(STORY, DEAD_PATCH, DEAD_VARIABLE)
UNTOLD_REFUSAL = deployment(REFUSED, name="batch", at=Site("pyproject.toml", 20))
UNTOLD_EXPECTATION = deployment(UNMET, name="canary", at=Site("pyproject.toml", 30))
HOSTILE = "a|b`c` <script>x</script>\n::set-output name=x::y @octocat #12 \x1b[31mred\x00 %0A,:\ud800\ufffe"

# Every character, half pairs too: names of files and bytes of launches are decoded with them.
_text = st.text(st.characters(), max_size=12) | st.just(HOSTILE)
_numbers = st.none() | st.integers(1, 10**6)
_sites = st.builds(Site, _text, _numbers, _numbers)
_places = st.builds(Place, _text, st.integers(1, 10**6), _text)
_codes = st.sampled_from(["PT101", "PT102", "PT104", "PT107", "PT108", "PT999"])
_findings = st.builds(Finding, _codes, _text, st.none() | _places, st.none() | _text, st.none() | _sites)
_trees = st.builds(TreeInfo, _text, st.sampled_from(["directory", "git", "wheel"]), _text, st.none() | _text)


_decisions = st.builds(
    Decision,
    st.sampled_from(["branch", "write", "choice"]),
    _places,
    _text,
    st.lists(st.builds(Reading, _text, _text), max_size=1).map(tuple),
)


def _checked(
    answer: Answer,
    words: str,
    decisions: list[Decision],
    name: str,
    at: Site,
    tree: TreeInfo,
    findings: list[Finding],
    accepted: frozenset[str],
) -> Checked:
    worker = None if answer.worker is None else replace(answer.worker, cls=words)
    refusal = None if answer.refusal is None else replace(answer.refusal, message=words)
    expect = None if answer.expect is None else replace(answer.expect, wanted=words)
    said = replace(answer, worker=worker, refusal=refusal, expect=expect, decisions=tuple(decisions))
    return deployment(said, *findings, name=name, at=at, tree=tree, accepted=accepted)


any_deployment: st.SearchStrategy[Checked] = st.builds(
    _checked,
    st.sampled_from(list(ALL.values())),
    _text,
    st.lists(_decisions, max_size=1),
    _text,
    _sites,
    _trees,
    st.lists(_findings, max_size=2),
    st.frozensets(_codes, max_size=2),
)
any_deployments = st.lists(any_deployment, max_size=2)
