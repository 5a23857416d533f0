"""Builds the content of a report from the table of a sweep.

In:  a `SweepTable`, and the text that was printed.
Out: a `ReportContent` (content.py).
"""

from __future__ import annotations

from isrcheck.checker.reports.content import Grid, GridRow, Outcome, PropertyResult, ReportContent, SearchReport
from isrcheck.checker.reports.gather import PrintedAnswer, judged_of, name_of, search_of
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.sweep import table
from isrcheck.checker.sweep.table import SweepTable
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Property


def of_sweep(printed: PrintedAnswer, found: object, *, strict: bool) -> ReportContent:
    """Return the content of the report on a sweep; `found` is its `SweepTable`."""
    assert isinstance(found, SweepTable)
    searches = []
    for row in found.rows:
        if row.run is not None:
            searches.append(
                search_of(row.combination.name, row.run, judged_of(row.run, strict=strict, spell=table.cell))
            )
        else:
            outcome = Outcome.SKIPPED if row.word is Word.NOT_APPLICABLE else Outcome.ERROR
            searches.append(
                SearchReport(
                    row.combination.name, row.combination.instance, None, (), outcome, f"{row.word.value}: {row.why}"
                )
            )
    shown = [
        prop
        for prop in found.properties
        if {table.verdict_on(run, prop).word for run in found.runs} - _unremarkable(prop)
    ]
    columns = tuple(name_of(prop) for prop in shown)
    rows = tuple(
        GridRow(
            tuple(row.combination.varied.values()),
            tuple(_judged_on(search, prop) for prop in shown) or (search.says,),
        )
        if search.run is not None
        else GridRow(tuple(row.combination.varied.values()), (search.says,))
        for row, search in zip(found.rows, searches, strict=True)
    )
    corner = tuple(axis.key for axis in found.sweep.axes)
    name = f"{found.sweep.model.name}: {len(found.rows)} configurations"
    return ReportContent(name, printed.command, printed.text, Grid(corner, columns, rows), tuple(searches))


def _judged_on(search: SearchReport, prop: Property) -> PropertyResult | str:
    """Return the result for a property; empty for an implicit property that the search did not violate."""
    return next((one for one in search.judged if one.verdict.prop is prop), "")


def _unremarkable(prop: Property) -> set[Word]:
    """Return the verdicts that need no column: a property has no column if every row has such a verdict."""
    return {Word.NOT_APPLICABLE, Word.REACHED} if prop.kind is Kind.SOMETIMES else {Word.NOT_APPLICABLE}
