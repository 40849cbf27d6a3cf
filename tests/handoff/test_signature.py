"""Keywords that the scheduler gives and a worker does not take: real releases, every worker, both loops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pathtrace.tracer.handoff.find import workers
from pathtrace.tracer.handoff.signature import mismatches
from pathtrace.tracer.tree.model import Tree


@pytest.mark.parametrize(
    ("release", "line", "wanted"),
    [
        ("0.5.4", 0, set()),
        ("0.5.9", 0, set()),  # the keyword is put together before the call, where there is no speculation
        ("0.5.12.post1", 0, set()),
        ("0.5.14", 0, set()),
        # scheduler.py:4390, the synchronous branch: the signatures of these four have no pp_proxy_tensors.
        ("0.5.20", 4390, {"DSparkWorkerV2", "FrozenKVMTPWorkerV2", "MultiLayerEagleWorkerV2", "UnoWorkerV2"}),
        # scheduler.py:4829: two of them took it up since.
        ("0.5.23", 4829, {"FrozenKVMTPWorkerV2", "UnoWorkerV2"}),
    ],
)
def test_the_synchronous_branch(release: str, line: int, wanted: set[str], tree: Callable[[str], Tree]) -> None:
    opened = tree(release)
    found = {
        (name, each.keyword, each.line)
        for name, module in workers(opened).items()
        for each in mismatches(opened, module, name, "synchronous")
    }
    assert {name for name, _keyword, _line in found} == wanted
    assert {keyword for _name, keyword, _line in found} <= {"pp_proxy_tensors"}
    assert not wanted or line in {at for _name, _keyword, at in found}


@pytest.mark.parametrize("release", ["0.5.9", "0.5.20", "0.5.23"])
def test_the_overlap_branch_fits_every_worker(release: str, tree: Callable[[str], Tree]) -> None:
    opened = tree(release)
    for name, module in workers(opened).items():
        assert mismatches(opened, module, name, "overlap") == ()
