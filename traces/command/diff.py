"""`trace diff`: where two traces of one model differ; exit code 1 if they do."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.program import print_lines
from isrcheck.traces.command.shared import LOOK, MODEL, look_of, model_of
from isrcheck.traces.format import files
from isrcheck.traces.terminal import diff

OPTIONS = (
    Option("A", "a trace written by check", path, field="one"),
    Option("B", "another trace of the model, perhaps of another protocol or configuration", path, field="other"),
    MODEL,
    Option("--full", "every field of the common states"),
    *LOOK,
)


def run(arguments: argparse.Namespace) -> int:
    """Print where the traces differ."""
    look = look_of(arguments)
    headers = [files.read_header(file)[0] for file in (arguments.one, arguments.other)]
    diff.refuse_different(*(header.model for header in headers))
    model = model_of(arguments)
    difference = diff.Difference(*(files.read(file, model) for file in (arguments.one, arguments.other)))
    print_lines(diff.tell(difference, arguments.full, look))
    return 0 if difference.is_none else 1
