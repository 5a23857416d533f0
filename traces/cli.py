"""The command `trace`: shows, draws, compares, slices and lists trace files, and walks through a model.

In:  arguments; trace files, which may be damaged or written by other tools.
Out: text, and an exit code: 0; 1 if two traces differ; 2 for bad input (one line on stderr); 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from isrcheck.models.command_line import Parser
from isrcheck.models.language.model import Model
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.models.registry import load_file
from isrcheck.traces.drawing import pages
from isrcheck.traces.explaining import slicing
from isrcheck.traces.explaining.evaluate import parse_expression
from isrcheck.traces.format import folder
from isrcheck.traces.kafka.lanes import BASICS, LEGEND, spell_legend
from isrcheck.traces.lanes.table import GAP, UNCHANGED, WIDTH
from isrcheck.traces.other_tools import reading, showing
from isrcheck.traces.terminal import colour, diff, slice_text, walk_options
from isrcheck.traces.terminal.colour import Ink, Look
from isrcheck.traces.terminal.one_step import view_step
from isrcheck.traces.terminal.show import view, why

Commands = Any
"""The result of `add_subparsers`, whose type is private to argparse."""

FILE_HELP = "a trace written by check, or the link `latest`; or a JSON trace of Apalache, Quint or TLC"

MOST_MESSAGE = 1000
"""The longest message, in characters; a file can contain names of any length."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        try:
            arguments = _arguments(argv)
        except SystemExit:  # after --help, whose output may not have been written yet
            sys.stdout.flush()
            raise
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except UsageError as error:
        return _complain(str(error))
    except BrokenPipeError:  # argparse up to Python 3.11.3 lets it through after --help
        _discard_output()
        return 0
    except KeyboardInterrupt:
        print("trace: interrupted", file=sys.stderr)
        return 130


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; unknown options are left to the model's options if the command takes a model."""
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if arguments.run is not _explore:
        parser.refuse(rest, sys.argv[1:] if argv is None else argv)
    arguments.rest = tuple(rest)
    return arguments


