"""Finding a model's config.json on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.configs.find import cache_folder, find_config
from pathtrace.tracer.errors import BadInput

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40


def snapshot(hub: Path, repo: str, commit: str, ref: str | None = "main") -> Path:
    """A repository in the cache, with its config behind a link as huggingface_hub lays it out."""
    folder = hub / f"models--{repo.replace('/', '--')}"
    blob = folder / "blobs" / f"blob-{commit}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_text(json.dumps({"commit": commit}))
    config = folder / "snapshots" / commit / "config.json"
    config.parent.mkdir(parents=True)
    config.symlink_to(Path("../../blobs") / blob.name)
    if ref is not None:
        (folder / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
        (folder / "refs" / ref).write_text(commit)
    return config


def found(model: str, hub: Path, revision: str | None = None) -> str | None:
    config = find_config(model, revision, None, {"HF_HUB_CACHE": str(hub)})
    return None if config is None else str(config.data["commit"])


def test_a_local_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot(tmp_path / "hub", "org/m", COMMIT)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "m").mkdir(parents=True)
    assert found("org/m", tmp_path / "hub") is None
    (tmp_path / "org" / "m" / "config.json").write_text('{"commit": "local"}')
    assert found("org/m", tmp_path / "hub") == "local"


def test_the_cache_by_branch_pull_request_and_commit(tmp_path: Path) -> None:
    snapshot(tmp_path, "org/m", COMMIT)
    snapshot(tmp_path, "org/m", OTHER, "refs/pr/1")
    assert found("org/m", tmp_path) == COMMIT
    assert found("org/m", tmp_path, "main") == COMMIT
    assert found("org/m", tmp_path, "refs/pr/1") == OTHER
    assert found("org/m", tmp_path, OTHER) == OTHER
    assert found("org/m", tmp_path, "v2") is None


def test_a_repository_without_owner(tmp_path: Path) -> None:
    snapshot(tmp_path, "gpt2", COMMIT)
    assert found("gpt2", tmp_path) == COMMIT


def test_without_refs_only_a_single_snapshot_is_beyond_doubt(tmp_path: Path) -> None:
    snapshot(tmp_path, "org/m", COMMIT, ref=None)
    assert found("org/m", tmp_path) == COMMIT
    assert found("org/m", tmp_path, "v2") is None
    snapshot(tmp_path, "org/m", OTHER, ref=None)
    assert found("org/m", tmp_path) is None


def test_a_ref_to_an_absent_snapshot_is_not_replaced_by_another(tmp_path: Path) -> None:
    snapshot(tmp_path, "org/m", COMMIT)
    (tmp_path / "models--org--m" / "refs" / "main").write_text(OTHER)
    assert found("org/m", tmp_path) is None


def test_a_link_to_an_absent_blob_counts_as_absent(tmp_path: Path) -> None:
    snapshot(tmp_path, "org/m", COMMIT).resolve().unlink()
    assert found("org/m", tmp_path) is None


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/c"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/b", "HF_HOME": "/c"}, "/b"),
        ({"HF_HOME": "/c"}, "/c/hub"),
        ({"HF_HOME": "~/c", "HOME": "/h"}, "/h/c/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HOME": "/h"}, "/h/.cache/huggingface/hub"),
        ({}, str(Path("~/.cache/huggingface/hub").expanduser())),
    ],
)
def test_where_the_cache_lies(env: dict[str, str], folder: str) -> None:
    assert cache_folder(env) == Path(folder)


def test_an_override_is_read_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"a": 1}')
    for override in (tmp_path, tmp_path / "config.json"):
        config = find_config("s3://bucket/m", None, str(override), {})
        assert config is not None and config.data == {"a": 1}
    with pytest.raises(BadInput, match="no such file"):
        find_config("org/m", None, str(tmp_path / "absent"), {})


def test_models_that_have_no_config_here(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    for model in (str(tmp_path / "m.gguf"), "s3://bucket/m", "https://x/y", "", "a/b/c", "a\0b", "x" * 5000):
        assert find_config(model, None, None, {"HF_HUB_CACHE": str(tmp_path)}) is None


def test_a_config_that_is_there_and_broken_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(BadInput, match="not JSON"):
        find_config(str(tmp_path), None, None, {})


@pytest.mark.parametrize("revision", ["..", "../..", "a/../../b", "/etc", "a\\..\\b", "\0", ".", "../snapshots/x"])
def test_no_revision_leads_out_of_the_repository(tmp_path: Path, revision: str) -> None:
    snapshot(tmp_path, "org/m", COMMIT)
    (tmp_path / "config.json").write_text('{"commit": "outside"}')
    assert found("org/m", tmp_path, revision) is None


def test_a_ref_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    snapshot(tmp_path, "org/m", COMMIT)
    (tmp_path / "config.json").write_text('{"commit": "outside"}')
    (tmp_path / "models--org--m" / "refs" / "main").write_text("../../..")
    assert found("org/m", tmp_path) is None


@given(st.text(alphabet="ab./\\-_:~\0 é", max_size=12), st.none() | st.text(alphabet="a./\\\0", max_size=8))
def test_any_name(tmp_path_factory: pytest.TempPathFactory, model: str, revision: str | None) -> None:
    empty = tmp_path_factory.getbasetemp() / "no-hub"
    config = find_config(model, revision, None, {"HF_HUB_CACHE": str(empty)})
    assert config is None or Path(model).expanduser().is_dir()
