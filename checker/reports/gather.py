"""Builds the content of a report from the results of each form of `check`.

In:  a `Run`, the pairs of the matrix, the `SweepTable` of a sweep, or the `Answer` for a cluster; the printed text.
Out: a `ReportContent` (content.py). Traces are read from their files again, which certifies them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isrcheck.checker.analyses import matrix
from isrcheck.checker.analyses.matrix import Match, Pair, RecordedRun
from isrcheck.checker.kafka_config.answer import Answer, FinishedSearch, first_sentence, side_search_line
from isrcheck.checker.kafka_config.cluster_plan import ClusterPlan
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Verdict, Word
from isrcheck.checker.reports.content import (
    Grid,
    GridRow,
    Outcome,
    PropertyResult,
    ReportContent,
    SearchReport,
    TraceFile,
    by_property,
    outcome_of,
)
from isrcheck.checker.session.naming import title
from isrcheck.checker.session.proof_text import lines as proof_lines
from isrcheck.checker.session.text import Run
from isrcheck.checker.sweep import table
from isrcheck.checker.sweep.table import SweepTable
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Property
from isrcheck.traces.format.folder import read

NOTHING = Grid((), (), ())
CLUSTER = "a cluster's own settings"


@dataclass(frozen=True)
class PrintedAnswer:
    """The command as it was typed, and the text that it printed."""

    command: str
    text: str


# -------------------------------------------------------------------------------------------------------- one search


def traces_of(run: Run, files: Mapping[str, Path]) -> tuple[TraceFile, ...]:
    """The traces of a run, each once. Raises UsageError if a file cannot be read."""
    model = run.exploration.instance.model
    return tuple(TraceFile(path, read(path, model)) for path in dict.fromkeys(files.values()))


def _search(name: str, run: Run, judged: Sequence[PropertyResult]) -> SearchReport:
    """A search with its judged properties; the search itself counts as an error if it is undecided."""
    is_open = run.word is Word.UNDECIDED or run.exploration.stopped == "interrupt"
    others = traces_of(run, run.proving.files) if run.proving is not None else ()
    lines = tuple(proof_lines(run.proving)) if run.proving is not None else ()
    outcome = Outcome.ERROR if is_open else Outcome.PASSED
    return SearchReport(name, run.exploration.instance, run, tuple(judged), outcome, _why(run), others, lines)


def _why(run: Run) -> str:
    """The limits that cut a search short, if any."""
    stopped = [run.exploration.stopped, run.second.stopped if run.second is not None else None]
    stopped.append(run.proving.proofs.stopped if run.proving is not None else None)
    return "; ".join(WHY_STOPPED[why] for why in dict.fromkeys(stopped) if why in WHY_STOPPED)


def _judged(run: Run, *, strict: bool, spell: Callable[[Verdict], str] = lambda one: one.text) -> list[PropertyResult]:
    known = traces_of(run, run.traces)
    return [
        PropertyResult(one, spell(one), outcome_of(one, strict=strict), by_property(known, one.prop.name))
        for one in run.verdicts
    ]


def _name(prop: Property) -> str:
    return f"sometimes {prop.name}" if prop.kind is Kind.SOMETIMES else prop.name


def of_run(printed: PrintedAnswer, run: Run, *, strict: bool) -> ReportContent:
    """One model in detail."""
    judged = _judged(run, strict=strict)
    is_counted = run.engine != "z3" and run.counts_once
    rows = [
        GridRow(
            (_name(one.verdict.prop),),
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
    return ReportContent(name, printed.command, printed.text, grid, (_search(name, run, judged),))


# -------------------------------------------------------------------------------------------------------- the matrix


COUNTS = {
    Match.NEW: Outcome.FAILED,
    Match.MISSING: Outcome.FAILED,
    Match.STALE: Outcome.FAILED,
    Match.OPEN: Outcome.ERROR,
    Match.SAME: Outcome.PASSED,
}
"""In the matrix, the comparison with the record decides how a verdict counts."""

AS_PROMISED = (Word.HOLDS, Word.PROVED, Word.NO_VIOLATION, Word.REACHED)
"""Recorded verdicts that pass. A recorded failure was expected and does not pass: it is skipped."""


def of_matrix(
    printed: PrintedAnswer, records: Sequence[RecordedRun], pairs: Sequence[Pair], *, strict: bool
) -> ReportContent:
    """Every generation against every property, compared with the record."""
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
        PropertyResult(Verdict(prop, Word.UNDECIDED, note=table.NOT_SEARCHED), matrix.NOT_SEARCHED, Outcome.ERROR)
        for prop in matrix.promised(record)
    ]
    return SearchReport(record.title, record.instance, None, tuple(judged), Outcome.ERROR, table.NOT_SEARCHED)


# ----------------------------------------------------------------------------------------------------------- a sweep


def of_sweep(printed: PrintedAnswer, found: SweepTable, *, strict: bool) -> ReportContent:
    """The safety table of a sweep."""
    searches = []
    for row in found.rows:
        if row.run is not None:
            searches.append(_search(row.combination.name, row.run, _judged(row.run, strict=strict, spell=table.cell)))
        else:
            outcome = Outcome.SKIPPED if row.word is Word.NOT_APPLICABLE else Outcome.ERROR
            searches.append(
                SearchReport(
                    row.combination.name, row.combination.instance, None, (), outcome, f"{row.word.value}: {row.why}"
                )
            )
    shown = [
        (position, prop)
        for position, prop in enumerate(found.properties)
        if {table.verdict_on(run, prop).word for run in found.runs} - _unremarkable(prop)
    ]
    columns = tuple(_name(prop) for _, prop in shown)
    rows = tuple(
        GridRow(
            tuple(row.combination.varied.values()),
            tuple(_judged_at(search, position) for position, _ in shown) or (search.says,),
        )
        if search.run is not None
        else GridRow(tuple(row.combination.varied.values()), (search.says,))
        for row, search in zip(found.rows, searches, strict=True)
    )
    corner = tuple(axis.key for axis in found.sweep.axes)
    name = f"{found.sweep.model.name}: {len(found.rows)} configurations"
    return ReportContent(name, printed.command, printed.text, Grid(corner, columns, rows), tuple(searches))


def _judged_at(search: SearchReport, position: int) -> PropertyResult | str:
    """The result at a column: `in_range` is the last one, and only searches that break it have it."""
    return search.judged[position] if position < len(search.judged) else ""


def _unremarkable(prop: Property) -> set[Word]:
    """A property gets no column if every row has one of these verdicts."""
    return {Word.NOT_APPLICABLE, Word.REACHED} if prop.kind is Kind.SOMETIMES else {Word.NOT_APPLICABLE}


# --------------------------------------------------------------------------------------------------------- a cluster


def of_answer(printed: PrintedAnswer, answer: Answer, *, strict: bool) -> ReportContent:
    """The answer for a cluster: the searches that decide the verdict, and the side searches, which do not count."""
    deciding = [_deciding(answer, part_and_run, strict=strict) for part_and_run in answer.deciding]
    sides = [
        SearchReport(
            *(f"beside the verdict: {part.says}", part.instance, run, ()),
            says=side_search_line(part, run, answer),
            others=traces_of(run, run.traces),
        )
        for part, run in answer.side_searches
    ]
    rows = []
    for verdict in answer.promises:
        known = [one for search in deciding for one in search.traces if one.trace.property_name == verdict.prop.name]
        judged = PropertyResult(verdict, verdict.text, outcome_of(verdict, strict=strict), tuple(known))
        rows.append(GridRow((verdict.prop.name,), (judged, first_sentence(verdict))))
    notes = tuple([f"UNDECIDED for this cluster: {answer.plan.why_undecided}"] * answer.plan.is_nearest)
    grid = Grid(("promise",), ("verdict", "says"), tuple(rows))
    return ReportContent(CLUSTER, printed.command, printed.text, grid, (*deciding, *sides), notes=notes)


def _deciding(answer: Answer, asked: FinishedSearch, *, strict: bool) -> SearchReport:
    part, run = asked
    undecided = answer.plan.cluster.undecided_properties
    known = traces_of(run, run.traces)
    judged = []
    for found in run.verdicts:
        name = found.prop.name
        if found.prop.kind is Kind.SOMETIMES:
            continue
        # A property of a mechanism that is not modelled was not searched: it has no verdict of a search.
        verdict = Verdict(found.prop, Word.UNDECIDED, note=undecided[name]) if name in undecided else found
        judged.append(
            PropertyResult(verdict, verdict.text, outcome_of(verdict, strict=strict), by_property(known, name))
        )
    # Only promises decide here: a search that leaves a `sometimes` property open is no error.
    outcome = Outcome.ERROR if run.exploration.stopped == "interrupt" else Outcome.PASSED
    return replace(_search(part.says, run, judged), outcome=outcome)


def of_refusal(printed: PrintedAnswer, plan: ClusterPlan) -> ReportContent:
    """The answer for a cluster that cannot be searched."""
    says = f"UNDECIDED: {plan.why_undecided}"
    return ReportContent(
        CLUSTER, printed.command, printed.text, NOTHING, (SearchReport("cluster", None, None, (), Outcome.ERROR, says),)
    )
