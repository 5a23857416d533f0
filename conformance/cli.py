"""The command `conform`: does a system do what the model says, and the model what a system did?

In:  the words that a person typed: traces to replay, recordings to follow. Out: text on stdout, errors on stderr, an
     exit code.
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
    """Run `conform` and return its exit code. `began` is when it was started, in time.monotonic's time (now)."""
    began = time.monotonic() if began is None else began
    prepare_streams()
    with interrupts():  # also where a shell that starts it in the background has Ctrl-C ignored
        return _guarded(words, began)


def _guarded(words: Sequence[str] | None, began: float) -> int:
    """Run `conform`, and turn whatever goes wrong into one line and an exit code."""
    try:
        try:
            parser = _parser()
            arguments, rest = parser.parse_known_args(words)
            parser.refuse(rest, sys.argv[1:] if words is None else words)
        except SystemExit:  # --help: what it printed may still wait to be taken
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
    parser = Parser(prog="conform", description="Hold a system against the model, and the model against a system.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_replay(commands.add_parser("replay", help="take traces on the executable cluster, compared after every step"))
    add_run(commands.add_parser("run", help="the cluster under random faults, followed by the model"))
    add_follow(commands.add_parser("follow", help="is a recorded run a behaviour of the model?"))
    return parser
