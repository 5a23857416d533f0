"""`trace explore`: a walk through the states of a model, on a screen.

In:  the arguments of the command line.
Out: a screen; the saved traces, and an exit code.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from isrcheck.models.command_line import Parser
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.traces.command.shared import print_lines
from isrcheck.traces.terminal import walk_options


def add_options(parser: Parser) -> None:
    """Declare the options of `trace explore`; unknown options are left to the model."""
    parser.description = (
        "Walk through the states of a model: choose a step, go back, see which properties become false."
    )
    entries = "Every configuration entry of a model is an option, as for check: --replicas 3, --acks all."
    parser.epilog = "\n".join((entries, "", parser.epilog or ""))
    parser.allow_abbrev = False
    walk_options.add_options(parser)
    parser.set_defaults(run=_explore, takes_rest=True)


def _explore(arguments: argparse.Namespace) -> int:
    """Build the walk before the screen opens, so that bad input is reported in one line on the terminal."""
    walk = walk_options.walk_of(arguments, arguments.rest)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("explore needs a terminal for input and output; without one use: trace show FILE")
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
    print_lines(
        [escaped(f"saved {path}; see it with: trace show {shlex.quote(str(path))}") for path in screen.saved]
        or ["nothing saved"]
    )
    return screen.return_code or 0
