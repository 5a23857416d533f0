"""`conform report`: writes a folder about a known failure, from which an issue of Kafka can be filed.

The library of known failures has the steps of each failure; the report replays these steps and needs no search.
"""

from __future__ import annotations

import argparse

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.exit_codes import DONE
from isrcheck.commands.program import say
from isrcheck.conformance.report.folder import all_files, files_of
from isrcheck.models.kafka.failures.catalogue import Failure, failures, refusal
from isrcheck.models.kafka.failures.report import reported
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.pages.folder import alone, begin, sharing, write_all

OPTIONS = (
    Option(
        "[FAILURE]",
        "a known failure by number, name, KIP or JIRA issue, as in check failures (default: all that have a"
        " report, each in a folder of its own)",
    ),
    Option("-o --out DIR", "the folder for the report", path, is_required=True),
    Option("--force", "write into a folder that has files, and replace a report"),
)


def run(arguments: argparse.Namespace) -> int:
    """Write the report of one failure, or the reports of all; return the exit code."""
    word, out, force = arguments.failure, arguments.out, arguments.force
    texts = sharing(all_files(list(reported().values()))) if word is None else alone(files_of(_chosen(word)))
    for folder in sorted({out, *((out / name).parent for name in texts)}):
        begin(folder, "with -o DIR", replace=force, or_else=", or add --force")
    for file in write_all(out, texts, replace=force):
        say(escaped(str(file)))
    return DONE


def _chosen(word: str) -> Failure:
    named = [failure for failure in failures() if failure.is_called(word)]
    if not named:
        raise UsageError(refusal(word))
    chosen = [failure for failure in named if failure.report]
    if not chosen:
        numbers = ", ".join(failure.number for failure in reported().values())
        raise UsageError(f"{escaped(word)} has no report; the failures with a report are {numbers}")
    if len(chosen) > 1:
        numbers = ", ".join(failure.number for failure in chosen)
        raise UsageError(f"{escaped(word)} names several failures, {numbers}; give one of them")
    return chosen[0]
