"""`check` alone: checks every generation against every property, and compares the verdicts with recorded ones.

In:  `Options`, and a session; the recorded runs (matrix_record.py).
Out: a `CommandResult` with a `MatrixFound`, a text, and the object that `--json` prints. The text is one screen
     (generations.py); with `--details` it has each cell of the matrix, and what each run searched.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.command.options import Options
from isrcheck.checker.comparisons import generations, matrix_record
from isrcheck.checker.comparisons.matrix_record import (
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
    judged,
    mark_of,
    promised,
    worst,
)
from isrcheck.checker.proofs.premises import with_established_premise
from isrcheck.checker.resources.limits import Limits, Memory
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.instance_facts import configuration_of, faults_line
from isrcheck.checker.results.proofs import Phase, Proofs
from isrcheck.checker.results.run import CommandResult, Run, as_object
from isrcheck.checker.results.terminal import ProgressLine, counted, grouped, table, tables, width_of_output
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word, refuse_contradictions, with_proofs
from isrcheck.checker.running.comparing import search_rows
from isrcheck.checker.running.proofs import scope
from isrcheck.checker.running.session import SearchSession
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, UNEXPECTED, VIOLATED
from isrcheck.models.language.declarations import Kind

CODES = {
    Match.NEW: VIOLATED,
    Match.MISSING: UNEXPECTED,
    Match.STALE: UNEXPECTED,
    Match.OPEN: UNDECIDED,
    Match.SAME: SAFE,
}
"""The exit code of `check` for the gravest result of a comparison with the record."""

PROOF_SECONDS = 20.0
"""The time for all proofs together, in seconds; a proof in the cache takes no time."""


@dataclass(frozen=True)
class MatrixFound:
    """All recorded runs (`records`), and each finished run with the recorded run that it repeats (`pairs`)."""

    records: list[RecordedRun]
    pairs: list[Pair]


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search all recorded instances, and compare with the record. Raises KeyboardInterrupt if no search finished."""
    traces, records = TraceWriter(options.output.folder), matrix_record.recorded()
    runs_left = iter(range(len(records), 0, -1))

    def search(record: RecordedRun) -> Run:
        within = record.limits(session.budget.limits(options.limits), next(runs_left))
        target = record.instance.model.name
        return session.run(record.instance, target, traces, limits=within, only=record.judges, count_all=True)

    comparison = search_rows(records, search)
    if not comparison.answers:
        raise KeyboardInterrupt
    pairs = [(record, record.only_judged(run)) for record, run in comparison.answers]
    stopped = comparison.is_interrupted
    if not stopped:
        pairs, stopped = prove_matrix(session, pairs)
    code = CODES[worst(records, pairs)]
    words = [verdict.word for _, run in pairs for verdict in run.verdicts]
    if code == SAFE and options.output.strict and Word.PERMITTED in words:
        code = VIOLATED
    everything = text = details(records, pairs)
    if not options.output.details:
        text = generations.text(records, pairs, options.words, width_of_output())
    matrix = MatrixFound(records, pairs)
    return CommandResult(text, as_objects(records, pairs), code, traces.failure, stopped, matrix, everything)


# --------------------------------------------------------------------------------------------------------------- proofs


def prove_matrix(session: SearchSession, pairs: list[Pair]) -> tuple[list[Pair], bool]:
    """Try to prove the properties, quick proofs first; return the pairs with proofs, and whether Ctrl-C was pressed."""
    deadline = time.monotonic() + PROOF_SECONDS
    Memory.limit(session.limits.memory)
    proofs_of = {position: Proofs() for position, (record, _) in enumerate(pairs) if not record.name}
    for phase in (Phase.EVERY_LENGTH, Phase.WITHIN_BOUNDS):
        # The newest generation first: it has the most to prove.
        for position in reversed(proofs_of):
            record, run = pairs[position]
            progress = ProgressLine(record.title)
            left = session.budget.limits(Limits(seconds=deadline - time.monotonic())).seconds
            proofs = proofs_of[position]
            # Even if the first phase was cut short, the second phase may find its proofs in the cache.
            before = replace(proofs, stopped=None)
            new = session.prove_phase(run, phase, before, left, progress, is_patient=False)
            proofs_of[position] = proofs.joined(new)
            progress.clear()
            if new.stopped == "interrupt":
                return pairs, True
    for position, proofs in proofs_of.items():
        record, run = pairs[position]
        refuse_contradictions(run.verdicts, proofs)
        proved = with_proofs(run.verdicts, with_established_premise(proofs, run.exploration))
        pairs[position] = record, replace(run, verdicts=proved)
    return pairs, False


# --------------------------------------------------------------------------------------------- the whole matrix as text


