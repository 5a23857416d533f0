"""`check MODEL`: checks one model with the selected engine, and shows the result as one screen.

Out: a `CommandResult` whose `found` is a `Run` (with `--simulate`: a `SimulationRun`). The screen shows what was
     checked, the verdict, a history and the next commands. With `--details`, checker/results/run.py shows more.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from isrcheck.checker.command.options import Options
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.resources.limits import Spent
from isrcheck.checker.results import run as report
from isrcheck.checker.results.exploration import BmcResult
from isrcheck.checker.results.instance_facts import introduction
from isrcheck.checker.results.run import CommandResult, Run, never_fired, range_lines, search_summary, verdict_line
from isrcheck.checker.results.terminal import ProgressLine, counted, grouped, width_of_output, wrapped
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word, exit_code
from isrcheck.checker.running.proofs import Proving
from isrcheck.checker.running.session import AskedReduction, SearchSession, reduction_for
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.commands.settings import instance_of
from isrcheck.models.language.declarations import INDUCTIVE
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format.files import DEFAULT
from isrcheck.traces.format.trace import PERMITTED, Trace, heading, says
from isrcheck.traces.kafka.failures import permitting
from isrcheck.traces.kafka.lanes import BASICS, is_kafka
from isrcheck.traces.lanes.table import UNCHANGED, Look
from isrcheck.traces.lanes.table import wrapped as wrapped_words
from isrcheck.traces.terminal.show import legend, step_table, told

GRAVEST_FIRST = (Word.VIOLATED, Word.PERMITTED)
"""The verdicts that a history shows."""

MOST_ABSENT = 3
"""The most properties that are named although they do not apply to the configuration."""

NEEDED = 4
"""How many signs of BASICS are always explained: almost every history of Kafka has the first ones."""

MOST_SHOWN = 2
"""The most traces that the next commands name; if there are more, they name only the first trace and the folder."""

FURTHER = 2
"""How many steps deeper the proposed further search goes."""

Command = tuple[str, str]
"""A proposed command, and a text that says what it does."""


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model; compare engines, prove, write tables if options say so. Raises UsageError, SparkLostError."""
    assert options.model.target is not None
    if options.own["simulate"] is not None:
        return _simulated(options, options.model.target, session)
    traces, tables = TraceWriter(options.output.folder), None
    if options.output.tables is not None:
        from isrcheck.checker.tables.write import Tables  # imported here because few commands write tables

        tables = Tables(options.output.tables)
    searched = _searched(session, options, options.model.target, traces)
    if options.search.engine == "all":
        searched = session.compare_with_z3(searched)
    if options.search.counterexamples is not None:
        searched = session.find_distinct_causes(searched, options.search.counterexamples, options.model.target, traces)
    if options.search.prove:
        searched = session.prove(searched, traces)
    for part in searched.parts:
        if part.lost:
            print(f"check: {escaped(part.lost)}", file=sys.stderr)
    if tables is not None:
        tables.write(searched)
    details = report.text(searched)
    look = Look(width_of_output(), fits=sys.stdout.isatty())
    return CommandResult(
        details if options.output.details else text(searched, options.words, look),
        {"runs": [report.as_object(searched)], "verdict": searched.word.value},
        exit_code(searched.word, strict=options.output.strict, found=searched.verdicts),
        traces.failure or (tables.failure if tables else ""),
        searched.is_interrupted or (tables is not None and tables.is_interrupted),
        searched,
        details,
    )


def _simulated(options: Options, target: str, session: SearchSession) -> CommandResult:
    from isrcheck.checker.running import simulation  # imported here because few commands simulate
    from isrcheck.checker.simulation.walks import SimulationRequest

    instance, own = instance_of(options.model), options.own
    weights = simulation.weights_of(own["weight"], instance)
    request = SimulationRequest(own["simulate"], own["depth"], own["seed"] or 0, options.limits.deadlock, weights)
    traces = TraceWriter(options.output.folder)
    try:
        result = simulation.simulated(instance, target, request, session, traces)
    except Spent as spent:
        return CommandResult.without_answer(f"the simulation did not begin: {spent.why}")
    return CommandResult(
        simulation.text(result),
        simulation.as_object(result),
        simulation.exit_code_of(result, strict=options.output.strict),
        traces.failure,
        result.simulation.stopped == "interrupt",
        result,
    )


