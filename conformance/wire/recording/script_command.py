"""`conform script`: the script with which a person drives a trace against a real Kafka.

In:  the command line; a trace.
Out: a script for `conform record` on stdout; errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.conformance.console import DONE, NOTHING, say
from isrcheck.conformance.wire.recording.from_trace import CONTROLLER, KAFKA, Names, script_of
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import folder

MOST_BROKER = 1_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("file", type=Path, metavar="TRACE", help="a trace of the model kafka")
    parser.add_argument(
        "--first-broker",
        metavar="N",
        type=int,
        default=0,
        help="id of the broker that is 0 in the trace (default: %(default)s)",
    )
    parser.add_argument(
        "--controller",
        metavar="NAME",
        default=CONTROLLER,
        help="name of the controller's --node (default: %(default)s)",
    )
    parser.set_defaults(run=_script)


def _script(arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.first_broker <= MOST_BROKER:
        raise UsageError(f"--first-broker {arguments.first_broker}: give a number from 0 to {MOST_BROKER}")
    controller = arguments.controller
    if controller.partition("-")[0] != CONTROLLER or not controller.isprintable() or " " in controller:
        raise UsageError(f"--controller {controller}: write {CONTROLLER}, or {CONTROLLER}-ID")
    trace = folder.read(arguments.file, None)
    if trace.instance.model.name != KAFKA:
        name = trace.instance.model.name
        say(escaped(f"# {arguments.file}: a trace of {name}; scripts are made of traces of {KAFKA}"))
        return NOTHING
    say(*map(escaped, script_of(trace, Names(arguments.first_broker, controller))))
    return DONE
