"""`trace history`: what the clients did and saw in a trace of the model `cap`, as JSON for checkers of consistency."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import escaped
from isrcheck.traces.command.shared import REPLACE
from isrcheck.traces.format import files
from isrcheck.traces.format.files import put
from isrcheck.traces.other_tools.client_history import events, operations_of

OPTIONS = (
    Option("FILE", "a trace of the model cap, or the link `latest`", path),
    Option("--jsonl OUT.jsonl", "write a file, in place of text", path),
    REPLACE,
)


def run(arguments: argparse.Namespace) -> int:
    """Print the operations of the clients, or write them to a file."""
    lines = events(operations_of(files.read(arguments.file, None)))
    if arguments.jsonl is None:
        print_lines(lines)
        return 0
    put(arguments.jsonl, "".join(f"{line}\n" for line in lines).encode(), replace=arguments.force)
    print_lines([escaped(str(arguments.jsonl))])
    return 0
