"""`trace gallery`: known failures of Kafka as pages, with an index.

The library of known failures holds the steps of each failure. The steps are taken again, so no search is needed. The
pages share one style sheet and one script.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.program import print_lines
from isrcheck.models.kafka.failures.catalogue import Failure, History, failures, refusal
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.drawing.page import page
from isrcheck.traces.explaining.presentation import headline
from isrcheck.traces.format.certify import behaviour, step_named
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.pages.folder import INDEX, begin, sharing, write_all
from isrcheck.traces.pages.markup import Content, element
from isrcheck.traces.pages.parts import Entry, index_of
from isrcheck.traces.pages.shell import Page

EXHIBITS = (
    "truncation_to_high_watermark",
    "fast_fail_over",
    "fetches_are_not_fenced",
    "last_replica_standing",
    "late_record_reopens_the_transaction",
    "missed_demotion",
    "stale_record",
)
"""The failures shown by default: KIP-101, KIP-279, KIP-320, the last replica standing, a hanging transaction, and the
two failures that a search of the model found first."""

TITLE = "Known failures of Kafka, step by step"
ABOUT = (
    "Each page shows the shortest history of one failure in the model: every step in plain words, the messages between"
    " the brokers, and the state after it."
)


OPTIONS = (
    Option(
        "[ID ...]",
        "a known failure by number, name, KIP or JIRA issue, as in check failures (default: seven of them)",
        destination="failures",
    ),
    Option("-o --out DIR", "the folder for the pages", path, is_required=True),
    Option("--force", "write into a folder that has files, and replace pages"),
)


def run(arguments: argparse.Namespace) -> int:
    """Write the pages of the failures that the arguments name (default: EXHIBITS), and print the names of the files."""
    pages = gallery(_chosen(arguments.failures or EXHIBITS))
    begin(arguments.out, "with -o DIR", replace=arguments.force, or_else=", or add --force")
    for file in write_all(arguments.out, sharing(pages), replace=arguments.force):
        print_lines([escaped(str(file))])
    return 0


def _chosen(words: tuple[str, ...]) -> list[Failure]:
    for word in words:
        named = [failure for failure in failures() if failure.is_called(word)]
        if not named:
            raise UsageError(refusal(word))
        if all(failure.history is None for failure in named):
            raise UsageError(f"{escaped(word)} has no history: {named[0].why_not}; leave it out")
    shown = (failure for failure in failures() if failure.history is not None)
    return [failure for failure in shown if any(map(failure.is_called, words))]


def gallery(shown: list[Failure]) -> dict[str, Page | str]:
    """Return a page for each of these failures, and an index of the pages, as a mapping from file names to pages."""
    pages, entries = {}, []
    for failure in shown:
        assert failure.history is not None
        trace, address = trace_of(failure.history, f"check failures {failure.number}"), f"{failure.name}.html"
        pages[address] = page(trace, list(_about(failure)), INDEX)
        facts = headline(trace), ", ".join(failure.known_as), f"releases: {failure.releases}"
        entries.append(Entry(failure.title, address, trace.verdict or "", failure.number, facts))
    return {INDEX: index_of(TITLE, [element("p", ABOUT)], entries), **pages}


def trace_of(history: History, command: str) -> Trace:
    """Take the stored steps of a known failure again, and return them as a certified trace that names `command`."""
    steps = [step_named(history.instance, text) for text in history.steps]
    property_name, verdict = history.property_name, history.verdict
    return behaviour(history.instance, history.start, steps, property_name, command, verdict, history.loop)


def _about(failure: Failure) -> Iterator[Content]:
    known_as = "".join(f", {name}" for name in failure.known_as)
    yield element("h2", f"{failure.number}: {failure.title}")
    yield element("p", failure.story)
    yield element("p", f"Releases: {failure.releases}{known_as}.")
    yield element("h2", "What to do")
    yield element("p", failure.advice)
