"""The files of a report, and of the folder with all reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from isrcheck.conformance.report import content
from isrcheck.conformance.report.blocks import Files, Part, in_issue, in_page
from isrcheck.models.kafka.failures.catalogue import Failure
from isrcheck.models.kafka.failures.report import Report, report_of
from isrcheck.traces.command.gallery import trace_of
from isrcheck.traces.drawing.graphics import ladder_svg
from isrcheck.traces.drawing.page import page
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.explaining.presentation import headline
from isrcheck.traces.format.files import to_text
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.pages.folder import INDEX
from isrcheck.traces.pages.markup import beside, clean, element
from isrcheck.traces.pages.parts import Entry, index_of, meanings
from isrcheck.traces.pages.shell import Page, text_page

ISSUE = "issue.txt"
TITLE = "Failures of Kafka's replication, ready to be reported"
ABOUT = (
    "Each folder is about one failure that a search of isrcheck found: a page of one screen, the text of an issue of"
    " Kafka, a test that fails today, the history, and the commands that replay all of it."
)


def files_of(failure: Failure) -> Mapping[str, Page | str]:
    """Return the files of a failure's report by their names."""
    return _files(failure, *_report_and_trace(failure))


def all_files(shown: Sequence[Failure]) -> Mapping[str, Page | str]:
    """Return the files of several reports, each in a folder with the name of its failure, and an index."""
    entries: list[Entry] = []
    files: dict[str, Page | str] = {}
    for failure in shown:
        report, trace = _report_and_trace(failure)
        facts = headline(trace), f"releases: {failure.releases}", report.severity
        address = f"{failure.name}/{INDEX}"
        entries.append(Entry(report.summary, address, trace.verdict or "", failure.number, facts))
        files |= {f"{failure.name}/{name}": file for name, file in _files(failure, report, trace).items()}
    return {INDEX: index_of(TITLE, [element("p", ABOUT)], entries), **files}


def _report_and_trace(failure: Failure) -> tuple[Report, Trace]:
    report = report_of(failure)
    assert report is not None
    return report, trace_of(report.history, content.search_of(report.history))


def _files(failure: Failure, report: Report, trace: Trace) -> Mapping[str, Page | str]:
    facts, parts = content.facts(failure, report, trace), content.parts(failure, report, trace)
    # The test has the name of the class to which it belongs.
    test = report.sketch.file.rpartition("/")[2]
    others = Files(
        {ISSUE: "the text of an issue, in the markup of JIRA", test: "the test", content.SCRIPT: "the commands"}
    )
    return {
        INDEX: _page(f"{failure.number}: {report.summary}", facts, [*parts, others]),
        ISSUE: "\n".join(_issue(failure, report, facts, parts)),
        test: report.sketch.text.lstrip("\n"),
        content.STEPS: page(trace, (), INDEX),
        content.DRAWING: ladder_svg(scene_of(trace)),
        content.TRACE: to_text(trace),
        content.SCRIPT: f"#!/bin/sh\n{content.script(failure, report)}\n",
    }


def _page(title: str, facts: Sequence[tuple[str, str]], parts: Sequence[Part | Files]) -> Page:
    shown = meanings(((word, element("span", *in_page(text))) for word, text in facts), class_="facts")
    return text_page(title, [shown, *(part.element() for part in parts)], "report", [beside(__package__, "page.css")])


def _issue(failure: Failure, report: Report, facts: Sequence[tuple[str, str]], parts: Sequence[Part]) -> Iterator[str]:
    """The lines of an issue: first the fields of the form with which it is created, then its description."""
    fields = {
        "Summary": report.summary,
        "Type": "Bug",
        "Priority": report.severity.partition(":")[0],
        "Affects versions": failure.releases,
        "Component": "core",
    }
    yield from (f"{name}: {clean(text)}" for name, text in fields.items())
    yield ""
    for word, text in facts:
        yield from (f"*{word}.* {in_issue(text)}", "")
    for part in parts:
        yield from part.lines()
    yield ""
