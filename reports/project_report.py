"""The deployments of a project: a line for each and its findings, or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TextIO

from pathtrace.reports.document import Line, Piece, Style, line, printable, sections
from pathtrace.reports.json_report import SCHEMA_VERSION, to_json
from pathtrace.reports.terminal import write_document
from pathtrace.reports.text_lists import findings_block, notes_block
from pathtrace.reports.text_report import headline
from pathtrace.tracer.project.check import Checked


def render_project(checked: Sequence[Checked], output_format: str, stream: TextIO) -> None:
    """Write the answers of a project in one of ``FORMATS``, or in a format of findings."""
    own = FORMATS.get(output_format)
    if own is None:
        module = import_module(f"pathtrace.reports.{output_format}")
        own = getattr(module, f"write_{output_format}")
    own(checked, stream)


def _write_text(checked: Sequence[Checked], stream: TextIO) -> None:
    clean = sum(each.exit_code == 0 for each in checked)
    style: Style = "good" if clean == len(checked) else "bad"
    last = line(Piece(f"clean: {clean} of {_counted(len(checked))}", style))
    write_document(sections([*(_block(each) for each in checked), [last]]), stream)


def _block(each: Checked) -> list[Line]:
    file = os.path.relpath(each.at.file)
    place = file if each.at.line is None else f"{file}:{each.at.line}"
    style: Style = "good" if each.exit_code == 0 else "bad"
    title = line(Piece(printable(each.name), "head"), "  ", Piece(printable(headline(each.answer)), style))
    known = [line(Piece(f"{each.known} known, let pass", "dim"), indent=2)] if each.known else []
    notes = notes_block(each.answer.notes)
    return [title, line(Piece(place, "dim"), indent=2), *findings_block(each.answer.findings), *known, *notes]


def _write_json(checked: Sequence[Checked], stream: TextIO) -> None:
    deployments = [
        {
            "name": each.name,
            "file": each.at.file,
            "line": each.at.line,
            **to_json(each.answer),
        }
        for each in checked
    ]
    json.dump({"schema_version": SCHEMA_VERSION, "deployments": deployments}, stream, indent=2, allow_nan=False)
    stream.write("\n")


def _counted(count: int) -> str:
    return f"{count} deployment" if count == 1 else f"{count} deployments"


FORMATS: dict[str, Callable[[Sequence[Checked], TextIO], None]] = {"text": _write_text, "json": _write_json}
