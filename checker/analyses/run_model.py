"""`check MODEL`: one model in detail, by the engine that was asked for.

In:  a session, and a `ModelRequest`.
Out: a `CommandResult`; what was found is a `Run`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.outcome.verdict import exit_code
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.session import text as report
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.checker.session.trace_writer import Traces
from isrcheck.checker.spark.runtime.spark_options import SparkOptions
from isrcheck.checker.tables.write import Tables
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.printable import escaped


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """What is asked of one model. `target` is the name by which it was asked for."""

    target: str
    instance: Instance
    limits: Limits
    engine: str
    prove: bool
    counterexamples: int | None
    strict: bool
    out: Path
    tables: Path | None
    spark: SparkOptions


def run_model(session: SearchSession, request: ModelRequest) -> CommandResult:
    """Search the model, and do what else was asked for. Raises SparkLostError."""
    traces, tables = Traces(request.out), Tables(request.tables)
    run = _searched(session, request, traces)
    if request.engine == "all":
        run = session.compare(run)
    if request.counterexamples is not None:
        run = session.differ(run, request.counterexamples, request.target, traces)
    if request.prove:
        run = session.prove(run, traces)
    if run.spread is not None and run.spread.lost:
        print(f"check: {escaped(run.spread.lost)}", file=sys.stderr)
    tables.write(run)
    stopped = was_interrupted([run.exploration, run.second])
    stopped = stopped or any(one.stopped == "interrupt" for one in run.different)
    stopped = stopped or (run.proving is not None and run.proving.proofs.stopped == "interrupt")
    return CommandResult(
        report.text(run),
        {"runs": [report.as_object(run)], "verdict": run.word.value},
        exit_code(run.word, strict=request.strict, found=run.verdicts),
        traces.failure or tables.failure,
        stopped or tables.is_interrupted,
        run,
    )


def _searched(session: SearchSession, request: ModelRequest, traces: Traces) -> Run:
    if request.engine == "z3":
        return session.unroll(request.instance, request.target, traces)
    if request.engine == "spark":
        from isrcheck.checker.spark.runtime.session import spark_session

        with spark_session(request.spark, ProgressLine("").announce) as spark:
            return session.spread(spark, request.instance, request.target, traces)
    return session.run(request.instance, request.target, traces, limits=request.limits, keep_states=request.prove)
