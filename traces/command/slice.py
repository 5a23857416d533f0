"""`trace slice`: a trace of the same failure without the steps that the failure does not need.

In:  the arguments; a trace file.
Out: text, a trace file, and an exit code.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from isrcheck.models.messages import escaped
from isrcheck.traces.command.shared import add_model, model_of, print_lines
from isrcheck.traces.explaining import slicing
from isrcheck.traces.format import folder
from isrcheck.traces.terminal import slice_text


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace slice`."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a trace that ends in the failure of a property")
    add_model(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, default=folder.DEFAULT, help="folder for the sliced trace")
    parser.set_defaults(run=_slice)


def _slice(arguments: argparse.Namespace) -> int:
    trace = folder.read(arguments.file, model_of(arguments))
    found = slicing.slice_of(trace, slicing.command_of(trace, arguments.file, arguments.model))
    lines = slice_text.tell(trace, found)
    if found.left_out:
        path = folder.write(found.trace, arguments.out)
        model = [] if arguments.model is None else ["--model", str(arguments.model)]
        lines.append(escaped(f"see it: {shlex.join(['trace', 'show', str(path), *model])}"))
    print_lines(lines)
    return 0
