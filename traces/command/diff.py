"""`trace diff`: where two traces of one model differ; exit code 1 if they do."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.exit_codes import DIFFERENT, DONE
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import UsageError
from isrcheck.traces.command.shared import LOOK, MODEL, look_of, model_of
from isrcheck.traces.format import files
from isrcheck.traces.terminal import diff

OPTIONS = (
    Option("A", "a trace written by check", path, destination="first"),
    Option("B", "another trace of the model, perhaps of another protocol or configuration", path, destination="second"),
    MODEL,
    Option("--full", "every field of the common states"),
    *LOOK,
)


def run(arguments: argparse.Namespace) -> int:
    """Print where the traces differ."""
    look = look_of(arguments)
    paths = arguments.first, arguments.second
    first, second = (files.read_header(file)[0].model for file in paths)
    if first != second:
        raise UsageError(f"a trace of {first} and a trace of {second} cannot be compared; give two traces of one model")
    model = model_of(arguments)
    difference = diff.Difference(*(files.read(file, model) for file in paths))
    print_lines(diff.tell(difference, arguments.full, look))
    return DONE if difference.is_none else DIFFERENT
