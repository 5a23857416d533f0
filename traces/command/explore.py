"""`trace explore`: a walk through the states of a model, on a screen of the terminal or in the browser.

In:  the arguments of the command line.
Out: a screen, or pages on this machine's own address; the saved traces, and an exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from isrcheck.models.command_line import Parser
from isrcheck.models.messages import UsageError
from isrcheck.traces.command.shared import print_lines
from isrcheck.traces.terminal import walk_options
from isrcheck.traces.terminal.walk import Walk, saved_line

MOST_PORT = 65_535

NOTHING = "nothing saved"


def add_options(parser: Parser) -> None:
    """Declare the options of `trace explore`; unknown options are left to the model."""
    parser.description = (
        "Walk through the states of a model: choose a step, go back, see which properties become false."
    )
    entries = "Every configuration entry of a model is an option, as for check: --replicas 3, --acks all."
    parser.epilog = "\n".join((entries, "", parser.epilog or ""))
    parser.allow_abbrev = False
    walk_options.add_options(parser)
    parser.add_argument("--browser", action="store_true", help="serve the walk to a browser on this machine")
    parser.add_argument("--port", metavar="N", type=_port, help="the port of --browser (default: any free one)")
    walk_options.reserve_options(parser)
    parser.set_defaults(run=_explore, takes_rest=True)


def _port(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:9]) <= MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port; give a number from 1 to {MOST_PORT}")
    return int(text)


def _explore(arguments: argparse.Namespace) -> int:
    """Build the walk before the screen opens, so that bad input is reported in one line on the terminal."""
    if arguments.port is not None and not arguments.browser:
        raise UsageError("--port needs --browser")
    walk = walk_options.walk_of(arguments, arguments.rest)
    if arguments.browser:
        return _serve(walk, arguments.out, arguments.port or 0)
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
    print_lines([saved_line(path) for path in screen.saved] or [NOTHING])
    return screen.return_code or 0


def _serve(walk: Walk, out: Path, port: int) -> int:
    """Serve the walk until Ctrl-C, which is the way to end it. Raises UsageError if the port cannot be had."""
    from isrcheck.traces.browser.server import Server  # here, for the screen of the terminal does without both
    from isrcheck.traces.browser.site import WalkSite

    site = WalkSite(walk, out, lambda line: print_lines([line]))
    with Server(site, port) as server:
        try:
            print_lines([f"open {server.address} in a browser on this machine; Ctrl-C ends the walk"])
            server.serve_forever()
        except KeyboardInterrupt:
            count = len(site.saved)
            print_lines([f"ended: {count} trace{'s' * (count != 1)} saved" if count else f"ended: {NOTHING}"])
    return 0
