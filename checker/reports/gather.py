"""Builds the content of a report from the result of any form of `check`.

Traces are read again from their files; reading a trace also checks that each of its steps is a step of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from isrcheck.checker.answers.answer import Answer, Doctored
from isrcheck.checker.answers.answer import Kind as AnswerKind
from isrcheck.checker.answers.report import change_of, rows_of, settings_of
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.comparisons.matrix import MatrixFound
from isrcheck.checker.comparisons.matrix_record import Match, RecordedRun
from isrcheck.checker.reports.content import (
    Grid,
    GridRow,
    Outcome,
    PropertyResult,
    ReportContent,
    SearchReport,
    TraceFile,
    first_sentence,
    outcome_of,
)
from isrcheck.checker.results.instance_facts import title
from isrcheck.checker.results.run import Run, Z3Agreement
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word
from isrcheck.checker.running.proofs import Proving
from isrcheck.checker.running.simulation import SimulationRun, verdict_line
from isrcheck.checker.sweep import table
from isrcheck.checker.sweep.table import SweepTable
from isrcheck.commands.exit_codes import SAFE, UNDECIDED
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Model, Property
from isrcheck.traces.format.files import read

NOT_SEARCHED = "not searched"
CLUSTER = "a cluster's own settings"
MATRIX = "every generation against every property"


def content_of(result: object, *, strict: bool) -> ReportContent:
    """Return the content of the report on the result of a command, except the fields about the command and its output.
    With `strict`, PERMITTED is a failure. Raises UsageError if a trace file cannot be read."""
    match result:
        case Run():
            return _of_run(result, strict=strict)
        case SimulationRun():
            return _of_simulation(result, strict=strict)
        case MatrixFound():
            return _of_matrix(result, strict=strict)
        case Doctored():
            return _of_cluster(result)
        case SweepTable():
            return _of_sweep(result, strict=strict)
    raise AssertionError(f"no report on a {type(result).__name__}")


# ------------------------------------------------------------------------------------------------ one model, and walks


def _of_run(run: Run, *, strict: bool) -> ReportContent:
    search = _search_of(title(run.exploration.instance), run, strict=strict)
    is_counted = run.engine != "z3" and run.counts_once
    counts = [f"{verdict.violating:,}" if is_counted and verdict.violating else "" for verdict in run.verdicts]
    rows = [
        GridRow((name_of(judged.verdict.prop),), (judged, count, first_sentence(judged.verdict)))
        for judged, count in zip(search.judged, counts, strict=True)
    ]
    grid = Grid(("property",), ("verdict", "states or steps", "says"), tuple(rows))
    return ReportContent(search.title, grid, (search,))


def _of_simulation(run: SimulationRun, *, strict: bool) -> ReportContent:
    """The report on a simulation. Random walks that find no violation prove nothing, and count as an error."""
    instance = run.simulation.instance
    judged = _judged_of(run.verdicts, run.traces, instance.model, strict=strict)
    rows = [GridRow((name_of(result.verdict.prop),), (result, first_sentence(result.verdict))) for result in judged]
    grid = Grid(("property",), ("verdict", "says"), tuple(rows))
    outcome = Outcome.PASSED if run.word is Word.VIOLATED else Outcome.ERROR
    search = SearchReport(f"{title(instance)}, simulated", instance, None, judged, outcome, verdict_line(run))
    return ReportContent(title(instance), grid, (search,))


def _search_of(
    name: str, run: Run, *, strict: bool, spell: Callable[[Verdict], str] = lambda verdict: verdict.text
) -> SearchReport:
    """Return the report on a search. If the search is undecided or interrupted, it counts as an error. `spell` returns
    the text of a verdict in the table."""
    model = run.exploration.instance.model
    judged = _judged_of(run.verdicts, run.traces, model, strict=strict, spell=spell)
    is_open = run.word is Word.UNDECIDED or run.exploration.stopped == "interrupt"
    proving = run.part(Proving)
    others, lines = (_traces_of(model, proving.files.values()), tuple(proving.report())) if proving else ((), ())
    outcome = Outcome.ERROR if is_open else Outcome.PASSED
    return SearchReport(name, run.exploration.instance, run, judged, outcome, _why(run), others, lines)


def _why(run: Run) -> str:
    """Return why a search, its comparison with Z3, or its proofs were cut short; empty if nothing was cut short."""
    parts = (part.stopped for part in run.parts if isinstance(part, Z3Agreement | Proving))
    stopped = [run.exploration.stopped, *parts]
    return "; ".join(WHY_STOPPED[why] for why in dict.fromkeys(stopped) if why in WHY_STOPPED)


def _judged_of(
    verdicts: Iterable[Verdict],
    files: Mapping[str, Path],
    model: Model,
    *,
    strict: bool,
    spell: Callable[[Verdict], str] = lambda verdict: verdict.text,
) -> tuple[PropertyResult, ...]:
    traces = _traces_of(model, files.values())
    return tuple(
        PropertyResult(verdict, spell(verdict), outcome_of(verdict, strict=strict), _about(traces, verdict))
        for verdict in verdicts
    )


def _traces_of(model: Model, paths: Iterable[Path]) -> tuple[TraceFile, ...]:
    return tuple(TraceFile(path, read(path, model)) for path in dict.fromkeys(paths))


def _about(traces: Sequence[TraceFile], verdict: Verdict) -> tuple[TraceFile, ...]:
    return tuple(trace_file for trace_file in traces if trace_file.trace.property_name == verdict.prop.name)


def name_of(prop: Property) -> str:
    """Return the name by which a report calls a property; goals are called `sometimes NAME`."""
    return f"sometimes {prop.name}" if prop.kind is Kind.SOMETIMES else prop.name


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
"""The verdicts that pass if they are as recorded. A failure that is as recorded is skipped, as it is not a pass."""


def _of_matrix(result: MatrixFound, *, strict: bool) -> ReportContent:
    cells: dict[tuple[str, str], PropertyResult | str] = {}
    searches = []
    for position, record in enumerate(result.records):
        is_searched = position < len(result.pairs)
        search = _compared(*result.pairs[position], strict=strict) if is_searched else _not_searched(record)
        searches.append(search)
        for judged in search.judged:
            if judged.verdict.prop.kind is not Kind.SOMETIMES:
                cells[judged.verdict.prop.name, record.column] = judged
    columns, rows = matrix.arrange(result.records, cells, "")
    grid = Grid(("property",), tuple(columns), tuple(GridRow((name,), tuple(row)) for name, row in rows))
    return ReportContent(MATRIX, grid, tuple(searches))


def _compared(record: RecordedRun, run: Run, *, strict: bool) -> SearchReport:
    traces = _traces_of(run.exploration.instance.model, run.traces.values())
    judged = []
    for verdict in run.verdicts:
        match = matrix.judge(record, run, verdict)
        outcome = COUNTS[match]
        if match is Match.SAME and verdict.word not in AS_PROMISED:
            outcome = Outcome.FAILED if strict and verdict.word is Word.PERMITTED else Outcome.SKIPPED
        is_recorded = match is Match.SAME and verdict.word in (Word.VIOLATED, Word.PERMITTED)
        text, mark = matrix.cell(verdict, run), matrix.mark_of(match, verdict)
        judged.append(PropertyResult(verdict, text, outcome, _about(traces, verdict), is_recorded, mark))
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


# ------------------------------------------------------------------------------------------------- sweeps and clusters


def _of_sweep(result: SweepTable, *, strict: bool) -> ReportContent:
    shown = []
    for prop in result.properties:
        # A property whose verdicts are all among these gets no column.
        unremarkable = {Word.NOT_APPLICABLE} | ({Word.REACHED} if prop.kind is Kind.SOMETIMES else set())
        if {table.verdict_on(run, prop).word for run in result.runs} - unremarkable:
            shown.append(prop)
    searches, rows = [], []
    for row in result.rows:
        name, instance = row.combination.name, row.combination.instance
        cells: tuple[PropertyResult | str, ...] = ()
        if row.run is not None:
            search = _search_of(name, row.run, strict=strict, spell=table.cell)
            # An implicit property that the search did not violate has no result.
            cells = tuple(
                next((result for result in search.judged if result.verdict.prop is prop), "") for prop in shown
            )
        else:
            outcome = Outcome.SKIPPED if row.word is Word.NOT_APPLICABLE else Outcome.ERROR
            search = SearchReport(name, instance, None, (), outcome, f"{row.word.value}: {row.why}")
        searches.append(search)
        rows.append(GridRow(tuple(row.combination.varied.values()), cells or (search.says,)))
    grid = Grid(tuple(axis.key for axis in result.sweep.axes), tuple(map(name_of, shown)), tuple(rows))
    return ReportContent(f"{result.sweep.model.name}: {len(result.rows)} configurations", grid, tuple(searches))


def _of_cluster(result: Doctored) -> ReportContent:
    """Return the report on a cluster. Answers with the same case (settings of topics) and the same headline are shown
    as one row of the table and counted as one search. The traces of all answers belong to the first search."""
    traces = tuple(TraceFile(path, read(path), shows) for path, shows in result.files.items())
    searches: list[SearchReport] = []
    cells = []
    for row in rows_of(result.answers):
        answer, settings = row.first, settings_of(row.first)
        name = ", ".join(row.topics[:1]) or settings
        outcome = _outcome(answer, result.code)
        searches.append(SearchReport(name, None, None, (), outcome, answer.headline, () if searches else traces))
        partitions = f"{row.partitions:,}" if row.partitions else "-"
        cells.append(GridRow((settings,), (answer.headline, change_of(answer), partitions)))
    grid = Grid(("case",), ("answer", "change", "partitions"), tuple(cells))
    return ReportContent(CLUSTER, grid, tuple(searches), headline=searches[0].says)


def _outcome(answer: Answer, code: int) -> Outcome:
    """How a build server counts an answer about a cluster; nothing fails if the exit code (see --fail-on) is 0."""
    if answer.kind is AnswerKind.KEEPS:
        return Outcome.PASSED
    if code == SAFE:
        return Outcome.SKIPPED
    return Outcome.ERROR if answer.kind is AnswerKind.UNKNOWN and answer.code == UNDECIDED else Outcome.FAILED
