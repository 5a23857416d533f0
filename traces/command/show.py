"""`trace show`: a trace as text, whole or in part."""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, integer, path
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import UsageError
from isrcheck.traces.command.shared import FILE_HELP, LOOK, MODEL, look_of, model_of
from isrcheck.traces.format import files
from isrcheck.traces.kafka.lanes import BASICS, SIGNS, SIGNS_SINCE_2_8, spell_legend
from isrcheck.traces.lanes.table import Look
from isrcheck.traces.other_tools import foreign
from isrcheck.traces.terminal.show import parse_expression, view, view_step, why

NOTES = (
    "signs in a broker's column:",
    *spell_legend([*BASICS, *SIGNS.values()]),
    "",
    "signs in the columns of the controller and of the brokers, since 2.8:",
    *spell_legend([*SIGNS_SINCE_2_8.values()]),
    "",
)

OPTIONS = (
    Option("FILE", FILE_HELP, path),
    MODEL,
    Option("--full", "every field of every state", excludes="part"),
    Option("--why", "only how the trace ends, and why", excludes="part"),
    Option(
        "--step I",
        "state I in full, with the changes of step I and the properties that are false; -1: the last",
        integer,
        excludes="part",
    ),
    Option(
        "--eval EXPR", "the value of an expression over the state s in each state; may be repeated", is_repeated=True
    ),
    *LOOK,
)


def run(arguments: argparse.Namespace) -> int:
    """Print the trace, or a part of it."""
    look = look_of(arguments)
    foreign_trace = foreign.find(arguments.file)
    if foreign_trace is not None:
        print_lines(_view_of_foreign(foreign_trace, arguments, look))
        return 0
    trace = files.read(arguments.file, model_of(arguments))
    expressions = [parse_expression(trace.instance, text) for text in arguments.eval]
    if arguments.why and expressions:
        raise UsageError("--why shows no states, so --eval would have no effect; leave one of them out")
    if arguments.why:
        lines = why(trace, look)
    elif arguments.step is not None:
        lines = view_step(trace, arguments.step, look, expressions)
    else:
        lines = view(trace, arguments.full, look, expressions)
    print_lines(lines)
    return 0


def _view_of_foreign(trace: foreign.ForeignTrace, arguments: argparse.Namespace, look: Look) -> list[str]:
    for option in ("model", "why", "eval"):
        if getattr(arguments, option):
            raise UsageError(
                f"{arguments.file}: --{option} does not work on a trace of another tool; leave --{option} out"
            )
    return foreign.view(trace, arguments.full, arguments.step, look.width)
