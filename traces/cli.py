"""The command `trace`: shows, draws, compares, slices and lists trace files, and walks through a model.

In:  the arguments; trace files, which may be damaged or written by other tools.
Out: text, and an exit code: 0; 1 if two traces differ; 2 for bad input (one line on stderr); 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from isrcheck.commands.declarations import Command, Subcommand


def _subcommand(name: str, says: str, *examples: str, description: str = "", takes_rest: bool = False) -> Subcommand:
    return Subcommand(
        name=name,
        module=f"isrcheck.traces.command.{name}",
        help=says,
        examples=examples,
        description=description,
        takes_rest=takes_rest,
    )


SUBCOMMANDS = (
    _subcommand(
        "show",
        "print one line per step, then why the property fails",
        "trace show counterexamples/latest",
        "trace show counterexamples/latest --why",
        "trace show counterexamples/latest --step -1",
    ),
    _subcommand(
        "page",
        "write a page for the browser, or graphics and diagrams for documents",
        "trace page counterexamples/latest",
        "trace page counterexamples/latest --svg history.svg",
        "trace page counterexamples -o pages",
    ),
    _subcommand(
        "plot",
        "plot fields over the steps of a trace, such as the ISR over time",
        "trace plot counterexamples/latest",
        "trace plot counterexamples/latest controller_isr log_end_offset",
        "trace plot counterexamples/latest --svg isr.svg",
    ),
    _subcommand(
        "history",
        "print what clients did and saw, for checkers of consistency",
        "trace history cuts/latest",
        "trace history cuts/latest --jsonl history.jsonl",
        "trace history cuts/latest --jsonl reads.jsonl --force",
    ),
    _subcommand(
        "gallery",
        "write pages of known failures of Kafka, and an index",
        "trace gallery -o gallery",
        "trace gallery KIP-101 KAFKA-14402 -o gallery",
        "trace gallery 8.24 -o gallery --force",
    ),
    _subcommand(
        "diff",
        "show how two traces of one model differ; exit code 1 if they do",
        "trace diff counterexamples/latest counterexamples/latest",
        "trace diff counterexamples/latest counterexamples/latest --full",
        "trace diff counterexamples/latest counterexamples/latest --width 100",
    ),
    _subcommand(
        "slice",
        "remove the steps that a failure does not need",
        "trace slice counterexamples/latest",
        "trace slice counterexamples/latest --out sliced",
        "trace slice mine/latest --model my_protocol.py",
    ),
    _subcommand(
        "list",
        "print one line per trace of a folder",
        "trace list",
        "trace list counterexamples",
        "trace list mine",
    ),
    _subcommand(
        "explore",
        "walk through the states of a model, in the terminal or in the browser",
        "trace explore kafka --protocol 2.1",
        "trace explore examples/two_phase_commit --browser",
        "trace explore --from counterexamples/latest",
        description="Walk through the states of a model: choose a step, go back, see which properties become false.",
        takes_rest=True,
    ),
)

COMMAND = Command(name="trace", description="Show the traces that check has written.", subcommands=SUBCOMMANDS)


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `trace` and return its exit code. `began` is its start by time.monotonic() (default: now)."""
    return COMMAND.run(sys.argv[1:] if words is None else words, began)
