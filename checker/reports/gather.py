"""Builds the content of a report from the results of each form of `check`.

In:  a `Run`, or the runs of the matrix; the text that was printed.
Out: a `ReportContent` (content.py). Traces are read again from their files, which certifies the traces once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.comparisons.matrix_record import Match, Pair, RecordedRun
from isrcheck.checker.reports.content import (
    Grid,
    GridRow,
    Outcome,
    PropertyResult,
    ReportContent,
    SearchReport,
    TraceFile,
    by_property,
    first_sentence,
    outcome_of,
)
from isrcheck.checker.results.instance_facts import title
from isrcheck.checker.results.run import Run, Z3Agreement
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word
from isrcheck.checker.running.proofs import Proving
from isrcheck.checker.running.simulation import SimulationRun, verdict_line
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Property
from isrcheck.traces.format.files import read

NOT_SEARCHED = "not searched"


@dataclass(frozen=True)
class PrintedAnswer:
    """The command as it was typed, and the text that it printed."""

    command: str
    text: str


# -------------------------------------------------------------------------------------------------------- one search


def traces_of(run: Run, files: Mapping[str, Path]) -> tuple[TraceFile, ...]:
    """Return the traces of a run, each once. Raises UsageError if a trace file cannot be read any more."""
    model = run.exploration.instance.model
    return tuple(TraceFile(path, read(path, model)) for path in dict.fromkeys(files.values()))


def search_of(name: str, run: Run, judged: Sequence[PropertyResult]) -> SearchReport:
    """Return the report on a search; the search counts as an error if it was cut short or is undecided."""
    is_open = run.word is Word.UNDECIDED or run.exploration.stopped == "interrupt"
    proving = run.part(Proving)
    others = traces_of(run, proving.files) if proving is not None else ()
    lines = tuple(proving.report()) if proving is not None else ()
    outcome = Outcome.ERROR if is_open else Outcome.PASSED
    return SearchReport(name, run.exploration.instance, run, tuple(judged), outcome, _why(run), others, lines)


def _why(run: Run) -> str:
    """Return why a search, its check with Z3 or its proofs were cut short; empty if they were not."""
    stopped = [
        run.exploration.stopped,
        *(part.stopped for part in run.parts if isinstance(part, Z3Agreement | Proving)),
    ]
    return "; ".join(WHY_STOPPED[why] for why in dict.fromkeys(stopped) if why in WHY_STOPPED)


def judged_of(
    run: Run, *, strict: bool, spell: Callable[[Verdict], str] = lambda one: one.text
) -> list[PropertyResult]:
    """Return the result of each property of a run; `spell` returns the text of its table cell."""
    known = traces_of(run, run.traces)
    return [
        PropertyResult(one, spell(one), outcome_of(one, strict=strict), by_property(known, one.prop.name))
        for one in run.verdicts
    ]


def name_of(prop: Property) -> str:
    """Return the name of a property in a report."""
    return f"sometimes {prop.name}" if prop.kind is Kind.SOMETIMES else prop.name


def of_run(printed: PrintedAnswer, run: Run, *, strict: bool) -> ReportContent:
    """Return the content of the report on one model."""
    judged = judged_of(run, strict=strict)
    is_counted = run.engine != "z3" and run.counts_once
    rows = [
        GridRow(
            (name_of(one.verdict.prop),),
            (
                one,
                f"{one.verdict.violating:,}" if is_counted and one.verdict.violating else "",
                first_sentence(one.verdict),
            ),
        )
        for one in judged
    ]
    grid = Grid(("property",), ("verdict", "states or steps", "says"), tuple(rows))
    name = title(run.exploration.instance)
    return ReportContent(name, printed.command, printed.text, grid, (search_of(name, run, judged),))


def of_simulation(printed: PrintedAnswer, run: SimulationRun, *, strict: bool) -> ReportContent:
    """Return the content of the report on random walks: an error if they found nothing, because they prove nothing."""
    instance = run.simulation.instance
    known = [TraceFile(path, read(path, instance.model)) for path in dict.fromkeys(run.traces.values())]
    judged = [
        PropertyResult(one, one.text, outcome_of(one, strict=strict), by_property(known, one.prop.name))
        for one in run.verdicts
    ]
    rows = [GridRow((name_of(one.verdict.prop),), (one, first_sentence(one.verdict))) for one in judged]
    grid = Grid(("property",), ("verdict", "says"), tuple(rows))
    outcome = Outcome.PASSED if run.word is Word.VIOLATED else Outcome.ERROR
    search = SearchReport(f"{title(instance)}, simulated", instance, None, tuple(judged), outcome, verdict_line(run))
    return ReportContent(title(instance), printed.command, printed.text, grid, (search,))


# -------------------------------------------------------------------------------------------------------- the matrix


COUNTS = {
    Match.NEW: Outcome.FAILED,
    Match.MISSING: Outcome.FAILED,
    Match.STALE: Outcome.FAILED,
    Match.OPEN: Outcome.ERROR,
    Match.SAME: Outcome.PASSED,
}
"""The outcome of a cell of the matrix, by the comparison with its record."""

AS_PROMISED = (Word.HOLDS, Word.PROVED, Word.NO_VIOLATION, Word.REACHED)
"""The verdicts that pass if they are as recorded. A failure that is as recorded is skipped, as it is no pass."""


def of_matrix(
    printed: PrintedAnswer, records: Sequence[RecordedRun], pairs: Sequence[Pair], *, strict: bool
) -> ReportContent:
    """Return the content of the report on the matrix; `pairs` are its finished runs, each with the recorded run."""
    cells: dict[tuple[str, str], PropertyResult | str] = {}
    searches = []
    for position, record in enumerate(records):
        search = _recorded(*pairs[position], strict=strict) if position < len(pairs) else _not_searched(record)
        searches.append(search)
        for one in search.judged:
            if one.verdict.prop.kind is not Kind.SOMETIMES:
                cells[one.verdict.prop.name, record.column] = one
    columns, rows = matrix.arrange(records, cells, "")
    grid = Grid(("property",), tuple(columns), tuple(GridRow((name,), tuple(found)) for name, found in rows))
    return ReportContent(
        "every generation against every property", printed.command, printed.text, grid, tuple(searches)
    )


def _recorded(record: RecordedRun, run: Run, *, strict: bool) -> SearchReport:
    known = traces_of(run, run.traces)
    judged = []
    for verdict in run.verdicts:
        match = matrix.judge(record, run, verdict)
        outcome = COUNTS[match]
        if match is Match.SAME and verdict.word not in AS_PROMISED:
            outcome = Outcome.FAILED if strict and verdict.word is Word.PERMITTED else Outcome.SKIPPED
        is_recorded = match is Match.SAME and verdict.word in (Word.VIOLATED, Word.PERMITTED)
        text, mark = matrix.cell(verdict, run), matrix.mark_of(match, verdict)
        judged.append(PropertyResult(verdict, text, outcome, by_property(known, verdict.prop.name), is_recorded, mark))
    outcome, says = Outcome.PASSED, _why(run)
    if matrix.has_other_states(record, run):
        outcome, says = Outcome.FAILED, f"{run.explored.distinct:,} states, recorded: {record.reach}"
    elif run.exploration.stopped == "interrupt":
        outcome = Outcome.ERROR
    return SearchReport(record.title, record.instance, run, tuple(judged), outcome, says)


def _not_searched(record: RecordedRun) -> SearchReport:
    judged = [
        PropertyResult(Verdict(prop, Word.UNDECIDED, note=NOT_SEARCHED), matrix.NOT_SEARCHED, Outcome.ERROR)
        for prop in matrix.promised(record)
    ]
    return SearchReport(record.title, record.instance, None, tuple(judged), Outcome.ERROR, NOT_SEARCHED)
