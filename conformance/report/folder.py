"""The files of a report, and of the folder with all reports.

In:  known failures that have a report.
Out: the content of each file, by its path in the folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isrcheck.conformance.report import content
from isrcheck.conformance.report.issue import issue_of
from isrcheck.conformance.report.page import page_of
from isrcheck.conformance.report.parts import Files
from isrcheck.models.kafka.failures.catalogue import Failure
from isrcheck.models.kafka.failures.report import Report, report_of
from isrcheck.traces.command.gallery import trace_of
from isrcheck.traces.drawing import pages
from isrcheck.traces.drawing.compose import scene_of
from isrcheck.traces.drawing.drawing import ladder_svg
from isrcheck.traces.drawing.index import Entry, index_of
from isrcheck.traces.drawing.markup import element
from isrcheck.traces.explaining.presentation import headline
from isrcheck.traces.format.files import to_text
from isrcheck.traces.format.trace import Trace

ISSUE = "issue.txt"
TITLE = "Failures of Kafka's replication, ready to be reported"
ABOUT = (
    "Each folder is about one failure that a search of isrcheck found: a page of one screen, the text of an issue of"
    " Kafka, a test that fails today, the history, and the commands that replay all of it."
)


def files_of(failure: Failure) -> Mapping[str, str]:
    """Return the files of a failure's report by their names."""
    return _files(failure, *_report_and_trace(failure))


def _files(failure: Failure, report: Report, trace: Trace) -> Mapping[str, str]:
    facts, parts = content.facts(failure, report, trace), content.parts(failure, report, trace)
    test = content.test_file(report)
    others = Files(
        [
            (ISSUE, "the text of an issue, in the markup of JIRA"),
            (test, "the test"),
            (content.SCRIPT, "the commands"),
        ]
    )
    return {
        pages.INDEX: page_of(f"{failure.number}: {report.summary}", facts, parts, others),
        ISSUE: issue_of(_fields(failure, report), facts, parts),
        test: report.sketch.text.lstrip("\n"),
        content.STEPS: pages.page(trace, (), pages.INDEX),
        content.DRAWING: ladder_svg(scene_of(trace)),
        content.TRACE: to_text(trace),
        content.SCRIPT: f"#!/bin/sh\n{content.script(failure, report)}\n",
    }


def all_files(shown: Sequence[Failure]) -> Mapping[str, str]:
    """Return the files of several reports, each in a folder with the name of its failure, and an index."""
    entries: list[Entry] = []
    found: dict[str, str] = {}
    for failure in shown:
        report, trace = _report_and_trace(failure)
        entries.append(_entry(failure, report, trace))
        found |= {f"{failure.name}/{name}": text for name, text in _files(failure, report, trace).items()}
    return {pages.INDEX: index_of(TITLE, [element("p", ABOUT)], entries), **found}


def _entry(failure: Failure, report: Report, trace: Trace) -> Entry:
    told = (headline(trace), f"releases: {failure.releases}", report.severity)
    return Entry(report.summary, f"{failure.name}/{pages.INDEX}", trace.verdict or "", failure.number, told)


def _report_and_trace(failure: Failure) -> tuple[Report, Trace]:
    report = report_of(failure)
    assert report is not None
    return report, trace_of(report.history, content.search_of(report.history))


def _fields(failure: Failure, report: Report) -> Mapping[str, str]:
    """The fields of the form with which an issue is created."""
    return {
        "Summary": report.summary,
        "Type": "Bug",
        "Priority": report.severity.partition(":")[0],
        "Affects versions": failure.releases,
        "Component": "core",
    }
