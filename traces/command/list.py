"""`trace list`: one line for each trace of a folder."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.program import complain, print_lines
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.lanes.table import GAP

OPTIONS = (Option("[DIR]", "", path, destination="folder", default=files.DEFAULT),)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for every readable file, and an error for every other file; return 2 if a file is unreadable."""
    rows = [("file", "model", "protocol", "property", "verdict", "steps", "configuration")]
    code = 0
    paths = files.files(arguments.folder)
    for file in paths:
        try:
            header, steps, loop = files.read_header(file)
        except UsageError as error:
            code = complain("trace", str(error))
            continue
        facts = (header.model, header.protocol or "-", header.property_name or "-", header.verdict or "-")
        rows.append((escaped(file.name), *facts, _length(steps, loop), " ".join(files.changed(header)) or "default"))
    if not paths:
        print_lines([escaped(f"no traces in {arguments.folder}")])
    elif len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
        print_lines([GAP.join(cells).rstrip() for cells in padded])
    return code


def _length(steps: int, loop: int | None) -> str:
    if loop is None:
        return str(steps)
    return f"{steps}, stays" if loop == steps else f"{steps}, back to {loop}"
