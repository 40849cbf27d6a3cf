"""The one error that means "the tool could not run" (exit code 2)."""

from __future__ import annotations


class BadInput(Exception):
    """Input that cannot be used: a missing tree, half a command, a file that is not JSON.

    ``str()`` of it is one sentence that names the file and line where known, and the next step.

    Args:
        message: the sentence, without file and line.
        file: path as the user wrote it, if a file is at fault.
        line: 1-based line in that file, if known.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.file = file
        self.line = line
        super().__init__(message)

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class UnreadableLaunch(BadInput):
    """One launch that cannot be asked about, because it leaves out what may decide; others of its file can be."""
