"""`conform script`: the script with which a person drives a trace against a real Kafka.

In:  the command line; a trace.
Out: a script for `conform record` on stdout; errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.conformance.console import DONE, say
from isrcheck.conformance.wire.recording.from_trace.plan import KAFKA, script_of
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.traces.format import folder


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("file", type=Path, metavar="TRACE", help="a trace of the model kafka")
    parser.set_defaults(run=_script)


def _script(arguments: argparse.Namespace) -> int:
    trace = folder.read(arguments.file, None)
    if trace.instance.model.name != KAFKA:
        raise UsageError(
            f"{arguments.file}: a trace of {trace.instance.model.name}; scripts are made of traces of {KAFKA}"
        )
    say(*map(escaped, script_of(trace)))
    return DONE
