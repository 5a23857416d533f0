"""`check sweep`: searches every configuration of a sweep, here or on Spark, except those that an earlier run finished.

In:  `Options`, and a session.
Out: a `CommandResult` whose `found` is a `SweepTable`.
"""

from __future__ import annotations

import sys

from isrcheck.checker.command.form import Options
from isrcheck.checker.outcome.verdict import exit_code
from isrcheck.checker.session import naming
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.checker.sweep import table
from isrcheck.checker.sweep.axes import read_sweep
from isrcheck.checker.sweep.cases import cases_of, run_cases_here
from isrcheck.checker.sweep.results_file import ResultsFile, described
from isrcheck.checker.tables.write import Tables
from isrcheck.models.messages import escaped


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search every configuration. Raises UsageError, SparkLostError."""
    sweep = read_sweep(options)
    cases, answers = cases_of(sweep, options)
    tables = Tables(options.tables)
    results = ResultsFile(options.out, described(sweep, cases), frozenset(case.position for case in cases))
    if results.done:
        print(
            f"resuming from {escaped(str(results.path))}: {len(results.done)} of {len(cases)} searches are done",
            file=sys.stderr,
        )
    progress = ProgressLine(naming.title(sweep.instances[0]))
    traces = TraceWriter(options.out)
    try:
        if options.engine == "spark":
            from isrcheck.checker.spark.session import spark_session
            from isrcheck.checker.sweep.on_spark import run_cases_on_spark  # needs Spark's packages

            with spark_session(options.spark.session, progress.announce) as spark:
                carry = run_cases_on_spark(spark, progress, len(cases), session.budget)
                found = table.search(sweep, cases, answers, carry, results, traces, session.budget)
        else:
            carry = run_cases_here(progress, session.seen, len(cases), session.budget)
            found = table.search(sweep, cases, answers, carry, results, traces, session.budget)
    finally:
        progress.clear()
        results.close()
    for searched in found.runs:
        tables.write(searched)
    return CommandResult(
        table.text(found),
        table.as_objects(found),
        exit_code(found.word, strict=options.strict, found=found.verdicts),
        traces.failure or results.failure or tables.failure,
        found.stopped or tables.is_interrupted,
        found,
    )
