"""`trace page`: a trace as a page, as graphics, or as a sequence diagram.

In:  the arguments; a trace file.
Out: files, whose names are printed, and an exit code. For a folder of traces: a page for each, and an index.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.command.output import complain
from isrcheck.traces.command.shared import FILE_HELP, add_model, model_of, print_lines
from isrcheck.traces.drawing import pages
from isrcheck.traces.format import folder
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.other_tools import reading
from isrcheck.traces.other_tools.reading import ForeignTrace


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace page`."""
    parser.add_argument("file", metavar="FILE", type=Path, help=f"{FILE_HELP}; or a folder of traces")
    add_model(parser)
    what = "one self-contained page; for a folder of traces, the folder for their pages and an index"
    parser.add_argument("-o", "--html", metavar="OUT.html", type=Path, help=what)
    parser.add_argument("--svg", metavar="OUT.svg", type=Path, help="vector graphics of the whole trace")
    parser.add_argument("--png", metavar="OUT.png", type=Path, help="the same graphics as a PNG picture")
    parser.add_argument("--step", metavar="I", type=int, help="draw only this step (-1: the last)")
    parser.add_argument("--mermaid", metavar="OUT.mmd", type=Path, help="a sequence diagram for Mermaid")
    parser.add_argument("--plantuml", metavar="OUT.puml", type=Path, help="a sequence diagram for PlantUML")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    parser.set_defaults(run=_page)


def _page(arguments: argparse.Namespace) -> int:
    if arguments.file.is_dir():
        return _pages(arguments)
    history = _history(arguments.file, arguments)
    forms = {name: getattr(arguments, name) for name in pages.FORMS if getattr(arguments, name) is not None}
    if not forms:
        name = arguments.file.resolve().name.removesuffix(folder.SUFFIX).removesuffix(".json")
        forms = {"html": Path(f"{name}.html")}
    for path in pages.write(history, forms, arguments.step, replace=arguments.force):
        print_lines([escaped(str(path))])
    return 0


def _history(path: Path, arguments: argparse.Namespace) -> Trace | ForeignTrace:
    found = reading.find(path)
    if found is not None and arguments.model is not None:
        raise UsageError(f"{path}: a trace of another tool needs no model; leave --model out")
    return found or folder.read(path, model_of(arguments))


def _pages(arguments: argparse.Namespace) -> int:
    """Write a page for every readable trace of a folder, and an index; report every other file, and return 2 if there
    is one."""
    for option in ("svg", "png", "mermaid", "plantuml", "step"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"{arguments.file}: --{option} draws one trace, and this is a folder; name a file in it")
    code, histories = 0, {}
    for path in folder.files(arguments.file):
        try:
            histories[path.name.removesuffix(folder.SUFFIX)] = _history(path, arguments)
        except UsageError as error:
            code = complain(str(error))
    if not histories:
        raise UsageError(f"{arguments.file}: no traces in it; check writes traces to ./{folder.DEFAULT}")
    out = arguments.html or Path(f"{arguments.file.resolve().name}-pages")
    title = f"{len(histories)} trace{'s' * (len(histories) != 1)}"
    made = pages.with_index(histories, title)
    pages.begin(out, "with -o DIR", replace=arguments.force, or_else=", or add --force")
    for path in pages.write_all(out, made, replace=arguments.force):
        print_lines([escaped(str(path))])
    return code
