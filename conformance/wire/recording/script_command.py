"""`conform script`: prints the script with which a person reproduces a trace on a real Kafka."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, integer, path
from isrcheck.commands.exit_codes import DONE, NOTHING
from isrcheck.commands.program import say
from isrcheck.conformance.wire.recording.from_trace import CONTROLLER, KAFKA, Names, script_of
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files

MOST_BROKER = 1_000_000


OPTIONS = (
    Option("TRACE", "a trace of the model kafka", path, destination="file"),
    Option("--first-broker N", "id of the broker that is 0 in the trace (default: %(default)s)", integer, default=0),
    Option("--controller NAME", "name of the controller's --node (default: %(default)s)", default=CONTROLLER),
)


def run(arguments: argparse.Namespace) -> int:
    """Print the script of a trace; return the exit code."""
    if not 0 <= arguments.first_broker <= MOST_BROKER:
        raise UsageError(
            f"--first-broker {arguments.first_broker}: not the id of a broker; give a number from 0 to {MOST_BROKER}"
        )
    controller = arguments.controller
    if controller.partition("-")[0] != CONTROLLER or not controller.isprintable() or " " in controller:
        raise UsageError(f"--controller {controller}: write {CONTROLLER}, or {CONTROLLER}-ID")
    trace = files.read(arguments.file, None)
    if trace.instance.model.name != KAFKA:
        name = trace.instance.model.name
        say(escaped(f"# {arguments.file}: a trace of {name}; scripts are made of traces of {KAFKA}"))
        return NOTHING
    say(*map(escaped, script_of(trace, Names(arguments.first_broker, controller))))
    return DONE