def details(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> str:
    """Return the whole matrix as text: cells, bounds, depths of the runs, proofs, traces, and the comparison."""
    rows = _rows(records, pairs)
    lines = [*tables(rows, WIDEST, ABSENT), ""]
    if absent := [name for name, *cells in rows if all(cell == ABSENT for cell in cells)]:
        lines += [f"{ABSENT} everywhere: {', '.join(absent)}"]
    lines += [*_bounds(records), *_configurations(records), *_reaches(records, pairs), *_proofs(pairs)]
    for record, run in pairs:
        lines += ["", *_run_lines(record, run)]
    return "\n".join([*lines, "", *changed_lines(records), CLOSING[worst(records, pairs)]])


def _rows(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> list[list[str]]:
    cells = {(prop.name, record.column): NOT_SEARCHED for record in records for prop in promised(record)}
    for record, run in pairs:
        for verdict in run.verdicts:
            if verdict.prop.kind is not Kind.SOMETIMES:
                mark = mark_of(judge(record, run, verdict), verdict)
                cells[verdict.prop.name, record.column] = cell(verdict, run) + (f"  <- {mark}" if mark else "")
    columns, rows = arrange(records, cells, "")
    return [["", *columns], *([name, *row] for name, row in rows)]


def _bounds(records: Sequence[RecordedRun]) -> list[str]:
    """Return lines with the default bounds: sizes, client settings, budgets of faults, but no protocol switches."""
    usual = {record.column: record.instance.model.instance(record.instance.protocol.name) for record in records}
    spelled = [
        (", ".join(f"{name}={value}" for name, value in configuration_of(one).items() if not name.isupper()), column)
        for column, one in usual.items()
    ]
    groups = grouped(spelled)
    where = "of every cell" if len(groups) == 1 else "in {}"
    return [f"bounds {where.format(', '.join(columns))}: {bounds}" for bounds, columns in groups.items()]


def _configurations(records: Sequence[RecordedRun]) -> list[str]:
    differing = [record for record in records if record.differs]
    groups = grouped(((_judged_names(record), record.differs), record.column) for record in differing)
    return [f"{names}: {differs} in {', '.join(columns)}" for (names, differs), columns in groups.items()]


def _judged_names(record: RecordedRun) -> str:
    return (", ".join(prop.name for prop in promised(record)) or record.name) if record.name else "all others"


def _reaches(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> list[str]:
    whole = [
        f"{record.title} ({counted(run.explored.distinct, 'state')})" for record, run in pairs if run.explored.exhausted
    ]
    reached = [(_far(run.explored), record.title) for record, run in pairs if not run.explored.exhausted]
    groups = grouped([*reached, *(("not searched", record.title) for record in records[len(pairs) :])])
    lines = [f"exhaustive: {'; '.join(whole) or 'none'}"]
    partial = [f"{', '.join(titles)} ({far})" for far, titles in groups.items()]
    return [*lines, f"not exhaustive: {'; '.join(partial)}"] if partial else lines


def _far(exploration: Exploration) -> str:
    why = WHY_STOPPED.get(exploration.stopped or "")
    return f"to depth {exploration.judged}" + (f": {why}" if why else "")


def _proofs(pairs: Sequence[Pair]) -> list[str]:
    judged_in = [(record, verdict) for record, run in pairs for verdict in run.verdicts]
    scopes = grouped(
        ((record.column, scope(record.instance, verdict.proof)), verdict.prop.name)
        for record, verdict in judged_in
        if verdict.proof is not None
    )
    proved = grouped(((", ".join(names), bounds), column) for (column, bounds), names in scopes.items())
    lines = [f"proved {names} in {', '.join(columns)}: {bounds}" for (names, bounds), columns in proved.items()]
    unattempted = grouped((one.prop.name, record.column) for record, one in judged_in if one.is_unattempted)
    left = [f"{name} in {', '.join(columns)}" for name, columns in unattempted.items()]
    return [*lines, *([f"{NOT_ATTEMPTED}: {'; '.join(left)}"] if left else [])]


def _run_lines(record: RecordedRun, run: Run) -> list[str]:
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


# ----------------------------------------------------------------------------------------------------------- the object


def as_objects(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the object for `--json`: runs, cells, the gravest difference from the record, the gravest verdict."""
    words = {run.word for _, run in pairs}
    if len(pairs) < len(records):
        words.add(Word.UNDECIDED)
    return {
        "runs": [{"name": record.name or None} | as_object(run) for record, run in pairs],
        "cells": [
            _cell_object(record, run, verdict, match)
            for record, run in pairs
            for verdict, match in zip(run.verdicts, judged(record, run), strict=True)
            if match is not None
        ],
        "record": worst(records, pairs).value,
        "verdict": next(word for word in Word if word in words).value,
    }


def _cell_object(record: RecordedRun, run: Run, verdict: Verdict, match: Match) -> dict[str, Any]:
    return {
        "model": record.instance.model.name,
        "protocol": record.instance.protocol.name,
        "run": record.name or None,
        "property": verdict.prop.name,
        "verdict": verdict.word.value,
        "depth": verdict.depth,
        "exhaustive": run.explored.exhausted,
        "proof": _proof_word(verdict),
        "record": match.value,
    }


def _proof_word(verdict: Verdict) -> str | None:
    if verdict.proof is not None:
        return "every length" if verdict.proof.every_length else "any depth"
    return "not proved" if verdict.is_unproved else "not attempted" if verdict.is_unattempted else None
