"""`trace slice`: a trace of the same failure without the steps that the failure does not need."""

from __future__ import annotations

import argparse
import shlex

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import escaped
from isrcheck.traces.command.shared import MODEL, model_of
from isrcheck.traces.explaining import slicing
from isrcheck.traces.format import files

OPTIONS = (
    Option("FILE", "a trace that ends in the failure of a property", path),
    MODEL,
    Option("--out DIR", "folder for the sliced trace", path, default=files.DEFAULT),
)


def run(arguments: argparse.Namespace) -> int:
    """Print which steps the failure needs, and write the sliced trace."""
    trace = files.read(arguments.file, model_of(arguments))
    sliced = slicing.slice_of(trace, slicing.command_of(trace, arguments.file, arguments.model))
    lines = slicing.tell(trace, sliced)
    if sliced.left_out:
        written = files.write(sliced.trace, arguments.out)
        model = [] if arguments.model is None else ["--model", str(arguments.model)]
        lines.append(escaped(f"see it: {shlex.join(['trace', 'show', str(written), *model])}"))
    print_lines(lines)
    return 0
