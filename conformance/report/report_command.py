"""`conform report`: a known failure as a folder from which an issue of Kafka can be filed.

In:  the command line; the library of known failures.
Out: a folder, whose files are printed, and an exit code. No search is needed: the steps are taken again.
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
    """Write the report of one failure, or of all."""
    word, out, force = arguments.failure, arguments.out, arguments.force
    made = sharing(all_files(list(reported().values()))) if word is None else alone(files_of(_chosen(word)))
    begin(out, "with -o DIR", replace=force, or_else=", or add --force")
    for folder in sorted({(out / name).parent for name in made} - {out}):
        begin(folder, "with -o DIR", replace=force, or_else=", or add --force")
    for file in write_all(out, made, replace=force):
        say(escaped(str(file)))
    return DONE


def _chosen(word: str) -> Failure:
    """The failure that a word names. Raises UsageError."""
    named = [one for one in failures() if one.is_called(word)]
    if not named:
        raise UsageError(refusal(word))
    chosen = [one for one in named if one.report]
    if not chosen:
        has = ", ".join(one.number for one in reported().values())
        raise UsageError(f"{escaped(word)} has no report; the failures with a report are {has}")
    if len(chosen) > 1:
        raise UsageError(f"{escaped(word)} names {', '.join(one.number for one in chosen)}; give one of them")
    return chosen[0]
