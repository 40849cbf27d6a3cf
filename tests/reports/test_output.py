"""--output-file: whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pathtrace.reports.output import report_stream
from pathtrace.tracer.errors import BadInput


def test_the_file_is_there_when_the_report_is_done(tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    with report_stream(str(target)) as stream:
        stream.write("half")
        assert not target.exists()
        stream.write(" whole \ud800")
    assert target.read_text(encoding="utf-8") == "half whole \\ud800"
    assert os.listdir(tmp_path) == ["report.txt"]


def test_a_failed_run_leaves_the_old_report_alone(tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    target.write_text("old")
    with pytest.raises(KeyError), report_stream(str(target)) as stream:
        stream.write("new")
        raise KeyError
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.txt"]


def test_the_files_mode_and_a_link_to_it_survive(tmp_path: Path) -> None:
    target, link = tmp_path / "report.txt", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with report_stream(str(link)) as stream:
        stream.write("new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        with report_stream(str(tmp_path / "report.txt")) as stream:
            stream.write("x")
    finally:
        os.umask(umask)
    assert (tmp_path / "report.txt").stat().st_mode & 0o777 == 0o644


def test_a_device_is_written_to_and_not_replaced() -> None:
    with report_stream(os.devnull) as stream:
        stream.write("x")
    assert not Path(os.devnull).is_file()


def test_a_pipe_is_written_to_and_not_replaced() -> None:
    reader, writer = os.pipe()
    with report_stream(f"/dev/fd/{writer}") as stream:
        stream.write("through the pipe")
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "through the pipe"


@pytest.mark.parametrize("name", ["", "missing/report.txt"])
def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as raised, report_stream(str(tmp_path / name)):
        pass
    assert str(raised.value).startswith(str(tmp_path))
