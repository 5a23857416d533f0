"""`check MODEL`: checks one model with the selected engine.

In:  `Options`, and a session.
Out: a `CommandResult` whose `found` is a `Run`.
"""

from __future__ import annotations

import sys

from isrcheck.checker.command.form import Options
from isrcheck.checker.command.options import instance_of
from isrcheck.checker.outcome.verdict import exit_code
from isrcheck.checker.screens import one_model
from isrcheck.checker.screens.history import look_of_output
from isrcheck.checker.session import text as report
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.session import EVERY_STATE, AskedReduction, SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.checker.tables.write import Tables
from isrcheck.models.messages import UsageError, escaped


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model; compare engines, prove, write tables as the options say. Raises UsageError, SparkLostError."""
    assert options.target is not None
    if options.own["simulate"] is not None:
        from isrcheck.checker.forms import simulation

        return simulation.run(options, instance_of(options), session)
    traces, tables = TraceWriter(options.out), Tables(options.tables)
    found = _searched(session, options, options.target, traces)
    if options.engine == "all":
        found = session.compare_with_z3(found)
    if options.counterexamples is not None:
        found = session.find_distinct_causes(found, options.counterexamples, options.target, traces)
    if options.prove:
        found = session.prove(found, traces)
    if found.spread is not None and found.spread.lost:
        print(f"check: {escaped(found.spread.lost)}", file=sys.stderr)
    if found.disk is not None and found.disk.lost:
        print(f"check: {escaped(found.disk.lost)}", file=sys.stderr)
    tables.write(found)
    stopped = was_interrupted([found.exploration, found.second])
    stopped = stopped or any(one.stopped == "interrupt" for one in found.different)
    stopped = stopped or (found.proving is not None and found.proving.proofs.stopped == "interrupt")
    details = report.text(found)
    return CommandResult(
        details if options.own["details"] else one_model.text(found, options.words, look_of_output()),
        {"runs": [report.as_object(found)], "verdict": found.word.value},
        exit_code(found.word, strict=options.strict, found=found.verdicts),
        traces.failure or tables.failure,
        stopped or tables.is_interrupted,
        found,
        details,
    )


def _searched(session: SearchSession, options: Options, target: str, traces: TraceWriter) -> Run:
    instance = instance_of(options)
    if options.counterexamples is not None and instance.model.constraints:
        raise UsageError(
            f"{instance.model.name} has a @constraint, and causes outside it are not compared;"
            " leave --counterexamples out"
        )
    reduction = _reduction(options)
    if options.engine == "z3":
        return session.run_z3(instance, target, traces)
    if options.engine == "spark":
        from isrcheck.checker.spark.session import spark_session

        with spark_session(options.spark.session, ProgressLine("").announce) as spark:
            return session.run_on_spark(spark, instance, target, traces, reduction)
    if options.on_disk is not None:
        return session.run_on_disk(options.on_disk, instance, target, traces, reduction)
    return session.run(instance, target, traces, limits=options.limits, keep_states=options.prove, reduction=reduction)


def _reduction(options: Options) -> AskedReduction:
    """Whether and how the search makes its states fewer. Raises UsageError."""
    if options.symmetry:
        for option, is_given, why in (
            ("--no-reduction", options.no_reduction, "which switches it off"),
            ("--continue", options.count_all, "which counts every violating state"),
            ("--prove", options.prove, "which compares lemmas with every state"),
            ("--tables", options.tables is not None, "which lists counts of all states"),
            ("--engine z3", options.engine == "z3", "which visits no states"),
        ):
            if is_given:
                raise UsageError(f"--symmetry does not go with {option}, {why}; leave one of them out")
    if options.no_reduction:
        return AskedReduction.switched_off()
    if options.engine == "z3":
        return EVERY_STATE
    needs = {
        "--continue counts every violating state": options.count_all,
        "--prove compares lemmas with every state": options.prove,
        "--tables lists counts of all states": options.tables is not None,
    }
    whole = next((why for why, is_given in needs.items() if is_given), "")
    return AskedReduction.by_default(symmetry=options.symmetry, whole=whole)
