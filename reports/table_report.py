"""A truth table as text, JSON or Markdown.

Text is aligned columns without a frame: it can be searched, cut and pasted, and is the same on a
terminal and in a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TextIO

from pathtrace.reports.document import BLANK, Line, Piece, line, printable, sections
from pathtrace.reports.terminal import write_document
from pathtrace.tracer.table_model import TruthTable

SCHEMA_VERSION = "1"

# An underscore inside a word is not markup: SGLANG_ENABLE_SPEC_V2 stays as it is.
_MARKUP = re.compile(r"[\\|*`<>\[]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def render_table(table: TruthTable, output_format: str, stream: TextIO) -> None:
    """Write the table to the stream in one of ``FORMATS``."""
    FORMATS[output_format](table, stream)


def _write_text(table: TruthTable, stream: TextIO) -> None:
    cells = [tuple(map(printable, row)) for row in (table.columns, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines: list[Line] = []
    for number, row in enumerate(cells):
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        lines.append(line(Piece(text.rstrip(), "" if number else "head"), hang=4))
    footer = [line(Piece(each, "dim")) for each in _footer(table)]
    write_document(sections([lines, footer]) if lines else [BLANK, *footer], stream)


def _write_json(table: TruthTable, stream: TextIO) -> None:
    report = {
        "schema_version": SCHEMA_VERSION,
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
        "evaluations": table.evaluations,
        "bounded": table.bounded,
        "notes": list(table.notes),
    }
    json.dump(report, stream, indent=2)
    stream.write("\n")


def _write_markdown(table: TruthTable, stream: TextIO) -> None:
    rows = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    for row in rows:
        stream.write(f"| {' | '.join(map(_markdown_cell, row))} |\n")
    stream.write("\n")
    stream.write("  \n".join(map(_markdown_cell, _footer(table))) + "\n")


def _markdown_cell(text: str) -> str:
    """Plain text in a cell: what Markdown or HTML would read as its own is escaped."""
    return _MARKUP.sub(r"\\\g<0>", printable(text))


def _footer(table: TruthTable) -> list[str]:
    evaluated = f"{_counted(len(table.rows), 'row')} from {_counted(table.evaluations, 'evaluation')}"
    if table.bounded:
        evaluated += "; the limit cut the table short: raise --limit for the rest"
    return [evaluated, *(f"note: {printable(each)}" for each in table.notes)]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


FORMATS: dict[str, Callable[[TruthTable, TextIO], None]] = {
    "text": _write_text,
    "json": _write_json,
    "markdown": _write_markdown,
}
