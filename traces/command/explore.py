"""`trace explore`: a walk through the states of a model, on a screen of the terminal or in the browser.

In:  the arguments of the command line.
Out: a screen, or pages on this machine's own address; the saved traces, and an exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from isrcheck.commands.declarations import Option, port
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import UsageError
from isrcheck.traces.terminal import walk_options
from isrcheck.traces.terminal.walk import Walk, saved_line

NOTHING = "nothing saved"


NOTES = ("Every configuration entry of a model is an option, as for check: --replicas 3, --acks all.", "")

OPTIONS = (
    *walk_options.OPTIONS,
    Option("--browser", "serve the walk to a browser on this machine"),
    Option("--port N", "the port of --browser (default: any free one)", port),
)


def run(arguments: argparse.Namespace) -> int:
    """Build the walk before the screen opens, so that bad input is reported in one line on the terminal."""
    if arguments.port is not None and not arguments.browser:
        raise UsageError("--port needs --browser")
    walk = walk_options.walk_of(arguments)
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


def _serve(walk: Walk, out: Path, number: int) -> int:
    """Serve the walk until Ctrl-C, which is the way to end it. Raises UsageError if the port cannot be had."""
    from isrcheck.traces.browser.server import Server  # here, for the screen of the terminal does without both
    from isrcheck.traces.browser.site import WalkSite

    site = WalkSite(walk, out, lambda line: print_lines([line]))
    with Server(site, number) as server:
        try:
            print_lines([f"open {server.address} in a browser on this machine; Ctrl-C ends the walk"])
            server.serve_forever()
        except KeyboardInterrupt:
            count = len(site.saved)
            print_lines([f"ended: {count} trace{'s' * (count != 1)} saved" if count else f"ended: {NOTHING}"])
    return 0
