"""`trace show`: a trace as text, whole or in part.

In:  the arguments; a trace file.
Out: text, and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isrcheck.models.messages import UsageError
from isrcheck.traces.command.shared import FILE_HELP, add_look, add_model, look_of, model_of, print_lines
from isrcheck.traces.explaining.evaluate import parse_expression
from isrcheck.traces.format import folder
from isrcheck.traces.kafka import partition_state
from isrcheck.traces.kafka.lanes import BASICS, LEGEND, spell_legend
from isrcheck.traces.other_tools import reading, showing
from isrcheck.traces.terminal.colour import Look
from isrcheck.traces.terminal.one_step import view_step
from isrcheck.traces.terminal.show import view, why


def add_options(show: argparse.ArgumentParser) -> None:
    """Declare the options of `trace show`."""
    show.formatter_class = argparse.RawDescriptionHelpFormatter
    signs = spell_legend([*BASICS, *LEGEND.values()])
    newer = spell_legend([*partition_state.LEGEND.values()])
    lines = [
        "signs in a broker's column:",
        *signs,
        "",
        "signs in the columns of the controller and of the brokers, since 2.8:",
        *newer,
        "",
        show.epilog or "",
    ]
    show.epilog = "\n".join(lines)
    show.add_argument("file", metavar="FILE", type=Path, help=FILE_HELP)
    add_model(show)
    part = show.add_mutually_exclusive_group()
    part.add_argument("--full", action="store_true", help="every field of every state")
    part.add_argument("--why", action="store_true", help="only how the trace ends, and why")
    part.add_argument(
        "--step",
        metavar="I",
        type=int,
        help="state I in full, with the changes of step I and the properties that are false; -1: the last",
    )
    show.add_argument(
        "--eval",
        metavar="EXPR",
        action="append",
        default=[],
        help="the value of an expression over the state s in each state; may be repeated",
    )
    add_look(show)
    show.set_defaults(run=_show)


def _show(arguments: argparse.Namespace) -> int:
    look = look_of(arguments)
    found = reading.find(arguments.file)
    if found is not None:
        return _show_foreign(found, arguments, look)
    trace = folder.read(arguments.file, model_of(arguments))
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


def _show_foreign(found: reading.ForeignTrace, arguments: argparse.Namespace, look: Look) -> int:
    """Show a trace of another tool, whose model is unknown."""
    for option in ("model", "why", "eval"):
        if getattr(arguments, option):
            raise UsageError(
                f"{arguments.file}: --{option} does not work on a trace of another tool; leave --{option} out"
            )
    print_lines(showing.view(found, arguments.full, arguments.step, look.width))
    return 0
