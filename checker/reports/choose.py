"""Builds the content of a report from the result of any form of `check`.

In:  the result of a form, and the text that was printed.
Out: a `ReportContent` (content.py).
"""

from __future__ import annotations

from isrcheck.checker.comparisons.matrix import MatrixFound
from isrcheck.checker.doctor.answer import Doctored
from isrcheck.checker.reports import gather
from isrcheck.checker.reports.content import ReportContent
from isrcheck.checker.reports.gather_cluster import of_cluster
from isrcheck.checker.results.run import Run
from isrcheck.checker.running.simulation import SimulationRun


def content_of(found: object, printed: gather.PrintedAnswer, *, strict: bool) -> ReportContent:
    """Return the content of the report on a result. Raises UsageError if a trace file cannot be read any more."""
    if isinstance(found, Run):
        return gather.of_run(printed, found, strict=strict)
    if isinstance(found, SimulationRun):
        return gather.of_simulation(printed, found, strict=strict)
    if isinstance(found, MatrixFound):
        return gather.of_matrix(printed, found.records, found.pairs, strict=strict)
    if isinstance(found, Doctored):
        return of_cluster(printed, found)
    from isrcheck.checker.reports.gather_sweep import of_sweep  # imported here because sweeps are optional

    return of_sweep(printed, found, strict=strict)
