"""`trace diff`: where two traces of one model part.

In:  the arguments; two trace files.
Out: text, and an exit code: 1 if the traces differ.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.traces.command.shared import add_look, add_model, look_of, model_of, print_lines
from isrcheck.traces.format import files as folder
from isrcheck.traces.terminal import diff


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace diff`."""
    parser.add_argument("one", metavar="A", type=Path, help="a trace written by check")
    parser.add_argument(
        "other", metavar="B", type=Path, help="another trace of the model, perhaps of another protocol or configuration"
    )
    add_model(parser)
    parser.add_argument("--full", action="store_true", help="every field of the common states")
    add_look(parser)
    parser.set_defaults(run=_diff)


def _diff(arguments: argparse.Namespace) -> int:
    look = look_of(arguments)
    headers = [folder.read_header(path)[0] for path in (arguments.one, arguments.other)]
    diff.refuse_different(*(header.model for header in headers))
    model = model_of(arguments)
    found = diff.Difference(*(folder.read(path, model) for path in (arguments.one, arguments.other)))
    print_lines(diff.tell(found, arguments.full, look))
    return 0 if found.is_none else 1
