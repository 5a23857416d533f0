"""`trace list`: one line for each trace of a folder.

In:  the arguments; a folder.
Out: text, and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.command.output import complain
from isrcheck.traces.command.shared import print_lines
from isrcheck.traces.format import folder
from isrcheck.traces.lanes.table import GAP


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace list`."""
    parser.add_argument("folder", metavar="DIR", type=Path, nargs="?", default=folder.DEFAULT)
    parser.set_defaults(run=_list)


def _list(arguments: argparse.Namespace) -> int:
    """Print a line for every readable file; report every other file, and return 2 if there is one."""
    rows = [("file", "model", "protocol", "property", "verdict", "steps", "configuration")]
    code = 0
    paths = folder.files(arguments.folder)
    for path in paths:
        try:
            header, steps, loop = folder.read_header(path)
        except UsageError as error:
            code = complain(str(error))
            continue
        told = (header.model, header.protocol or "-", header.property_name or "-", header.verdict or "-")
        rows.append((escaped(path.name), *told, _length(steps, loop), " ".join(folder.changed(header)) or "default"))
    if not paths:
        print_lines([escaped(f"no traces in {arguments.folder}")])
    elif len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
        print_lines([GAP.join(cells).rstrip() for cells in padded])
    return code


def _length(steps: int, loop: int | None) -> str:
    """The number of steps; of a lasso, also the step to which it returns."""
    if loop is None:
        return str(steps)
    return f"{steps}, stays" if loop == steps else f"{steps}, back to {loop}"
