"""The command `check`: the one place where engines, reports and traces are put together.

In:  the words that a person typed. Out: text or JSON on stdout, progress and errors on stderr, an exit code.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from isrcheck.checker.analyses import matrix, mutate, published
from isrcheck.checker.analyses.matrix_proofs import prove_matrix
from isrcheck.checker.command.console import give_up_stdout, interrupts, prepare_streams
from isrcheck.checker.command.options import Options, instance_of, read_options
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.kafka_config import answer
from isrcheck.checker.kafka_config.availability import AVAILABILITY_SHARE, search_availability
from isrcheck.checker.kafka_config.cluster_plan import PATIENCE, PROMISE, SECONDS, ClusterPlan, PlannedSearch, read_plan
from isrcheck.checker.kafka_config.properties_file import PropertiesError
from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.exploration import Exploration, Progress
from isrcheck.checker.outcome.verdict import (
    DISAGREE,
    INTERRUPTED,
    SAFE,
    UNDECIDED,
    UNEXPECTED,
    USAGE,
    VIOLATED,
    WHY_STOPPED,
    Word,
    exit_code,
    verdicts,
)
from isrcheck.checker.reports import folder as reports
from isrcheck.checker.reports import gather
from isrcheck.checker.reports.content import ReportContent
from isrcheck.checker.reports.gather import PrintedAnswer
from isrcheck.checker.resources.budget import Budget, Spent
from isrcheck.checker.resources.formula_budget import Memory
from isrcheck.checker.session import naming
from isrcheck.checker.session import text as report
from isrcheck.checker.session.beginning import begin
from isrcheck.checker.session.formatting import counted
from isrcheck.checker.session.formatting import table as table_lines
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.session.reproduce import command_of
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.checker.spark.runtime.faults import SparkLostError
from isrcheck.checker.spark.runtime.session import spark_session
from isrcheck.checker.sweep import table
from isrcheck.checker.sweep.axes import read_sweep
from isrcheck.checker.sweep.cases import cases_of, run_cases_here
from isrcheck.checker.sweep.results_file import ResultsFile, described
from isrcheck.checker.tables.write import Tables
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped, escaped_lines
from isrcheck.traces.terminal.show import view


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `check`; returns its exit code. `began` is when the command was started, in time.monotonic's time (now)."""
    began = time.monotonic() if began is None else began
    prepare_streams()
    with interrupts() as seen:
        try:
            return _guarded(sys.argv[1:] if words is None else words, seen, began)
        finally:
            Memory.lift()


