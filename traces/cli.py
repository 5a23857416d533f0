"""The command `trace`: shows, draws, compares, slices and lists trace files, and walks through a model.

In:  the arguments; trace files, which may be damaged or written by other tools.
Out: text, and an exit code: 0; 1 if two traces differ; 2 for bad input (one line on stderr); 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from isrcheck.models.command_line import Parser, Subcommand
from isrcheck.models.messages import UsageError
from isrcheck.traces.command.output import complain, discard_output

PACKAGE = "isrcheck.traces.command"

SUBCOMMANDS = (
    Subcommand(
        name="show",
        help="print one line per step, then why the property fails",
        module=f"{PACKAGE}.show",
        examples=(
            "trace show counterexamples/latest",
            "trace show counterexamples/latest --why",
            "trace show counterexamples/latest --step -1",
        ),
    ),
    Subcommand(
        name="page",
        help="write a page for the browser, or graphics and diagrams for documents",
        module=f"{PACKAGE}.page",
        examples=(
            "trace page counterexamples/latest",
            "trace page counterexamples/latest --svg history.svg",
            "trace page counterexamples -o pages",
        ),
    ),
    Subcommand(
        name="plot",
        help="plot fields over the steps of a trace, such as the ISR over time",
        module=f"{PACKAGE}.plot",
        examples=(
            "trace plot counterexamples/latest",
            "trace plot counterexamples/latest controller_isr log_end_offset",
            "trace plot counterexamples/latest --svg isr.svg",
        ),
    ),
    Subcommand(
        name="history",
        help="print what clients did and saw, for checkers of consistency",
        module=f"{PACKAGE}.history",
        examples=(
            "trace history cuts/latest",
            "trace history cuts/latest --jsonl history.jsonl",
            "trace history cuts/latest --jsonl reads.jsonl --force",
        ),
    ),
    Subcommand(
        name="gallery",
        help="write pages of known failures of Kafka, and an index",
        module=f"{PACKAGE}.gallery",
        examples=(
            "trace gallery -o gallery",
            "trace gallery KIP-101 KAFKA-14402 -o gallery",
            "trace gallery 8.24 -o gallery --force",
        ),
    ),
    Subcommand(
        name="diff",
        help="show how two traces of one model differ; exit code 1 if they do",
        module=f"{PACKAGE}.diff",
        examples=(
            "trace diff counterexamples/latest counterexamples/latest",
            "trace diff counterexamples/latest counterexamples/latest --full",
            "trace diff counterexamples/latest counterexamples/latest --width 100",
        ),
    ),
    Subcommand(
        name="slice",
        help="remove the steps that a failure does not need",
        module=f"{PACKAGE}.slice",
        examples=(
            "trace slice counterexamples/latest",
            "trace slice counterexamples/latest --out sliced",
            "trace slice mine/latest --model my_protocol.py",
        ),
    ),
    Subcommand(
        name="list",
        help="print one line per trace of a folder",
        module=f"{PACKAGE}.list",
        examples=("trace list", "trace list counterexamples", "trace list mine"),
    ),
    Subcommand(
        name="explore",
        help="walk through the states of a model, in the terminal or in the browser",
        module=f"{PACKAGE}.explore",
        examples=(
            "trace explore kafka --protocol 2.1",
            "trace explore examples/two_phase_commit --browser",
            "trace explore --from counterexamples/latest",
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        try:
            arguments = _arguments(sys.argv[1:] if argv is None else argv)
        except SystemExit:  # after --help, whose output may not have been written yet
            sys.stdout.flush()
            raise
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except UsageError as error:
        return complain(str(error))
    except BrokenPipeError:  # argparse up to Python 3.11.3 lets it through after --help
        discard_output()
        return 0
    except KeyboardInterrupt:
        print("trace: interrupted", file=sys.stderr)
        return 130


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; options that are unknown here are left to the model if the subcommand takes one."""
    found = parser(words)
    arguments, rest = found.parse_known_args(words)
    if "takes_rest" not in arguments:
        found.refuse(rest, words)
    arguments.rest = tuple(rest)
    return arguments


def parser(words: Sequence[str] | None = None) -> Parser:
    """The parser of the command; only the subcommands in `words` get their options (all if `words` is None)."""
    found = Parser(prog="trace", description="Show the traces that check has written.")
    found.add_commands(SUBCOMMANDS, words)
    return found
