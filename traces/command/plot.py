"""`trace plot`: fields over the steps of a trace, such as the ISR over time.

In:  the arguments; a trace file.
Out: text, a graphics file, and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.models.messages import escaped
from isrcheck.traces.command.shared import add_model, model_of, print_lines
from isrcheck.traces.format import folder
from isrcheck.traces.format.output import put
from isrcheck.traces.plotting.curves import curves_of
from isrcheck.traces.plotting.drawing import svg_of
from isrcheck.traces.plotting.lines import lines_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace plot`."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a trace written by check, or the link `latest`")
    parser.add_argument("fields", metavar="FIELD", nargs="*", help="fields of the state (default: those of the ISR)")
    add_model(parser)
    what = "the axis counts how often this action was taken, as in --clock tick_passes (default: steps)"
    parser.add_argument("--clock", metavar="ACTION", help=what)
    parser.add_argument("--svg", metavar="OUT.svg", type=Path, help="vector graphics, in place of text")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.set_defaults(run=_plot)


def _plot(arguments: argparse.Namespace) -> int:
    trace = folder.read(arguments.file, model_of(arguments))
    curves = curves_of(trace, arguments.fields, arguments.clock)
    if arguments.svg is None:
        print_lines(lines_of(curves))
        return 0
    title = f"{trace.instance.model.name}: {trace.property_name or 'a behaviour'}"
    put(arguments.svg, svg_of(curves, title).encode(), replace=arguments.force)
    print_lines([escaped(str(arguments.svg))])
    return 0
