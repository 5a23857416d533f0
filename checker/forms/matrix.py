"""`check` alone: checks every generation against every property, and compares with the recorded verdicts.

In:  `Options`, and a session.
Out: a `CommandResult` whose `found` is a `MatrixFound` (checker/analyses/matrix.py).
"""

from __future__ import annotations

from isrcheck.checker.analyses import matrix
from isrcheck.checker.analyses.matrix_proofs import prove_matrix
from isrcheck.checker.command.options import Options
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.screens import generations, matrix_tables
from isrcheck.checker.screens.history import look_of_output
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, UNEXPECTED, VIOLATED

CODES = {
    matrix.Match.NEW: VIOLATED,
    matrix.Match.MISSING: UNEXPECTED,
    matrix.Match.STALE: UNEXPECTED,
    matrix.Match.OPEN: UNDECIDED,
    matrix.Match.SAME: SAFE,
}
"""The exit code of the matrix for its gravest comparison with the record."""


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search every recorded instance and compare. Raises KeyboardInterrupt if interrupted before the first result."""
    traces = TraceWriter(options.output.folder)
    records = matrix.recorded()
    pairs: list[matrix.Pair] = []
    stopped = False
    for position, record in enumerate(records):
        within = record.limits(session.budget.limits(options.limits), len(records) - position)
        target = record.instance.model.name
        try:
            run = session.run(record.instance, target, traces, limits=within, only=record.judges, count_all=True)
        except KeyboardInterrupt:
            if not pairs:
                raise
            stopped = True
            break
        pairs.append((record, record.only_judged(run)))
        stopped = was_interrupted([run.exploration])
        if stopped:
            break
    if not stopped:
        pairs, stopped = prove_matrix(session, pairs)
    code = CODES[matrix.worst(records, pairs)]
    found = [verdict.word for _, run in pairs for verdict in run.verdicts]
    if code == SAFE and options.output.strict and Word.PERMITTED in found:
        code = VIOLATED
    details = text = matrix_tables.details(records, pairs)
    if not options.output.details:
        text = generations.text(records, pairs, options.words, look_of_output().width)
    return CommandResult(
        *(text, matrix.as_objects(records, pairs), code, traces.failure, stopped),
        matrix.MatrixFound(records, pairs),
        details,
    )
