"""The command `trace`: shows, draws, compares, slices and lists trace files, and walks through a model.

In:  the arguments; trace files, which may be damaged or written by other tools.
Out: text, and an exit code: 0; 1 if two traces differ; 2 for bad input (one line on stderr); 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from isrcheck.commands.declarations import Command, Subcommand

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
        description="Walk through the states of a model: choose a step, go back, see which properties become false.",
        takes_rest=True,
        module=f"{PACKAGE}.explore",
        examples=(
            "trace explore kafka --protocol 2.1",
            "trace explore examples/two_phase_commit --browser",
            "trace explore --from counterexamples/latest",
        ),
    ),
)

COMMAND = Command(name="trace", description="Show the traces that check has written.", subcommands=SUBCOMMANDS)


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `trace` and return its exit code. `began` is its start by time.monotonic() (default: now)."""
    return COMMAND.run(sys.argv[1:] if words is None else words, began)
