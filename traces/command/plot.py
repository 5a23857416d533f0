"""`trace plot`: fields over the steps of a trace, such as the ISR over time."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import escaped
from isrcheck.traces.command.shared import MODEL, REPLACE, model_of
from isrcheck.traces.drawing.plot import curves_of, lines_of, svg_of
from isrcheck.traces.format import files
from isrcheck.traces.format.files import put

OPTIONS = (
    Option("FILE", "a trace written by check, or the link `latest`", path),
    Option("[FIELD ...]", "fields of the state (default: those of the ISR)", destination="fields"),
    MODEL,
    Option(
        "--clock ACTION", "the axis counts how often this action was taken, as in --clock tick_passes (default: steps)"
    ),
    Option("--svg OUT.svg", "vector graphics, in place of text", path),
    REPLACE,
)


def run(arguments: argparse.Namespace) -> int:
    """Print the curves of the fields as text, or write them as SVG."""
    trace = files.read(arguments.file, model_of(arguments))
    curves = curves_of(trace, arguments.fields, arguments.clock)
    if arguments.svg is None:
        print_lines(lines_of(curves))
        return 0
    title = f"{trace.instance.model.name}: {trace.property_name or 'a behaviour'}"
    put(arguments.svg, svg_of(curves, title).encode(), replace=arguments.force)
    print_lines([escaped(str(arguments.svg))])
    return 0
