"""The command `conform`: does a system do what the model says, and does the model allow what a system did?

In:  the words that a person typed: traces to replay, recordings to follow.
Out: text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from isrcheck.checker.command.console import give_up_stdout, interrupts, prepare_streams
from isrcheck.conformance.cluster.log.storage import StorageError
from isrcheck.conformance.console import DONE, INTERRUPTED, complain
from isrcheck.conformance.follow.command import add_follow, add_run
from isrcheck.conformance.replay.command import add_replay
from isrcheck.models.command_line import Parser
from isrcheck.models.messages.errors import UsageError


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `conform` and return its exit code. `began` is the start time in time.monotonic's time (default: now)."""
    began = time.monotonic() if began is None else began
    prepare_streams()
    with interrupts():  # even if a shell that starts it in the background ignores Ctrl-C
        return _guarded(words, began)


def _guarded(words: Sequence[str] | None, began: float) -> int:
    """Run `conform`, and turn every failure into one line and an exit code."""
    try:
        try:
            parser = _parser()
            arguments, rest = parser.parse_known_args(words)
            parser.refuse(rest, sys.argv[1:] if words is None else words)
        except SystemExit:  # after --help, whose output may not have been written yet
            sys.stdout.flush()
            raise
        arguments.began = began
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except (UsageError, StorageError) as error:
        return complain(str(error))
    except BrokenPipeError:
        give_up_stdout()
        return DONE
    except OSError as error:
        give_up_stdout()
        return complain(f"{error.filename or 'output'}: {error.strerror}; make room, or write elsewhere")
    except KeyboardInterrupt:
        print("conform: interrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> Parser:
    parser = Parser(prog="conform", description="Compare a system with the model, and the model with a system.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_replay(
        commands.add_parser("replay", help="replay traces on the executable cluster and compare after every step")
    )
    add_run(commands.add_parser("run", help="run the cluster under random faults and check the run against the model"))
    add_follow(commands.add_parser("follow", help="check whether a recorded run is a behaviour of the model"))
    return parser
