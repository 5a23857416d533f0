"""The whole matrix as text: a cell for each generation and property, and what each run searched (`--details`).

In:  the recorded runs, and the finished runs with the recorded run that each repeats.
Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.checker.analyses.matrix import (
    ABSENT,
    CLOSING,
    EXHAUSTED,
    NOT_ATTEMPTED,
    NOT_SEARCHED,
    WIDEST,
    Match,
    Pair,
    RecordedRun,
    arrange,
    cell,
    changed_lines,
    has_other_states,
    judge,
    mark_of,
    promised,
    worst,
)
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Word
from isrcheck.checker.session.formatting import counted, table, tables
from isrcheck.checker.session.naming import configuration_of, faults_line
from isrcheck.checker.session.proof_text import scope
from isrcheck.checker.session.text import Run
from isrcheck.models.language.declarations import Kind


def details(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> str:
    """Return the whole matrix as text: cells, bounds, depths of the runs, proofs, traces, and the comparison."""
    rows = _rows(records, pairs)
    lines = [*tables(rows, WIDEST, ABSENT), ""]
    if absent := [name for name, *cells in rows if all(cell == ABSENT for cell in cells)]:
        lines += [f"{ABSENT} everywhere: {', '.join(absent)}"]
    lines += [*_bounds(records), *_configurations(records), *_reaches(records, pairs)]
    lines += _proofs(pairs)
    for record, run in pairs:
        lines += ["", *_run_lines(record, run)]
    return "\n".join([*lines, "", *changed_lines(records), CLOSING[worst(records, pairs)]])


def _rows(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> list[list[str]]:
    """Return the table: a row for each property, a column for each generation."""
    cells = {(prop.name, record.column): NOT_SEARCHED for record in records for prop in promised(record)}
    for record, run in pairs:
        for verdict in run.verdicts:
            if verdict.prop.kind is not Kind.SOMETIMES:
                mark = mark_of(judge(record, run, verdict), verdict)
                cells[verdict.prop.name, record.column] = cell(verdict, run) + (f"  <- {mark}" if mark else "")
    columns, rows = arrange(records, cells, "")
    return [["", *columns], *([name, *row] for name, row in rows)]


def _bounds(records: Sequence[RecordedRun]) -> list[str]:
    """Return lines with the default sizes, client settings and fault budgets, without the protocol switches."""
    groups: dict[str, list[str]] = {}
    for record in records:
        usual = configuration_of(record.instance.model.instance(record.instance.protocol.name))
        bounds = ", ".join(f"{name}={value}" for name, value in usual.items() if not name.isupper())
        columns = groups.setdefault(bounds, [])
        if record.column not in columns:
            columns.append(record.column)
    if len(groups) == 1:
        return [f"bounds of every cell: {bounds}" for bounds in groups]
    return [f"bounds in {', '.join(columns)}: {bounds}" for bounds, columns in groups.items()]


def _configurations(records: Sequence[RecordedRun]) -> list[str]:
    """Return a line for each configuration that differs from the default, with its properties and generations."""
    groups: dict[tuple[str, str], list[str]] = {}
    for record in records:
        kinds = {prop.name: prop.kind for prop in record.instance.model.properties}
        names = ", ".join(name for name in record.judges if kinds[name] is not Kind.SOMETIMES)
        names = (names or record.name) if record.name else "all others"
        if record.differs:
            groups.setdefault((names, record.differs), []).append(record.column)
    return [f"{names}: {differs} in {', '.join(columns)}" for (names, differs), columns in groups.items()]


def _reaches(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> list[str]:
    """Return a line with the exhaustive runs, and a line with the depths of the other runs."""
    whole = []
    part: dict[str, list[str]] = {}
    for record, run in pairs:
        exploration = run.explored
        if exploration.exhausted:
            whole.append(f"{record.title} ({counted(exploration.distinct, 'state')})")
        else:
            why = WHY_STOPPED.get(exploration.stopped or "")
            far = f"to depth {exploration.judged}" + (f": {why}" if why else "")
            part.setdefault(far, []).append(record.title)
    for record in records[len(pairs) :]:
        part.setdefault("not searched", []).append(record.title)
    lines = [f"exhaustive: {'; '.join(whole) or 'none'}"]
    partial = [f"{', '.join(titles)} ({far})" for far, titles in part.items()]
    return [*lines, f"not exhaustive: {'; '.join(partial)}"] if partial else lines


def _proofs(pairs: Sequence[Pair]) -> list[str]:
    """Return lines with the proved properties, their generations and scopes, and with those that were not tried."""
    lines = []
    for (names, bounds), columns in _proved(pairs).items():
        lines.append(f"proved {names} in {', '.join(columns)}: {bounds}")
    left = [f"{name} in {', '.join(columns)}" for name, columns in _unattempted(pairs).items()]
    return [*lines, *([f"{NOT_ATTEMPTED}: {'; '.join(left)}"] if left else [])]


def _proved(pairs: Sequence[Pair]) -> dict[tuple[str, str], list[str]]:
    """Return the generations with proved properties, grouped by these properties and the scope of the proofs."""
    groups: dict[tuple[str, str], list[str]] = {}
    for record, run in pairs:
        names: dict[str, list[str]] = {}
        for verdict in run.verdicts:
            if verdict.proof is not None:
                names.setdefault(scope(record.instance, verdict.proof), []).append(verdict.prop.name)
        for bounds, proved in names.items():
            groups.setdefault((", ".join(proved), bounds), []).append(record.column)
    return groups


def _unattempted(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Return the generations in which no proof was attempted, by property."""
    groups: dict[str, list[str]] = {}
    for record, run in pairs:
        for verdict in run.verdicts:
            if verdict.is_unattempted:
                groups.setdefault(verdict.prop.name, []).append(record.column)
    return groups


def _run_lines(record: RecordedRun, run: Run) -> list[str]:
    """Return lines with the totals, the faults, the `sometimes` properties and the traces of one run."""
    exploration = run.explored
    sought = [v for v in run.verdicts if v.prop.kind is Kind.SOMETIMES and v.word is not Word.NOT_APPLICABLE]
    reached = [verdict for verdict in sought if verdict.word is Word.REACHED]
    missing = ", ".join(f"{v.prop.name} ({v.text})" for v in sought if v.word is not Word.REACHED)
    reach = EXHAUSTED if exploration.exhausted else f"{counted(exploration.frontier, 'frontier state')} left"
    lines = [
        f"{record.title}: {counted(exploration.distinct, 'distinct state')}, {exploration.generated:,} generated,"
        f" {exploration.seconds:.2f} s; judged to depth {exploration.judged},"
        f" {reach}; recorded: {record.reach}"
        + (f"  <- {Match.MISSING.value}" if has_other_states(record, run) else ""),
        f"  faults considered: {faults_line(record.instance)}",
    ]
    if record.differs:
        lines.insert(1, f"  configuration: {record.differs}")
    if sought:
        lines.append(f"  sometimes: {len(reached)} of {len(sought)} reached" + (f"; {missing}" if missing else ""))
    return lines + table([["  " + name, run.show(path)] for name, path in run.traces.items()])
