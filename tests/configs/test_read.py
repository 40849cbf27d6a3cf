"""Reading a config.json."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.configs.read import ConfigFile, read_config
from pathtrace.tracer.errors import BadInput


def written(folder: Path, data: bytes) -> Path:
    path = folder / "config.json"
    path.write_bytes(data)
    return path


def test_a_file_or_its_folder(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"model_type": "llama", "x": null}')
    expected = ConfigFile(path, {"model_type": "llama", "x": None})
    assert read_config(path) == expected
    assert read_config(str(tmp_path)) == expected


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{\n "a": 1,\n}', ":3: is not JSON"),
        (b"", ":1: is not JSON"),
        (b"[1]", "no object"),
        (b"GGUF\x03\xff\xfe", "not UTF-8"),
        (b"GGUF\x00\x00", "binary"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "number too long"),
        (b" " * (32 << 20) + b"{}", "over 32 MB"),
    ],
)
def test_what_is_no_config(tmp_path: Path, data: bytes, says: str) -> None:
    path = written(tmp_path, data)
    if says == "number too long" and not hasattr(__import__("sys"), "get_int_max_str_digits"):
        pytest.skip("this Python reads numbers of any length")
    with pytest.raises(BadInput) as caught:
        read_config(path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_what_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path, "a\0b", "x" * 5000):
        with pytest.raises(BadInput):
            read_config(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="regular file"):
        read_config(tmp_path / "pipe")


@given(st.binary(max_size=100) | st.text(alphabet='{}[]":,1e-. \nnul', max_size=40).map(str.encode))
def test_any_file(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = written(tmp_path_factory.getbasetemp(), data)
    try:
        assert isinstance(read_config(path).data, dict)
    except BadInput as error:
        assert str(path) in str(error)
