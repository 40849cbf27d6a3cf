"""Unified diffs: which lines of the tree they change, applied or not."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathtrace.tracer.answer import TreeInfo
from pathtrace.tracer.change.patch import PatchedFile, parse_patch, read_patch
from pathtrace.tracer.errors import BadInput

PATH = "sglang/srt/speculative/worker.py"
BEFORE = [f"line {number}" for number in range(1, 31)]


class OneFile:
    """A tree of one file."""

    info = TreeInfo("made", "directory", "made")

    def __init__(self, lines: list[str]) -> None:
        self.data = "\n".join(lines).encode()

    def read(self, path: str) -> bytes | None:
        return self.data if path == PATH else None

    def is_dir(self, path: str) -> bool:
        return False

    def listdir(self, path: str) -> tuple[str, ...]:
        return ()


def diff(before: list[str], after: list[str], name: str = f"python/{PATH}") -> bytes:
    return ("\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")) + "\n").encode()


def lines(data: bytes, tree: list[str] = BEFORE) -> tuple[int, ...]:
    (file,) = parse_patch(data, "x.patch", OneFile(tree))
    assert file.path == PATH
    return file.lines


CHANGED = [*BEFORE[:9], "other", *BEFORE[10:19], *BEFORE[20:25], "more", *BEFORE[25:]]


def test_lines_of_the_tree_before_and_after_the_change() -> None:
    # Line 10 is replaced, 20 taken out, a line put in after 25; afterwards that is 10, beside 19, and 25.
    assert lines(diff(BEFORE, CHANGED)) == (10, 20, 25)
    assert lines(diff(BEFORE, CHANGED), CHANGED) == (10, 19, 25)


def test_lines_put_at_the_end_are_known_again_where_they_stand() -> None:
    """The three lines of context fit the file before and after it; the added lines only after."""
    longer = [*BEFORE, "new", "newer"]
    assert lines(diff(BEFORE, longer), longer) == (31, 32)
    assert lines(diff(BEFORE, longer)) == (30,)


def test_a_hunk_without_context_is_found_where_its_lines_are() -> None:
    longer = [*BEFORE[:20], "put in", *BEFORE[20:]]
    data = f"--- a/{PATH}\n+++ b/{PATH}\n@@ -20,0 +21 @@\n+put in\n".encode()
    assert lines(data, longer) == (21,)
    assert lines(data) == (20,)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.lists(st.sampled_from(["a", "b", "c"]), max_size=12))
def test_what_difflib_writes_is_read(before: list[str], after: list[str]) -> None:
    data = diff(before, after)
    if before == after:
        return
    found = parse_patch(data, "x.patch", OneFile(before))
    assert all(0 < line <= max(1, len(before)) for file in found for line in file.lines)


def test_files_that_are_not_the_tree_s_are_left_out() -> None:
    assert parse_patch(diff(["a"], ["b"], "docs/x.md"), "x", OneFile(["a"])) == ()
    assert parse_patch(diff(["a"], ["b"], "sglang/../../x.py"), "x", OneFile(["a"])) == ()
    assert parse_patch(diff([], ["b"], "python/sglang/new.py"), "x", OneFile(["a"])) == ()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (diff(["never"], ["there"]), "does not fit the tree"),
        (b"\x7fELF\0", "binary"),
        (b"hello\n", "holds no change"),
        (b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n", "no unified diff"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "no unified diff"),
    ],
)
def test_what_is_no_patch_of_the_tree_is_one_sentence(data: bytes, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        parse_patch(data, "x.patch", OneFile(BEFORE))
    assert "x.patch" in str(caught.value)


def test_an_empty_patch_changes_nothing() -> None:
    assert parse_patch(b"", "x.patch", OneFile(BEFORE)) == ()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_patch(str(tmp_path / "none.patch"), OneFile(BEFORE))


def test_a_last_line_without_an_end_is_no_line() -> None:
    data = b"--- a/%b\n+++ b/%b\n@@ -2 +2 @@\n-line 2\n\\ No newline at end of file\n+x\n" % ((PATH.encode(),) * 2)
    assert lines(data, ["line 1", "line 2"]) == (2,)
    assert lines(data, ["line 1", "x"]) == (2,)


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.patch"
    path.write_bytes(diff(BEFORE, CHANGED).replace(b"\n", b"\r\n"))
    assert read_patch(str(path), OneFile(BEFORE)) == (PatchedFile(PATH, (10, 20, 25)),)
