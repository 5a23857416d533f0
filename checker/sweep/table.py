"""`check sweep`: a table of verdicts for many configurations, and the smallest configuration that fails.

In:  `Options`, and a session; the results file, with the finished searches of an earlier run, which are not repeated.
Out: a `CommandResult` whose `found` is a `SweepTable`; text, and the object that `--json` prints (docs/json.md).
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isrcheck.checker.command.options import Options
from isrcheck.checker.resources.limits import UNLIMITED, Budget, Spent
from isrcheck.checker.results.exploration import PlainData, exploration_of
from isrcheck.checker.results.instance_facts import (
    command_of,
    command_to_show,
    configuration_of,
    faults_line,
    label_of,
    title,
)
from isrcheck.checker.results.run import CommandResult, Run, as_object
from isrcheck.checker.results.terminal import ProgressLine, counted, grouped, side_by_side, table
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word, exit_code, range_verdict, verdicts
from isrcheck.checker.running.session import SearchSession
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.checker.sweep.results_file import CURE, ResultsFile, described
from isrcheck.checker.sweep.searches import (
    Case,
    Combination,
    RunCases,
    Sweep,
    cases_of,
    is_current,
    read_sweep,
    refused_throughout,
    run_cases_here,
    run_cases_on_spark,
    words_of,
)
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Property
from isrcheck.models.messages import UsageError, escaped

WIDTH = 120
"""The greatest width of a table, in characters. A wider table is split; each part begins with the varied values."""

NOT_SEARCHED = "not searched"
NEVER_FAILS = (Word.HOLDS, Word.NO_VIOLATION, Word.NOT_APPLICABLE)
REST = "the rest"


@dataclass
class SweepRow:
    """A row of the table: its combination of values, the search with its verdicts (`run`), and the gravest verdict
    (`word`). If the row has no search, `run` is None and `why` is the reason."""

    combination: Combination
    run: Run | None = None
    why: str = NOT_SEARCHED
    word: Word = Word.UNDECIDED


@dataclass(frozen=True)
class FailingRow:
    """A row with failing properties, and the verdict on the property that fails after the fewest steps."""

    row: SweepRow
    run: Run
    verdict: Verdict

    @property
    def size(self) -> tuple[int, int, int]:
        """The size, which orders rows: sum of the bounds, sum of the fault budgets, number of steps to the failure."""
        instance = self.run.exploration.instance
        values = dict(instance.configuration.items())
        entries = instance.model.entries.items()
        bounds = sum(values[name] for name, entry in entries if entry.is_bound and not entry.is_budget)
        budgets = sum(values[name] for name, entry in entries if entry.is_budget)
        return bounds, budgets, self.verdict.depth or 0

    @property
    def command(self) -> str:
        """The command that searches only this configuration, to the depth of the failure."""
        target, instance = self.run.command_words[1], self.run.exploration.instance
        return command_to_show(target, instance, self.verdict.prop, self.verdict.depth)


@dataclass
class SweepTable:
    """All rows of a sweep, the path of its results file, and the number of searches that an earlier run finished."""

    sweep: Sweep
    rows: list[SweepRow]
    results: str
    resumed: int = 0
    stopped: bool = False

    @property
    def runs(self) -> list[Run]:
        """The searches, with their verdicts, of all rows that were searched."""
        return [row.run for row in self.rows if row.run is not None]

    @property
    def properties(self) -> list[Property]:
        """The properties of the model, and each implicit property (`deadlock`, `in_range`) that a row violates."""
        violated = {verdict.prop.name for verdict in self.verdicts}
        return [*self.sweep.model.properties, *(prop for prop in (DEADLOCK, IN_RANGE) if prop.name in violated)]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of all searched rows, row by row."""
        return [verdict for run in self.runs for verdict in run.verdicts]

    @property
    def word(self) -> Word:
        """The gravest verdict of all rows."""
        words = {row.word for row in self.rows} - {Word.NOT_APPLICABLE}
        return next((word for word in Word if word in words), Word.NOT_APPLICABLE)

    @property
    def smallest(self) -> FailingRow | None:
        """The smallest row with a violation or, if no row has one, with a permitted failure; None if no row fails."""
        for word in (Word.VIOLATED, Word.PERMITTED):
            failing = [
                FailingRow(row, row.run, min(failed, key=lambda verdict: verdict.depth or 0))
                for row in self.rows
                if row.run is not None and (failed := [one for one in row.run.verdicts if one.word is word])
            ]
            if failing:
                return min(failing, key=lambda row: row.size)
        return None


