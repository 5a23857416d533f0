"""`trace history`: what the clients did and saw, as lines of JSON for checkers of consistency.

In:  the arguments; a trace file of the model `cap`.
Out: text, and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.traces.command.shared import print_lines
from isrcheck.traces.format import folder
from isrcheck.traces.other_tools.client_history import events, operations_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace history`."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a trace of the model cap, or the link `latest`")
    parser.set_defaults(run=_history)


def _history(arguments: argparse.Namespace) -> int:
    print_lines(events(operations_of(folder.read(arguments.file, None))))
    return 0
