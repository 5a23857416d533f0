"""`trace page`: a trace as a page, as graphics, or as a sequence diagram; a folder of traces as pages with an index."""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.commands.declarations import Option, integer, path
from isrcheck.commands.program import complain, print_lines
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.command.shared import FILE_HELP, MODEL, model_of
from isrcheck.traces.drawing import files
from isrcheck.traces.format import files as trace_files
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.other_tools import foreign
from isrcheck.traces.pages.folder import alone, begin, write_all

OPTIONS = (
    Option("FILE", f"{FILE_HELP}; or a folder of traces", path),
    MODEL,
    Option(
        "-o --html OUT.html",
        "one self-contained page; for a folder of traces, the folder for their pages and an index",
        path,
    ),
    Option("--svg OUT.svg", "vector graphics of the whole trace", path),
    Option("--png OUT.png", "the same graphics as a PNG picture", path),
    Option("--step I", "draw only this step (-1: the last)", integer),
    Option("--mermaid OUT.mmd", "a sequence diagram for Mermaid", path),
    Option("--plantuml OUT.puml", "a sequence diagram for PlantUML", path),
    Option("--force", "replace existing files"),
)


def run(arguments: argparse.Namespace) -> int:
    """Write the page, graphics or diagrams of a trace, or the pages of a folder."""
    if arguments.file.is_dir():
        return _pages(arguments)
    history = _history(arguments.file, arguments)
    forms = {name: getattr(arguments, name) for name in files.FORMS if getattr(arguments, name) is not None}
    if not forms:
        name = arguments.file.resolve().name.removesuffix(trace_files.SUFFIX).removesuffix(".json")
        forms = {"html": Path(f"{name}.html")}
    for written in files.write(history, forms, arguments.step, replace=arguments.force):
        print_lines([escaped(str(written))])
    return 0


def _history(file: Path, arguments: argparse.Namespace) -> Trace | foreign.ForeignTrace:
    foreign_trace = foreign.find(file)
    if foreign_trace is not None and arguments.model is not None:
        raise UsageError(f"{file}: a trace of another tool needs no model; leave --model out")
    return foreign_trace or trace_files.read(file, model_of(arguments))


def _pages(arguments: argparse.Namespace) -> int:
    """Write pages for a folder's readable traces, with an index. Report unreadable files; return 2 if there are any."""
    for option in ("svg", "png", "mermaid", "plantuml", "step"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"{arguments.file}: --{option} draws one trace, and this is a folder; name a file in it")
    code, histories = 0, {}
    for file in trace_files.files(arguments.file):
        try:
            histories[file.name.removesuffix(trace_files.SUFFIX)] = _history(file, arguments)
        except UsageError as error:
            code = complain("trace", str(error))
    if not histories:
        raise UsageError(f"{arguments.file}: no traces in it; check writes traces to ./{trace_files.DEFAULT}")
    out = arguments.html or Path(f"{arguments.file.resolve().name}-pages")
    pages = files.with_index(histories, f"{len(histories)} trace{'s' * (len(histories) != 1)}")
    begin(out, "with -o DIR", replace=arguments.force, or_else=", or add --force")
    for page in write_all(out, alone(pages), replace=arguments.force):
        print_lines([escaped(str(page))])
    return code
