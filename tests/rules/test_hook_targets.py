"""What the hooks of a Python file name, in every form that people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathtrace.tracer.change.hook_targets import LIMIT, hook_targets, targets_in
from pathtrace.tracer.errors import BadInput

MODULE = "sglang.srt.speculative.eagle_worker_v2"
IMPORT = f"from {MODULE} import EAGLEWorkerV2\n"
VERIFY = (MODULE, "EAGLEWorkerV2.verify")


@pytest.mark.parametrize(
    ("source", "how"),
    [
        # sglang.srt.plugins.hook_registry: HookRegistry.register(target, hook, type), @plugin_hook(target, type=)
        (f"HookRegistry.register('{MODULE}.EAGLEWorkerV2.verify', f)", "HookRegistry.register"),
        (f"plugins.HookRegistry.register(hook=f, target='{MODULE}.EAGLEWorkerV2.verify')", "HookRegistry.register"),
        (f"NAME = '{MODULE}'\nHookRegistry.register(f'{{NAME}}.EAGLEWorkerV2.verify', f)", "HookRegistry.register"),
        (f"NAME = '{MODULE}'\nHookRegistry.register(NAME + '.EAGLEWorkerV2.verify', f)", "HookRegistry.register"),
        (f"@plugin_hook('{MODULE}.EAGLEWorkerV2.verify')\ndef f(): ...", "plugin_hook"),
        # wrapt: wrap_function_wrapper(target, name, wrapper), @patch_function_wrapper(target, name)
        (f"wrapt.wrap_function_wrapper('{MODULE}', 'EAGLEWorkerV2.verify', f)", "wrapt"),
        (
            f"from wrapt import wrap_function_wrapper as w\nw('{MODULE}', name='EAGLEWorkerV2.verify', wrapper=f)",
            "wrapt",
        ),
        (f"import {MODULE} as m\nwrapt.wrap_function_wrapper(m, 'EAGLEWorkerV2.verify', f)", "wrapt"),
        (f"@wrapt.patch_function_wrapper('{MODULE}', 'EAGLEWorkerV2.verify')\ndef f(w, i, a, k): ...", "wrapt"),
        # monkey patches
        (f"{IMPORT}EAGLEWorkerV2.verify = f", "assignment"),
        (f"from {MODULE} import EAGLEWorkerV2 as W\ndef late():\n    W.verify = f", "assignment"),
        (f"import {MODULE}\n{MODULE}.EAGLEWorkerV2.verify = f", "assignment"),
        ("from sglang.srt.speculative import eagle_worker_v2 as m\nm.EAGLEWorkerV2.verify = f", "assignment"),
        (f"m = importlib.import_module('{MODULE}')\nm.EAGLEWorkerV2.verify = f", "assignment"),
        (f"{IMPORT}Old = EAGLEWorkerV2\nOld.verify = f", "assignment"),
        (f"{IMPORT}setattr(EAGLEWorkerV2, 'verify', f)", "setattr"),
        # unittest.mock and pytest
        (f"from unittest import mock\nmock.patch('{MODULE}.EAGLEWorkerV2.verify', f)", "mock.patch"),
        (f"from unittest.mock import patch\n@patch('{MODULE}.EAGLEWorkerV2.verify')\ndef t(): ...", "mock.patch"),
        (f"{IMPORT}from unittest.mock import patch\npatch.object(EAGLEWorkerV2, 'verify')", "mock.patch"),
        (f"monkeypatch.setattr('{MODULE}.EAGLEWorkerV2.verify', f)", "mock.patch"),
        (f"{IMPORT}monkeypatch.setattr(EAGLEWorkerV2, 'verify', f)", "mock.patch"),
    ],
)
def test_a_form(source: str, how: str) -> None:
    (target,) = hook_targets(source.encode(), "x.py")
    assert ((target.module, target.qualname), target.how, target.file) == (VERIFY, how, "x.py")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "EAGLEWorkerV2.verify = f  # sglang: of no import",
        f"{IMPORT}worker = EAGLEWorkerV2()\nworker.verify = f",
        f"{IMPORT}self.verify = EAGLEWorkerV2.verify",
        "HookRegistry.register('vllm.worker.Worker.step', f)  # not sglang",
        "HookRegistry.register(name_from_elsewhere, f)  # sglang",
        "other.register('sglang.srt.x.Y.z', f)",
        "re.compile('sglang').patch = 1",
        "x = (  # sglang, and no Python",
        "\0sglang=",
    ],
)
def test_no_hook(source: str) -> None:
    assert hook_targets(source.encode(), "x.py") == ()


def test_places_count_characters_and_lines_from_one() -> None:
    source = f"# sglang\nü = 'ä'; HookRegistry.register('{MODULE}.EAGLEWorkerV2.verify', f)\n".encode()
    (target,) = hook_targets(source, "x.py")
    assert (target.line, target.column) == (2, len("ü = 'ä'; HookRegistry.register(") + 1)


def test_a_function_of_a_module_is_its_last_name() -> None:
    source = b"HookRegistry.register('sglang.srt.speculative.eagle_worker_common.run_eagle_verify', f)"
    (target,) = hook_targets(source, "x.py")
    assert (target.module, target.qualname) == ("sglang.srt.speculative.eagle_worker_common", "run_eagle_verify")


def test_bad_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        targets_in(str(tmp_path / "none.py"))
    broken = tmp_path / "broken.py"
    broken.write_text("# sglang\nx = (\n")
    with pytest.raises(BadInput, match="is no Python that can be read") as caught:
        targets_in(str(broken))
    assert caught.value.line == 2
    huge = tmp_path / "huge.py"
    huge.write_bytes(b"#" * (LIMIT + 1))
    with pytest.raises(BadInput, match="over 4 MB"):
        targets_in(str(huge))
    fine = tmp_path / "fine.py"
    fine.write_text(f"HookRegistry.register('{MODULE}.EAGLEWorkerV2.verify', f)\n")
    assert [each.qualname for each in targets_in(str(fine))] == ["EAGLEWorkerV2.verify"]
