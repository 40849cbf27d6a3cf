"""What stands in for compiled operators either works or raises: nothing silently does nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from pathtrace.tests.live.environment import Environment
from pathtrace.tests.live.launches import V2_PLUGIN
from pathtrace.tests.live.starting import variables

# The stand-ins are put in place at the first import of sglang.
CALLS = """
import sglang, sgl_kernel, torch
for operators in (sgl_kernel, torch.ops.sgl_kernel):
    try:
        print("returned", operators.an_operator_without_stand_in_cpu(torch.zeros(1)))
    except NotImplementedError as problem:
        print(problem)
"""


@pytest.mark.live
def test_an_operator_without_stand_in_raises_when_called(environment: Callable[[str], Environment]) -> None:
    made = environment(V2_PLUGIN.release)
    done = subprocess.run(
        [str(made.python), "-c", CALLS],
        env={"PATH": os.environ.get("PATH", os.defpath), **variables(V2_PLUGIN, made)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "sgl_kernel.an_operator_without_stand_in_cpu was called: it has no stand-in on the CPU",
        "torch.ops.sgl_kernel.an_operator_without_stand_in_cpu was called: it has no stand-in on the CPU",
    ], done.stderr