# ---------------------------------------------------------------------------------------------------------- the command


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search every configuration, except those that an earlier run finished. Raises UsageError, SparkLostError."""
    sweep = read_sweep(options)
    cases, answers = cases_of(sweep, options)
    tables = None
    if options.output.tables is not None:
        from isrcheck.checker.tables.write import Tables  # imported here because few commands write tables

        tables = Tables(options.output.tables)
    results = ResultsFile(options.output.folder, described(sweep, cases), frozenset(case.position for case in cases))
    if results.done:
        print(
            f"resuming from {escaped(str(results.path))}: {len(results.done)} of {len(cases)} searches are done",
            file=sys.stderr,
        )
    progress, traces = ProgressLine(title(sweep.instances[0])), TraceWriter(options.output.folder)

    def searched(run_cases: RunCases) -> SweepTable:
        return search(sweep, cases, answers, run_cases, results, traces, session.budget)

    try:
        if options.search.engine == "spark":
            from isrcheck.checker.spark.session import spark_session

            with spark_session(options.search.spark.session, progress.announce) as spark:
                swept = searched(partial(run_cases_on_spark, spark, progress, len(cases), session.budget))
        else:
            swept = searched(partial(run_cases_here, progress, session.seen, len(cases), session.budget))
    finally:
        progress.clear()
        results.close()
    if tables is not None:
        for searched_run in swept.runs:
            tables.write(searched_run)
    return CommandResult(
        text(swept),
        as_objects(swept),
        exit_code(swept.word, strict=options.output.strict, found=swept.verdicts),
        traces.failure or results.failure or (tables.failure if tables else ""),
        swept.stopped or (tables is not None and tables.is_interrupted),
        swept,
    )


def search(
    sweep: Sweep,
    cases: Sequence[Case],
    answers: Mapping[int, int],
    run_cases: RunCases,
    results: ResultsFile,
    traces: TraceWriter,
    budget: Budget = UNLIMITED,
) -> SweepTable:
    """Run the searches that no earlier run has finished, and return the table. `answers` maps the position of each row
    with an instance to the position of its search. Raises KeyboardInterrupt if interrupted before the first result, and
    UsageError if the model refuses every search."""
    rows = [
        SweepRow(row, None, row.refusal, Word.NOT_APPLICABLE) if row.refusal else SweepRow(row) for row in sweep.rows
    ]
    table = SweepTable(sweep, rows, str(results.path), len(results.done))
    cases_at = {case.position: case for case in cases}
    waiting = grouped((case, rows[position]) for position, case in answers.items())

    def take(position: int, record: PlainData) -> None:
        for row in waiting[position]:
            _fill(row, cases_at[position], record, traces)

    try:
        done = _current_records(results, cases_at, budget)
        for position, record in done.items():
            take(position, record)
        for position, record in run_cases([case for case in cases if case.position not in done]):
            table.stopped = record.get("stopped") == "interrupt"
            # A search that ran out of time is not kept: a later run may have more time.
            if record.get("stopped") not in ("interrupt", "seconds") and position not in results.done:
                results.keep(position, cases_at[position].name, record)
            take(position, record)
            if table.stopped:
                break
    except KeyboardInterrupt:
        table.stopped = True
    if table.stopped and not table.runs:
        raise KeyboardInterrupt
    if not table.runs:
        raise UsageError(refused_throughout(next(row.why for row in rows if row.why)))
    return table


def _current_records(results: ResultsFile, cases: Mapping[int, Case], budget: Budget) -> dict[int, PlainData]:
    """Return an earlier run's results by search position. Raises UsageError if a search's initial states or properties
    have changed since then. If the budget ends during this check, the other results are left out."""
    done: dict[int, PlainData] = {}
    for position, record in results.done.items():
        case = cases[position]
        try:
            is_same = is_current(record, case, budget)
        except Spent:
            break
        if not is_same:
            raise UsageError(
                f"{results.path}: {case.name} was searched from other initial states, or for other properties;"
                f" delete the file to search again, or {CURE}"
            )
        done[position] = record
    return done


def _fill(row: SweepRow, case: Case, record: PlainData, traces: TraceWriter) -> None:
    instance = row.combination.instance
    assert instance is not None
    if "refused" in record:
        row.why, row.word = record["refused"], Word.NOT_APPLICABLE
    elif "failed" in record:
        row.why = record["failed"]
    else:
        exploration = exploration_of(record, instance, case.limits)
        judged = verdicts(exploration)
        assert words_of(judged) == record["verdicts"], (
            f"{case.name}: the verdicts of a record do not follow from its counts"
        )
        files = traces.write(case.target, instance, judged)
        command = command_of(case.target, instance, case.limits.depth)
        row.run = Run(exploration, judged, command, case.count_all, files)
        row.why, row.word = "", row.run.word


# -------------------------------------------------------------------------------------------------------------- text


def cell(verdict: Verdict) -> str:
    """Return a verdict as the short text of a table cell."""
    text = verdict.word.value.removesuffix(" DEPTH")
    if verdict.depth is not None:
        text += f" {verdict.depth}"
    permitted = verdict.permitted.path if verdict.permitted is not None else None
    if verdict.word is Word.VIOLATED and permitted is not None:
        text += f" (PERMITTED {permitted.depth})"
    if verdict.word is Word.PERMITTED and verdict.note:
        text += f" ({Word.UNDECIDED.value})"
    return text


@dataclass
class _Columns:
    """Where the text shows each property that applies: in a column of its own (`own`); in the last column, which
    properties without failures share (`rest`); in a line of properties that have the same verdict in every row (`same`:
    names by verdict); or in the line for `@sometimes` properties that are nowhere UNREACHABLE (`sought`)."""

    own: list[Property] = field(default_factory=list)
    same: dict[str, list[str]] = field(default_factory=dict)
    rest: list[Property] = field(default_factory=list)
    sought: list[Property] = field(default_factory=list)


def _columns(swept: SweepTable) -> _Columns:
    columns = _Columns()
    for prop in swept.properties:
        judged = [verdict_on(run, prop) for run in swept.runs]
        words, cells = {verdict.word for verdict in judged}, {cell(verdict) for verdict in judged}
        if words == {Word.NOT_APPLICABLE}:
            continue
        if prop.kind is Kind.SOMETIMES and Word.UNREACHABLE not in words:
            columns.sought.append(prop)
        elif words <= set(NEVER_FAILS) and len(cells) > 1:
            columns.rest.append(prop)
        elif len(cells) == 1 and len(swept.runs) > 1 and words != {Word.UNDECIDED}:
            columns.same.setdefault(next(iter(cells)), []).append(prop.name)
        else:
            columns.own.append(prop)
    if len(columns.rest) == 1:
        columns.own += columns.rest
        columns.rest = []
    return columns


def text(swept: SweepTable) -> str:
    """Return the results as text: common settings, table, verdicts that all rows share, smallest failure, totals."""
    columns = _columns(swept)
    lines = [*_heading(swept), "", *_table(swept, columns), ""]
    lines += [f"in every row   {cell_text}: {', '.join(names)}" for cell_text, names in columns.same.items()]
    if columns.rest:
        lines.append(f"{REST:<13}  {', '.join(prop.name for prop in columns.rest)}")
    lines += _sought(swept, columns.sought)
    lines += ["", *_smallest_lines(swept.smallest), "", *_totals(swept), "", verdict_line(swept)]
    return "\n".join(lines)


def _heading(swept: SweepTable) -> list[str]:
    sweep = swept.sweep
    first, *others = instances = sweep.instances
    settings = configuration_of(first)
    spelled = [configuration_of(other) for other in others]
    common = [f"{name}={value}" for name, value in settings.items() if all(other[name] == value for other in spelled)]
    depth = swept.runs[0].exploration.limits.depth
    far = "every behaviour of any length" if depth is None else f"every behaviour of at most {counted(depth, 'step')}"
    named = title(first, with_protocol=len({instance.protocol.name for instance in instances}) == 1)
    return [
        f"{named}: {counted(len(sweep.rows), 'configuration')}",
        "",
        f"in common      {', '.join(common) or 'nothing'}",
        f"faults         {faults_line(*instances)}",
        f"search         breadth first, {far}, each configuration by itself",
    ]


def _table(swept: SweepTable, columns: _Columns) -> list[str]:
    keys = [axis.key for axis in swept.sweep.axes]
    varied = [[key, *(row.combination.varied[key] for row in swept.rows)] for key in keys]
    every = _verdict_columns(swept, columns)
    is_wide = sum(max(map(len, column)) + 2 for column in (*varied, *every)) > WIDTH + 2
    if is_wide:
        varied, every = [_folded(column) for column in varied], [_folded(column) for column in every]
    left, tall = _headed(varied, len(swept.rows))
    width = max(map(len, left))
    lines: list[str] = []
    for part in side_by_side(every, WIDTH - width - 2):
        right, taller = _headed(part, len(swept.runs))
        height = max(tall, taller)
        headings = zip([""] * (height - tall) + left[:tall], [""] * (height - taller) + right[:taller], strict=True)
        verdict_lines = iter(right[taller:])
        rows = [
            (start, f"{row.word.value}: {row.why}" if row.run is None else next(verdict_lines))
            for start, row in zip(left[tall:], swept.rows, strict=True)
        ]
        lines += ["", *(f"{start:<{width}}  {end}".rstrip() for start, end in (*headings, *rows))]
    return lines[1:]


def _verdict_columns(swept: SweepTable, columns: _Columns) -> list[list[str]]:
    every = [[label_of(prop), *(cell(verdict_on(run, prop)) for run in swept.runs)] for prop in columns.own]
    if columns.rest:
        every.append([REST, *(_shared(run, columns.rest) for run in swept.runs)])
    return every or [["verdict", *(run.word.value for run in swept.runs)]]


def _headed(columns: Sequence[list[str]], count: int) -> tuple[list[str], int]:
    """Return the columns as aligned lines, and the number of heading lines. Each column consists of a heading of one or
    more lines, and `count` cells."""
    height = max(map(len, columns)) - count
    filled = [[""] * (height + count - len(column)) + column for column in columns]
    return table(list(zip(*filled, strict=True))), height


def _folded(column: list[str]) -> list[str]:
    """Return `column`, with its first text (the heading) broken into lines: each line is at most as wide as the widest
    of the other texts or as the longest word of the heading."""
    words = re.findall(r"[^ ._]*[ ._]|[^ ._]+", column[0])
    width = max(map(len, [*words, *column[1:]]))
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [*(line.rstrip() for line in lines), *column[1:]]


def verdict_on(run: Run, prop: Property) -> Verdict:
    """Return the verdict of a run on a property, which may be `in_range`."""
    judged = (verdict for verdict in run.verdicts if verdict.prop.name == prop.name)
    return next(judged, None) or range_verdict(run.exploration)


def _shared(run: Run, properties: Sequence[Property]) -> str:
    applicable = [
        verdict for verdict in (verdict_on(run, prop) for prop in properties) if verdict.word is not Word.NOT_APPLICABLE
    ]
    return ", ".join(dict.fromkeys(map(cell, applicable))) or Word.NOT_APPLICABLE.value


def _sought(swept: SweepTable, sought: Sequence[Property]) -> list[str]:
    if not sought:
        return []
    missing = []
    for prop in sought:
        counts = Counter(verdict_on(run, prop).word for run in swept.runs)
        open_words = {word: counts[word] for word in (Word.NOT_REACHED, Word.UNDECIDED) if counts[word]}
        if open_words:
            rows = ", ".join(
                f"{word.value.removesuffix(' TO DEPTH')} in {counted(count, 'row')}"
                for word, count in open_words.items()
            )
            missing.append(f"{prop.name} ({rows})")
    reached = f"{len(sought) - len(missing)} of {len(sought)} reached in every row where they apply"
    return [f"sometimes      {reached}" + (f"; {', '.join(missing)}" if missing else "")]


def _smallest_lines(smallest: FailingRow | None) -> list[str]:
    if smallest is None:
        return ["smallest failing configuration: none found"]
    verdict = smallest.verdict
    lines = [
        f"smallest failing configuration: {smallest.row.combination.name}",
        f"  {verdict.prop.name}: {verdict.bare}"
        + (" (no violation was found)" if verdict.word is Word.PERMITTED else ""),
        f"  {smallest.command}",
    ]
    path = smallest.run.traces.get(verdict.prop.name)
    return [*lines, f"  {smallest.run.show(path)}"] if path is not None else lines


def _totals(swept: SweepTable) -> list[str]:
    words = Counter(row.word for row in swept.rows if row.run is not None)
    parts = [f"{words[word]:,} {word.value.removesuffix(' TO DEPTH')}" for word in Word if words[word]]
    for word in (Word.NOT_APPLICABLE, Word.UNDECIDED):
        missing = [row for row in swept.rows if row.run is None and row.word is word and row.why != NOT_SEARCHED]
        if missing:
            parts.append(f"{len(missing):,} {word.value} (reasons in the table)")
    left = sum(row.why == NOT_SEARCHED for row in swept.rows)
    if left:
        parts.append(f"{left:,} {NOT_SEARCHED}")
    explored = [run.explored for run in swept.runs]
    states, steps = sum(one.distinct for one in explored), sum(one.generated for one in explored)
    seconds = sum(one.seconds for one in explored)
    lines = [
        f"{counted(len(swept.rows), 'configuration')}: {', '.join(parts)}",
        f"{states:,} distinct states, {steps:,} generated, {seconds:.2f} s; results in {swept.results}",
    ]
    cut = Counter(one.stopped for one in explored if one.stopped in WHY_STOPPED)
    lines += [f"cut short: {counted(count, 'configuration')}: {WHY_STOPPED[why or '']}" for why, count in cut.items()]
    return lines


def verdict_line(swept: SweepTable) -> str:
    """Return a line with the gravest verdict, and the number of configurations and the properties that have it."""
    word = swept.word
    rows = [row for row in swept.rows if row.word is word]
    every = [row for row in swept.rows if row.word is not Word.NOT_APPLICABLE]
    where = f"in {len(rows):,} of {counted(len(swept.rows), 'configuration')}"
    failing = list(dict.fromkeys(v.prop.name for row in rows if row.run for v in row.run.verdicts if v.word is word))
    match word:
        case Word.VIOLATED | Word.PERMITTED | Word.UNREACHABLE:
            return f"{word.value}: {where}: {', '.join(failing)}"
        case Word.UNDECIDED:
            return f"{word.value}: {where}"
        case Word.NO_VIOLATION | Word.NOT_REACHED:
            judged = min(row.run.exploration.judged for row in every if row.run)
            return f"{word.value} {judged}: in every searched configuration"
        case Word.NOT_APPLICABLE:
            return f"{word.value}: no property applies in any searched configuration; nothing was judged"
        case _:
            return f"{word.value}: in every searched configuration"


# -------------------------------------------------------------------------------------------------------------- json


def as_objects(swept: SweepTable) -> dict[str, Any]:
    """Return the object that `check sweep --json` prints."""
    positions = {id(run): number for number, run in enumerate(swept.runs)}
    smallest = swept.smallest
    return {
        "runs": [as_object(run) for run in swept.runs],
        "vary": {axis.key: list(axis.values) for axis in swept.sweep.axes},
        "rows": [
            {
                "values": dict(row.combination.varied),
                "verdict": row.word.value,
                "why": row.why or None,
                "run": positions[id(row.run)] if row.run is not None else None,
            }
            for row in swept.rows
        ],
        "smallest": None if smallest is None else _smallest_object(swept, smallest),
        "results": swept.results,
        "resumed": swept.resumed,
        "verdict": swept.word.value,
    }


def _smallest_object(swept: SweepTable, smallest: FailingRow) -> dict[str, Any]:
    path = smallest.run.traces.get(smallest.verdict.prop.name)
    return {
        "row": next(number for number, row in enumerate(swept.rows) if row is smallest.row),
        "property": smallest.verdict.prop.name,
        "verdict": smallest.verdict.word.value,
        "depth": smallest.verdict.depth,
        "command": smallest.command,
        "trace": str(path) if path is not None else None,
    }
