"""Builds the content of a report from the answers for a cluster.

In:  the `Doctored` of `check --config`; the text that was printed.
Out: a `ReportContent` (content.py): a row for each distinct case, and its traces.
"""

from __future__ import annotations

from isrcheck.checker.doctor.answer import Answer, Doctored, Kind
from isrcheck.checker.doctor.cluster_table import change_of, rows_of, settings_of
from isrcheck.checker.reports.content import Grid, GridRow, Outcome, ReportContent, SearchReport, TraceFile
from isrcheck.checker.reports.gather import PrintedAnswer
from isrcheck.checker.results.exit_codes import SAFE, UNDECIDED
from isrcheck.traces.format.files import read

CLUSTER = "a cluster's own settings"


def of_cluster(printed: PrintedAnswer, found: Doctored) -> ReportContent:
    """Return the content of the report. Raises UsageError if a trace file cannot be read any more."""
    traces = tuple(TraceFile(path, read(path), shows) for path, shows in found.files.items())
    rows = rows_of(found.answers)
    searches, cells = [], []
    for place, row in enumerate(rows):
        answer = row.first
        name = ", ".join(row.topics[:1]) or settings_of(answer)
        searches.append(
            SearchReport(
                name, None, None, (), _outcome(answer, found.code), answer.headline, traces if place == 0 else ()
            )
        )
        cells.append(
            GridRow(
                (settings_of(answer),),
                (answer.headline, change_of(answer), f"{row.partitions:,}" if row.partitions else "-"),
            )
        )
    grid = Grid(("case",), ("answer", "change", "partitions"), tuple(cells))
    return ReportContent(CLUSTER, printed.command, printed.text, grid, tuple(searches), headline=rows[0].first.headline)


def _outcome(answer: Answer, code: int) -> Outcome:
    """How a build server counts an answer: as the exit code does, which --fail-on can change."""
    if code == SAFE:
        return Outcome.PASSED if answer.kind is Kind.KEEPS else Outcome.SKIPPED
    if answer.kind is Kind.UNKNOWN and answer.code == UNDECIDED:
        return Outcome.ERROR
    return Outcome.PASSED if answer.kind is Kind.KEEPS else Outcome.FAILED