def _parser() -> Parser:
    parser = Parser(prog="trace", description="Show the traces that check has written.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_show(commands)
    _add_page(commands)
    _add_diff(commands)
    _add_slice(commands)
    listing = commands.add_parser("list", help="one line per trace")
    listing.add_argument("folder", metavar="DIR", type=Path, nargs="?", default=folder.DEFAULT)
    listing.set_defaults(run=_list)
    _add_explore(commands)
    return parser


def _add_show(commands: Commands) -> None:
    show = commands.add_parser(
        "show",
        help="one line per step, then why the property fails",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(["a broker of Kafka:", *spell_legend([*BASICS, *LEGEND.values()])]),
    )
    show.add_argument("file", metavar="FILE", type=Path, help=FILE_HELP)
    _add_model(show)
    part = show.add_mutually_exclusive_group()
    part.add_argument("--full", action="store_true", help="every field of every state")
    part.add_argument("--why", action="store_true", help="only how the trace ends, and why")
    part.add_argument(
        "--step",
        metavar="I",
        type=int,
        help="state I in full, with the changes of step I and the properties that are false; -1: the last",
    )
    show.add_argument(
        "--eval",
        metavar="EXPR",
        action="append",
        default=[],
        help="the value of an expression over the state s in each state; may be repeated",
    )
    _add_look(show)
    show.set_defaults(run=_show)


def _show(arguments: argparse.Namespace) -> int:
    look = _look(arguments)
    found = reading.find(arguments.file)
    if found is not None:
        return _show_foreign(found, arguments, look)
    trace = folder.read(arguments.file, _model(arguments))
    expressions = [parse_expression(trace.instance, text) for text in arguments.eval]
    if arguments.why and expressions:
        raise UsageError("--why shows no states, so --eval does nothing; leave one of them out")
    if arguments.why:
        lines = why(trace, look)
    elif arguments.step is not None:
        lines = view_step(trace, arguments.step, look, expressions)
    else:
        lines = view(trace, arguments.full, look, expressions)
    _print(lines)
    return 0


def _show_foreign(found: reading.ForeignTrace, arguments: argparse.Namespace, look: Look) -> int:
    """Show a trace of another tool; its model is not known."""
    for option in ("model", "why", "eval"):
        if getattr(arguments, option):
            raise UsageError(
                f"{arguments.file}: --{option} needs the model, and this is a trace of another tool; leave it out"
            )
    _print(showing.view(found, arguments.full, arguments.step, look.width))
    return 0


def _add_page(commands: Commands) -> None:
    parser = commands.add_parser("page", help="write a page for the browser, or graphics and diagrams for documents")
    parser.add_argument("file", metavar="FILE", type=Path, help=FILE_HELP)
    _add_model(parser)
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
        raise UsageError(f"{arguments.file}: a trace of another tool, for which no model is used; leave --model out")
    history = found or folder.read(arguments.file, _model(arguments))
    forms = {name: getattr(arguments, name) for name in pages.FORMS if getattr(arguments, name) is not None}
    if not forms:
        name = arguments.file.resolve().name.removesuffix(folder.SUFFIX).removesuffix(".json")
        forms = {"html": Path(f"{name}.html")}
    for path in pages.write(history, forms, arguments.step, replace=arguments.force):
        _print([escaped(str(path))])
    return 0


def _add_diff(commands: Commands) -> None:
    parser = commands.add_parser("diff", help="show where two traces of one model part; exit code 1 if they do")
    parser.add_argument("one", metavar="A", type=Path, help="a trace written by check")
    parser.add_argument(
        "other", metavar="B", type=Path, help="another trace of the model, perhaps of another protocol or configuration"
    )
    _add_model(parser)
    parser.add_argument("--full", action="store_true", help="every field of the common states")
    _add_look(parser)
    parser.set_defaults(run=_diff)


def _diff(arguments: argparse.Namespace) -> int:
    look = _look(arguments)
    headers = [folder.read_header(path)[0] for path in (arguments.one, arguments.other)]
    diff.refuse_different(*(header.model for header in headers))
    model = _model(arguments)
    found = diff.Difference(*(folder.read(path, model) for path in (arguments.one, arguments.other)))
    _print(diff.tell(found, arguments.full, look))
    return 0 if found.is_none else 1


def _add_slice(commands: Commands) -> None:
    parser = commands.add_parser("slice", help="remove the steps that a failure does not need")
    parser.add_argument("file", metavar="FILE", type=Path, help="a trace that ends where a property fails")
    _add_model(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, default=folder.DEFAULT, help="where to write the slice")
    parser.set_defaults(run=_slice)


def _slice(arguments: argparse.Namespace) -> int:
    trace = folder.read(arguments.file, _model(arguments))
    found = slicing.slice_of(trace, slicing.command_of(trace, arguments.file, arguments.model))
    lines = slice_text.tell(trace, found)
    if found.left_out:
        path = folder.write(found.trace, arguments.out)
        model = [] if arguments.model is None else ["--model", str(arguments.model)]
        lines.append(escaped(f"see it: {shlex.join(['trace', 'show', str(path), *model])}"))
    _print(lines)
    return 0


def _add_model(parser: argparse.ArgumentParser) -> None:
    what = "your own model file, which is executed"
    parser.add_argument("--model", metavar="FILE.py", type=Path, help=what)


def _model(arguments: argparse.Namespace) -> Model | None:
    return None if arguments.model is None else load_file(arguments.model)


def _add_look(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--width", metavar="N", type=int, help="columns (default: those of the terminal, or 120)")
    parser.add_argument("--color", choices=colour.WHEN, default=colour.AUTO, help="auto: on a terminal")


def _look(arguments: argparse.Namespace) -> Look:
    """The width and the colours: as the options say, or as the terminal has them."""
    is_terminal = sys.stdout.isatty()
    if arguments.width is not None and arguments.width < 1:
        raise UsageError(f"--width {arguments.width}: give at least one column")
    width: int = arguments.width or (shutil.get_terminal_size((WIDTH, 1)).columns if is_terminal else WIDTH)
    is_coloured = colour.is_wanted(arguments.color, is_terminal, os.environ)
    return Look(max(1, width), Ink(is_coloured), fits=is_terminal or arguments.width is not None)


def _list(arguments: argparse.Namespace) -> int:
    """List every file that can be read; report every other file, and return 2 for it."""
    rows = [("file", "model", "protocol", "property", "verdict", "steps", "configuration")]
    code = 0
    paths = folder.files(arguments.folder)
    for path in paths:
        try:
            header, steps = folder.read_header(path)
        except UsageError as error:
            code = _complain(str(error))
            continue
        told = (header.model, header.protocol or "-", header.property_name or "-", header.verdict or "-", str(steps))
        rows.append((escaped(path.name), *told, " ".join(folder.changed(header)) or "default"))
    if not paths:
        _print([escaped(f"no traces in {arguments.folder}")])
    elif len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        _print([GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows])
    return code


def _add_explore(commands: Commands) -> None:
    explore = commands.add_parser(
        "explore",
        help="walk through the states of a model",
        description="Walk through the states of a model: choose a step, go back, see which properties become false.",
        epilog="Every configuration entry of a model is an option, as for check: --replicas 3, --acks all.",
        allow_abbrev=False,
    )
    walk_options.add_options(explore)
    explore.set_defaults(run=_explore)


def _explore(arguments: argparse.Namespace) -> int:
    """Build the walk before the screen opens, so that bad input is reported in one line on the terminal."""
    walk = walk_options.walk_of(arguments, arguments.rest)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("explore needs a terminal for input and output; to read a trace in a pipe: trace show FILE")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("explore needs a terminal with a cursor, and TERM names a dumb terminal; set TERM")
    try:
        from isrcheck.traces.terminal.explore import Explorer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise UsageError("explore needs textual, which is not installed: pip install 'isrcheck[viewer]'") from None
    screen = Explorer(walk, arguments.out)
    screen.run()
    _print(
        [escaped(f"saved {path}; see it with: trace show {shlex.quote(str(path))}") for path in screen.saved]
        or ["nothing saved"]
    )
    return screen.return_code or 0


def _print(lines: Sequence[str]) -> None:
    """Print, even if the encoding of the terminal lacks the only non-ASCII character or the reader closes the pipe."""
    text = "\n".join(lines) + "\n"
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace(UNCHANGED, ".").encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        _discard_output()
        raise UsageError(f"the output cannot be written: {error.strerror}; send it elsewhere") from None


def _complain(message: str) -> int:
    """Print one line on stderr, whatever text from a file the message contains."""
    print(f"trace: {escaped(message)[:MOST_MESSAGE]}", file=sys.stderr)
    return 2


def _discard_output() -> None:
    """Send the remaining output to the null device, so that the interpreter reports no error when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