def _searched(session: SearchSession, options: Options, target: str, traces: TraceWriter) -> Run:
    instance = instance_of(options.model)
    if options.search.counterexamples is not None and instance.model.constraints:
        raise UsageError(
            f"--counterexamples does not go with a @constraint, which {instance.model.name} has: causes outside the"
            " constraint are not compared; leave --counterexamples out"
        )
    reduction = _reduction(options)
    if options.search.engine == "z3":
        return session.run_z3(instance, target, traces)
    if options.search.engine == "spark":
        from isrcheck.checker.spark.session import spark_session

        with spark_session(options.search.spark.session, ProgressLine("").announce) as spark:
            return session.run_on_spark(spark, instance, target, traces, reduction)
    if options.search.disk is not None:
        return session.run_on_disk(options.search.disk, instance, target, traces, reduction)
    return session.run(
        instance, target, traces, limits=options.limits, keep_states=options.search.prove, reduction=reduction
    )


def _reduction(options: Options) -> AskedReduction:
    search = options.search
    needs = (
        ("--no-reduction", search.no_reduction, "switches it off"),
        ("--continue", search.count_all, "counts every violating state"),
        ("--prove", search.prove, "compares lemmas with every state"),
        ("--tables", options.output.tables is not None, "lists counts of all states"),
        ("--engine z3", search.engine == "z3", "visits no states"),
    )
    visits_states, is_off = search.engine != "z3", search.no_reduction
    return reduction_for(needs, "--symmetry", is_symmetric=search.symmetry, is_off=is_off, visits_states=visits_states)


# ----------------------------------------------------------------------------------------------------------- the screen


def text(run: Run, words: Sequence[str], look: Look) -> str:
    """Return the text of the screen. `words` are the words of the current command, which some next commands repeat."""
    width = look.width
    lines = [*_checked(run, width), "", *_judged(run, width), *range_lines(run.verdicts)]
    lines += _warnings(run, width)
    lines += [line for part in run.parts for line in part.screen_lines(run, width)]
    lines += ["", *wrapped(verdict_line(run), width)]
    shown = _shown(run)
    if shown is not None:
        lines += ["", *history_lines(run.histories[shown], look)]
    commands = next_commands(run, shown, words)
    if commands:
        lines += ["", "To go on:", *(line for command, what in commands for line in (f"  {command}", f"      {what}"))]
    return "\n".join(lines)


