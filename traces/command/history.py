"""`trace history`: what the clients did and saw, as lines of JSON for checkers of consistency.

In:  the arguments; a trace file of the model `cap`.
Out: text or a file, and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.models.messages import escaped
from isrcheck.traces.command.shared import print_lines
from isrcheck.traces.format import folder
from isrcheck.traces.format.output import put
from isrcheck.traces.other_tools.client_history import events, operations_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `trace history`."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a trace of the model cap, or the link `latest`")
    parser.add_argument("--jsonl", metavar="OUT.jsonl", type=Path, help="write a file, in place of text")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.set_defaults(run=_history)


def _history(arguments: argparse.Namespace) -> int:
    lines = events(operations_of(folder.read(arguments.file, None)))
    if arguments.jsonl is None:
        print_lines(lines)
        return 0
    put(arguments.jsonl, "".join(f"{line}\n" for line in lines).encode(), replace=arguments.force)
    print_lines([escaped(str(arguments.jsonl))])
    return 0