def _guarded(words: Sequence[str], seen: list[int], began: float) -> int:
    """Run `check`, and turn whatever goes wrong into one line and an exit code."""
    try:
        code = _run(read_options(words), seen, began)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # --help: what it printed may still wait to be taken
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            give_up_stdout()
        return int(end.code or 0)
    except (UsageError, PropertiesError) as error:
        return _complain(str(error))
    except SparkLostError as error:
        _complain(str(error))
        return UNDECIDED
    except KeyboardInterrupt:
        print("check: interrupted before anything was found", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        return _complain("this machine does not give that much memory; ask for less with --memory")
    except OSError as error:
        give_up_stdout()
        return _complain(f"{error.filename or 'output'}: {error.strerror}; make room, or write elsewhere")
    except AssertionError as error:
        # The kernel and the reference have to agree; this is an error of ours, never the user's.
        print(f"check: the engines disagree, which is an error in isrcheck: {escaped(str(error))}", file=sys.stderr)
        return DISAGREE


def _complain(message: str) -> int:
    print(f"check: {escaped(message)}", file=sys.stderr)
    return USAGE


def _run(options: Options, seen: list[int], began: float) -> int:
    seconds = options.limits.seconds
    if (options.config or options.describe) and seconds is None:
        seconds = SECONDS
    budget = Budget(seconds, options.limits.memory, began)
    if options.report is not None:
        reports.begin(options.report, shlex.join(options.words))
    searches = SearchSession(options.limits, budget, seen, count_all=options.count_all, spark=options.spark)
    if options.mutates:
        return _mutate(options, searches)
    if options.sweeps:
        return _sweep(options, seen, budget)
    if options.graph is not None:
        return _graph(options, searches)
    if options.config or options.describe:
        return _answer_configuration(options, searches)
    if options.target is None:
        return _matrix(options, searches)
    if options.target == "published" and options.protocol is None:
        return _published(options, searches)
    return _one_model(options, searches)


def _finish(
    options: Options,
    text: str,
    content: Mapping[str, Any],
    traces: TraceWriter,
    code: int,
    stopped: bool,
    tell: Callable[[PrintedAnswer], ReportContent] | None = None,
) -> int:
    try:
        print(json.dumps(content, indent=2) if options.as_json else escaped_lines(text), flush=True)
    except BrokenPipeError:
        give_up_stdout()
    if stopped:
        print("check: interrupted; this is what was found so far", file=sys.stderr)
    if traces.failure:
        _complain(traces.failure)
    code = INTERRUPTED if stopped else USAGE if traces.failure else code
    if options.report is None or tell is None:
        return code
    words = shlex.join(options.words)
    told = partial(_told, tell, PrintedAnswer(words, text), code, stopped, traces.failure)
    try:
        failure = reports.write(options.report, told)
    except KeyboardInterrupt:
        return _complain(f"{options.report}: interrupted before the report was written") and INTERRUPTED
    if failure:
        _complain(failure)
        return INTERRUPTED if stopped else USAGE
    return code


def _told(
    tell: Callable[[PrintedAnswer], ReportContent], printed: PrintedAnswer, code: int, stopped: bool, failure: str
) -> ReportContent:
    return replace(tell(printed), code=code, is_cut=stopped, failure=failure)


def _was_interrupted(explorations: Sequence[Exploration | BmcResult]) -> bool:
    return any(exploration.stopped == "interrupt" for exploration in explorations)


def _parts(run: Run) -> list[Exploration | BmcResult]:
    """Everything that an interrupt may have cut short."""
    return [run.exploration, *([run.second] if run.second is not None else [])]


def _one_model(options: Options, searches: SearchSession) -> int:
    assert options.target is not None
    instance = instance_of(options)
    traces, tables = TraceWriter(options.out), Tables(options.tables)
    if options.engine == "z3":
        run = searches.run_z3(instance, options.target, traces)
    elif options.engine == "spark":
        with spark_session(options.spark.session, ProgressLine("").announce) as session:
            run = searches.run_on_spark(session, instance, options.target, traces)
    else:
        run = searches.run(instance, options.target, traces, limits=options.limits, keep_states=options.prove)
    if options.engine == "all":
        run = searches.compare_with_z3(run)
    if options.counterexamples is not None:
        run = searches.find_distinct_causes(run, options.counterexamples, options.target, traces)
    if options.prove:
        run = searches.prove(run, traces)
    if run.spread is not None and run.spread.lost:
        print(f"check: {escaped(run.spread.lost)}", file=sys.stderr)
    tables.write(run)
    traces.failure = traces.failure or tables.failure
    content = {"runs": [report.as_object(run)], "verdict": run.word.value}
    code = exit_code(run.word, strict=options.strict, found=run.verdicts)
    stopped = _was_interrupted(_parts(run)) or any(one.stopped == "interrupt" for one in run.different)
    stopped = stopped or (run.proving is not None and run.proving.proofs.stopped == "interrupt")
    return _finish(
        *(options, report.text(run), content, traces, code, stopped or tables.is_interrupted),
        lambda printed: gather.of_run(printed, run, strict=options.strict),
    )


def _mutate(options: Options, searches: SearchSession) -> int:
    assert options.target is not None
    instance = instance_of(options)
    progress = ProgressLine(naming.title(instance))

    def compiled(one: Instance) -> Kernel:
        # Anew for each: mutants of a model have its name and its digest.
        kernel = begin(one, searches.budget, kernel_of, progress).kernel
        if searches.seen:
            raise KeyboardInterrupt
        return kernel

    def progress_of(candidate: mutate.Candidate) -> Callable[[Progress], None]:
        progress.subject = f"{candidate.action} without {candidate.place}"
        return progress.report

    command = command_of(options.target, instance, options.bound)
    try:
        original = mutate.search_original(instance, options.limits, compiled, progress.report, searches.budget)
    except Spent as spent:
        cut = Exploration.without_beginning(instance, options.limits, spent.why)
        original = mutate.Original(cut, {}, [], spent.why)
    run = Run(original.exploration, verdicts(original.exploration), command)
    found: list[mutate.Judgement] = []
    stopped = False
    try:
        for judgement in mutate.judgements(original, command.replace(" ", " mutate ", 1), progress_of, searches.budget):
            found.append(judgement)  # noqa: PERF402 - what was found before an interruption counts
    except KeyboardInterrupt:
        stopped = True
    progress.clear()
    is_cut = (
        bool(original.cut)
        or not original.exploration.is_complete
        or any(one.fate is mutate.Fate.UNDECIDED for one in found)
    )
    content = mutate.objects(run, original, found)
    text = mutate.text(run, original, found)
    return _finish(options, text, content, TraceWriter(options.out), UNDECIDED if is_cut else SAFE, stopped)


def _sweep(options: Options, seen: list[int], budget: Budget) -> int:
    asked = read_sweep(options)
    cases, answers = cases_of(asked, options)
    tables = Tables(options.tables)
    results = ResultsFile(options.out, described(asked, cases), frozenset(case.position for case in cases))
    if results.done:
        print(
            f"taking up {escaped(str(results.path))}: {len(results.done)} of {len(cases)} searches are done",
            file=sys.stderr,
        )
    progress = ProgressLine(naming.title(asked.instances[0]))
    traces = TraceWriter(options.out)
    try:
        if options.engine == "spark":
            from isrcheck.checker.sweep.on_spark import run_cases_on_spark  # here, for it needs Spark's packages

            with spark_session(options.spark.session, progress.announce) as session:
                run_cases = run_cases_on_spark(session, progress, len(cases), budget)
                found = table.search(asked, cases, answers, run_cases, results, traces, budget)
        else:
            run_cases = run_cases_here(progress, seen, len(cases), budget)
            found = table.search(asked, cases, answers, run_cases, results, traces, budget)
    finally:
        progress.clear()
        results.close()
    for run in found.runs:
        tables.write(run)
    traces.failure = traces.failure or results.failure or tables.failure
    code = exit_code(found.word, strict=options.strict, found=found.verdicts)
    stopped = found.stopped or tables.is_interrupted
    return _finish(
        *(options, table.text(found), table.as_objects(found), traces, code, stopped),
        lambda printed: gather.of_sweep(printed, found, strict=options.strict),
    )


def _graph(options: Options, searches: SearchSession) -> int:
    from isrcheck.checker.graph.files import text, write_graph
    from isrcheck.checker.graph.state_graph import (  # here, for networkx takes a while to load
        CutShortError,
        state_graph,
        summary,
    )

    assert options.graph is not None
    asked, instance = options.graph, instance_of(options)
    progress = ProgressLine(naming.title(instance))
    try:
        kernel = searches.begin(instance, progress).kernel
        limits = searches.budget.limits(options.limits)
        with searches.budget.kept():
            drawn = state_graph(instance, limits, kernel, asked, progress.report)
    except Spent as spent:
        return _finish_cut(options, f"{WHY_STOPPED[spent.why]}; nothing was drawn")
    except CutShortError as cut:
        return _finish_cut(options, str(cut))
    finally:
        progress.clear()
    write_graph(drawn, asked.path, force=asked.force)
    content = summary(drawn) | {"file": str(asked.path)}
    return _finish(options, text(drawn, asked.path), content, TraceWriter(options.out), SAFE, False)


CODES = {
    matrix.Match.NEW: VIOLATED,
    matrix.Match.MISSING: UNEXPECTED,
    matrix.Match.STALE: UNEXPECTED,
    matrix.Match.OPEN: UNDECIDED,
    matrix.Match.SAME: SAFE,
}
"""What the matrix exits with, by the gravest of its comparisons."""


def _finish_cut(options: Options, why: str) -> int:
    """A limit was met before there was anything to show."""
    content = {"runs": [], "verdict": Word.UNDECIDED.value, "why": why}
    return _finish(options, f"{Word.UNDECIDED.value}: {why}", content, TraceWriter(options.out), UNDECIDED, False)


def _matrix(options: Options, searches: SearchSession) -> int:
    traces = TraceWriter(options.out)
    records = matrix.recorded()
    pairs: list[matrix.Pair] = []
    stopped = False
    for position, record in enumerate(records):
        limits = record.limits(searches.budget.limits(options.limits), len(records) - position)
        target = record.instance.model.name
        try:
            run = searches.run(record.instance, target, traces, limits=limits, only=record.judges, count_all=True)
        except KeyboardInterrupt:
            if not pairs:
                raise
            stopped = True
            break
        pairs.append((record, record.only_judged(run)))
        stopped = _was_interrupted([run.exploration])
        if stopped:
            break
    if not stopped:
        pairs, stopped = prove_matrix(searches, pairs)
    worst = matrix.worst(records, pairs)
    code = CODES[worst]
    found = [verdict.word for _, run in pairs for verdict in run.verdicts]
    if code == SAFE and options.strict and Word.PERMITTED in found:
        code = VIOLATED
    content = matrix.as_objects(records, pairs)
    return _finish(
        *(options, matrix.text(records, pairs), content, traces, code, stopped),
        lambda printed: gather.of_matrix(printed, records, pairs, strict=options.strict),
    )


def _published(options: Options, searches: SearchSession) -> int:
    if options.bound is not None:
        raise UsageError("check published compares whole state spaces: leave --bound out, or name one model")
    lines = [[*published.SIZES, *published.FIGURES]]
    lines[0].insert(0, "variant")
    runs, stopped, differing, broken, cut = [], False, 0, 0, False
    rows = list(published.rows())

    def explored(row: published.PublishedRow) -> Exploration:
        return searches.explore(row.instance(), options.limits, count_all=True, subject=row.title)

    for row in rows:
        try:
            exploration, ours = published.compare(row, explored)
        except KeyboardInterrupt:
            cut = stopped = True
            break
        run = Run(
            exploration, verdicts(exploration), command_of(f"published/{row.variant}", row.instance(), None), True
        )
        runs.append(report.as_object(run) | {"figures": ours, "tlc": row.figures})
        if not exploration.is_complete:
            cut = True
            stopped = stopped or exploration.stopped == "interrupt"
            if stopped:
                break
            continue
        differing += ours != row.figures
        broken += IN_RANGE.name in exploration.findings
        lines.append(published.line(row, ours))
    same = len(lines) - 1 - differing
    closing = f"{same} of {len(rows)} rows equal TLC's figures (ours = TLC's; states@level of the first violation)"
    if cut:
        closing = f"UNDECIDED: {closing}; at least one row was cut short"
    if broken:
        closing = f"VIOLATED: {counted(broken, 'row')} break {IN_RANGE.name}, of which TLC knows nothing; {closing}"
    code = VIOLATED if broken else UNEXPECTED if differing else UNDECIDED if cut else SAFE
    words = {SAFE: "as published", UNDECIDED: Word.UNDECIDED.value, VIOLATED: Word.VIOLATED.value}
    verdict = words.get(code, "differs")
    text = "\n".join([*table_lines(lines), "", closing])
    return _finish(options, text, {"runs": runs, "verdict": verdict}, TraceWriter(options.out), code, stopped)


def _answer_configuration(options: Options, searches: SearchSession) -> int:
    asked = read_plan(options.config, options.kafka_version, options.describe, options.topic_name)
    traces, aside_traces = TraceWriter(options.out), TraceWriter(options.out)
    if asked.protocol is None:
        return _finish_refused(options, asked, traces, stopped=False)
    is_free = not options.seconds_given and options.bound is None
    main_part, *other_parts = asked.deciding()
    # The others leave a tenth at least to the cluster as it is configured, which has all that is left when it begins.
    seconds = searches.budget.left or 0.0
    seconds *= min(1.0, 0.9 / (AVAILABILITY_SHARE + sum(one.share for one in (*asked.side_searches(), *other_parts))))

    def search(part: PlannedSearch, into: TraceWriter, share: float | None, **more: Any) -> answer.FinishedSearch:
        limits = replace(options.limits, seconds=share)
        run = searches.run(part.instance, "kafka", into, limits=limits, only=part.only, **more)
        if part is not main_part and run.exploration.stopped == "interrupt":
            raise KeyboardInterrupt
        return part, run

    try:
        asides = [
            search(one, aside_traces, one.share * seconds, want_permitted=PROMISE in one.only)
            for one in asked.side_searches()
        ]
        availability = search_availability(asked, searches.from_one, seconds * AVAILABILITY_SHARE)
        others = [search(one, traces, one.share * seconds) for one in other_parts]
    except KeyboardInterrupt:
        cut = replace(asked, protocol=None, why_undecided="it was interrupted before the cluster itself was searched")
        return _finish_refused(options, cut, traces, stopped=True)
    main_run = search(main_part, traces, None, patience={PROMISE: PATIENCE} if is_free else {})
    found = answer.Answer(asked, [main_run, *others], asides, availability)
    told = next((traces.shortest[name] for name in found.decisive_properties if name in traces.shortest), None)
    history = "" if told is None else "\n".join(view(told))
    traces.failure = traces.failure or aside_traces.failure
    stopped = _was_interrupted([main_run[1].exploration])
    code = found.code(strict=options.strict)
    return _finish(
        *(options, answer.text(found, history), answer.answer_object(found), traces, code, stopped),
        lambda printed: gather.of_answer(printed, found, strict=options.strict),
    )


def _finish_refused(options: Options, asked: ClusterPlan, traces: TraceWriter, *, stopped: bool) -> int:
    """Of this cluster nothing was searched that decides."""
    return _finish(
        *(options, answer.refusal(asked), answer.refusal_object(asked), traces, UNDECIDED, stopped),
        lambda printed: gather.of_refusal(printed, asked),
    )