def _named(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return lines for rows (name, text): the texts form a column or, if a name is too long, follow their names."""
    column = max((len(name) for name, _ in rows), default=0) + 2
    indent = column if column <= width // 2 else 4
    lines = []
    for name, text in rows:
        first = f"{name:<{column}}" if indent == column else f"{name}  "
        lines += wrapped(text, width, first, " " * indent) if text else [name]
    return lines


def _checked(run: Run, width: int) -> list[str]:
    instance = run.exploration.instance
    _, faults, search = search_summary(run)
    differs = heading(instance).partition(", ")[2]
    rows = [
        ("search", search.removeprefix("breadth first, ") if run.engine == "local" else search),
        ("settings", differs),
        ("faults", faults),
        ("size", _size(run)),
    ]
    return [*wrapped(introduction(instance).removesuffix(": "), width), "", *_named(rows, width)]


def _size(run: Run) -> str:
    exploration = run.exploration
    seconds = f"{exploration.seconds:.2f} s; --details shows counts, actions and all settings"
    if isinstance(exploration, BmcResult):
        return f"every depth to {exploration.judged} by Z3, {seconds}" if exploration.judged >= 0 else seconds
    if not exploration.has_begun:
        return f"nothing was searched, {seconds}"
    size = f"{counted(exploration.distinct, 'state')} to depth {len(exploration.levels) - 1}"
    if exploration.reduction and not exploration.reduction.startswith("no symmetry"):
        size += ", some of which stand for others"
    if not run.counts_once:
        size += ", counted once for each part that found them"
    if exploration.outside:
        size += f", {counted(exploration.outside, 'step')} to states outside the constraint"
    return f"{size}, {seconds}"


def _judged(run: Run, width: int) -> list[str]:
    order = list(Word)

    def label(verdict: Verdict) -> str:
        word = verdict.word
        is_cut = word is Word.UNDECIDED and run.exploration.stopped in WHY_STOPPED
        return word.value if word is Word.REACHED or is_cut else verdict.text

    groups = grouped(((order.index(one.word), label(one)), one.prop.name) for one in run.verdicts)
    absent = groups.pop((order.index(Word.NOT_APPLICABLE), Word.NOT_APPLICABLE.value), [])
    rows = [(label, ", ".join(names)) for (_, label), names in sorted(groups.items(), key=lambda one: one[0][0])]
    if len(absent) > MOST_ABSENT:
        absent = [f"{len(absent)} properties about what this configuration does not have"]
    return _named([*rows, *([(Word.NOT_APPLICABLE.value, ", ".join(absent))] if absent else [])], width)


def _warnings(run: Run, width: int) -> list[str]:
    exploration = run.exploration
    if isinstance(exploration, BmcResult) or not exploration.has_begun or exploration.stopped == "decided":
        return []
    silent = never_fired(exploration)
    return ["", *wrapped(f"warning: never happened in this search: {', '.join(silent)}", width)] if silent else []


def _shown(run: Run) -> str | None:
    """The property whose failure is shown: the first in the model with the gravest verdict; None if none fails."""
    for word in GRAVEST_FIRST:
        for verdict in run.verdicts:
            if verdict.word is word:
                return next((key for key, *_ in verdict.failing_paths if key in run.histories), None)
    return None


def history_lines(trace: Trace, look: Look) -> list[str]:
    """Return the history of a failure as lines: what happens, in sentences; a table of the steps; a legend."""
    prop = trace.prop
    assert prop is not None, "the trace of a failure has a property"
    sentences = told(trace) or [f"{prop.name} fails at step {trace.length}{says(prop.function.documentation)}"]
    if trace.verdict == PERMITTED and (reasons := permitting(trace)):
        sentences.append(f"permitted: {' and '.join(reasons)}")
    top = [line for sentence in sentences for line in wrapped_words(sentence, width=look.width)]
    return [*top, *step_table(trace, look), *_signs(trace, look.width), *legend(trace, look)]


def _signs(trace: Trace, width: int) -> list[str]:
    if not is_kafka(trace.instance):
        return []
    signs = "; ".join(f"`{sign}` {meaning}" for sign, meaning in BASICS[:NEEDED])
    return wrapped_words(f"{signs}; `{UNCHANGED}` is unchanged", width=width)


# ---------------------------------------------------------------------------------------------------- the next commands


def next_commands(run: Run, shown: str | None, words: Sequence[str]) -> list[Command]:
    """Return the proposed next commands, each with its description. `shown` is the property whose failure is shown."""
    match run.word:
        case Word.VIOLATED | Word.PERMITTED:
            return _histories(run, shown)
        case Word.UNREACHABLE:
            return [(shlex.join([*words, "--details"]), "shows how often each action happened")]
        case Word.UNDECIDED:
            return _decided(run, words)
        case Word.NO_VIOLATION | Word.NOT_REACHED | Word.REACHED:
            return [*_further(run), *_proofs(run)]
        case Word.HOLDS:
            return _further(run) or _proofs(run) or _mutants(run)
        case Word.PROVED:
            return _mutants(run)
    return []


def _histories(run: Run, shown: str | None) -> list[Command]:
    first = [name for name in run.traces if name == shown]
    others = [name for name in run.traces if name != shown]
    commands = [(run.show(run.traces[name]), "explains this history") for name in first]
    commands += [(run.show(run.traces[name]), f"shows how {name} fails") for name in others]
    if len(commands) <= MOST_SHOWN:
        return commands
    folder = next(iter(run.traces.values())).parent
    command = ["trace", "list", *([] if folder == DEFAULT else [str(folder)])]
    return [commands[0], (shlex.join(command), f"lists this and {counted(len(commands) - 1, 'more trace')}")]


def _decided(run: Run, words: Sequence[str]) -> list[Command]:
    match run.exploration.stopped:
        case "seconds" | "interrupt":
            return [(run.command, "searches without a time limit")]
        case "memory" if run.part(DiskSummary) is None:
            return [(f"{run.command} --disk DIR", "keeps its states on disk")]
        case "memory" | "disk" if "--disk" in words:
            resumed = ["--resume" if word == "--disk" else word for word in words]
            return [(shlex.join(resumed), "goes on where this search stopped")]
    return [(shlex.join([*words, "--details"]), "shows what was judged, and what was not")]


def _further(run: Run) -> list[Command]:
    depth = run.exploration.limits.depth
    if depth is None or run.exploration.exhausted:
        return []
    words = run.command_words
    words[words.index("--bound") + 1] = str(depth + FURTHER)
    return [(shlex.join(words), f"searches behaviours of up to {depth + FURTHER} steps")]


def _proofs(run: Run) -> list[Command]:
    provable = any(verdict.prop.kind in INDUCTIVE for verdict in run.verdicts)
    if run.part(Proving) is not None or run.engine != "local" or run.part(DiskSummary) is not None or not provable:
        return []
    return [(f"{run.command} --prove", "looks for proofs for any number of steps")]


def _mutants(run: Run) -> list[Command]:
    words = [word for word in run.command_words[1:] if word not in ("--prove", "--symmetry", "--no-reduction")]
    if run.engine != "local" or run.part(DiskSummary) is not None:
        return []
    return [(shlex.join(["check", "mutate", *words]), "drops each guard in turn: would these properties notice?")]
