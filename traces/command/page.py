"""`trace page`: a trace as a page, as graphics, or as a sequence diagram.

In:  the arguments; a trace file.
Out: files, whose names are printed, and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.traces.command.shared import FILE_HELP, add_model, model_of, print_lines
from isrcheck.traces.drawing import pages
from isrcheck.traces.format import folder
from isrcheck.traces.other_tools import reading


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace page`."""
    parser.add_argument("file", metavar="FILE", type=Path, help=FILE_HELP)
    add_model(parser)
    parser.add_argument("-o", "--html", metavar="OUT.html", type=Path, help="one self-contained page")
    parser.add_argument("--svg", metavar="OUT.svg", type=Path, help="vector graphics of the whole trace")
    parser.add_argument("--png", metavar="OUT.png", type=Path, help="the same graphics as a PNG picture")
    parser.add_argument("--step", metavar="I", type=int, help="draw only this step (-1: the last)")
    parser.add_argument("--mermaid", metavar="OUT.mmd", type=Path, help="a sequence diagram for Mermaid")
    parser.add_argument("--plantuml", metavar="OUT.puml", type=Path, help="a sequence diagram for PlantUML")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    parser.set_defaults(run=_page)


def _page(arguments: argparse.Namespace) -> int:
    found = reading.find(arguments.file)
    if found is not None and arguments.model is not None:
        raise UsageError(f"{arguments.file}: a trace of another tool needs no model; leave --model out")
    history = found or folder.read(arguments.file, model_of(arguments))
    forms = {name: getattr(arguments, name) for name in pages.FORMS if getattr(arguments, name) is not None}
    if not forms:
        name = arguments.file.resolve().name.removesuffix(folder.SUFFIX).removesuffix(".json")
        forms = {"html": Path(f"{name}.html")}
    for path in pages.write(history, forms, arguments.step, replace=arguments.force):
        print_lines([escaped(str(path))])
    return 0
