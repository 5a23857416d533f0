"""`check family`: searches every case of the small models, such as `placement`, and compares the results with a record.

In:  `Options`, and a session; a CSV file beside each model, in which `#` begins a line of comment.
Out: a `CommandResult`: exit code 10 if something differs, 3 if a search was cut short.

A file has a row for each case. Its columns are `case` (in words), `protocol` (empty if the model has only one),
`entries` (as on the command line), the distinct `states`, and the properties, whose cells are verdicts as `check`
prints them. A cell in a column `SETTING for PROPERTY` is the least value of the setting with which the property holds;
`none` if no value will do.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from isrcheck.checker.command.options import Options
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import counted, tables
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.checker.running.comparing import Comparison, Figures, search_rows
from isrcheck.checker.running.session import SearchSession
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, parse
from isrcheck.models.messages import UsageError, nearest

FILES: Mapping[str, tuple[str, str]] = {
    "isr_propagation": ("isrcheck.models.isr", "propagation.csv"),
    "isr_by_lag": ("isrcheck.models.isr", "by_lag.csv"),
    "placement": ("isrcheck.models.placement", "failures.csv"),
    "cap": ("isrcheck.models.cap", "cuts.csv"),
}
"""The models, each with the package and the name of its file."""

STATES, FOR = "states", " for "
LEADING = ("case", "protocol", "entries", STATES)
WIDEST = 132
ABSENT = Word.NOT_APPLICABLE.value
CUT_SHORT, NONE = "?", "none"


@dataclass(frozen=True)
class Case:
    """A row of a file: the case in words, its instance of the model, and the recorded cells as text by column."""

    says: str
    instance: Instance
    recorded: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """The file of a model: its cases and its columns (properties, and settings whose least value is recorded)."""

    name: str
    columns: tuple[str, ...]
    cases: tuple[Case, ...]


def chosen(names: Sequence[str]) -> list[Table]:
    """Return the tables of these models; without names, all tables. Raises UsageError for an unknown name."""
    for name in names:
        if name not in FILES:
            raise UsageError(f"check family has no model {name}; {nearest(name, list(FILES))}")
    return [_read(name) for name in FILES if name in names or not names]


def _read(name: str) -> Table:
    model, _ = registry.load(name)
    package, file = FILES[name]
    content = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    reader = csv.DictReader(line for line in content.splitlines() if not line.startswith("#"))
    header = tuple(reader.fieldnames or ())
    cases = []
    for row in reader:
        pairs = (pair.split("=", 1) for pair in row["entries"].split())
        values = {entry: parse(entry, model.entries[entry], text) for entry, text in pairs}
        recorded = {column: row[column] for column in header if column not in LEADING[:3]}
        cases.append(Case(row["case"], model.instance(row["protocol"], values), recorded))
    return Table(name, tuple(column for column in header if column not in LEADING), tuple(cases))


@dataclass(frozen=True)
class _Searching:
    session: SearchSession
    limits: Limits
    table: Table

    def answer(self, case: Case) -> Figures:
        """Return the figures of a case: the number of states, the verdicts, and for a column `SETTING for PROPERTY` the
        least value of the setting with which the property holds. Raises CutShortError, KeyboardInterrupt."""
        exploration = self._explore(case.instance, case.says)
        ours = {STATES: str(exploration.distinct)}
        judged = {one.prop.name: one.bare for one in verdicts(exploration)}
        for column in self.table.columns:
            setting, is_least, prop = column.partition(FOR)
            if is_least:
                ours[column] = self._least(case, setting, prop, case.recorded[column])
            else:
                ours[column] = judged.pop(column, ABSENT)
        # Neither `in_range` nor `deadlock` has a column.
        ours |= {name: text for name, text in judged.items() if name in ("in_range", "deadlock")}
        return Figures(ours, case.recorded)

    def _least(self, case: Case, setting: str, prop: str, recorded: str) -> str:
        """Search for the least value of `setting` with which `prop` holds, or NONE; `recorded` is tried first."""
        entry = case.instance.model.entries[setting]
        assert entry.most is not None
        low, high = entry.least, entry.most + 1  # one above the greatest value means that no value will do
        guess = high if recorded == NONE else int(recorded) if recorded.isdecimal() else (low + high) // 2
        guess = max(low, min(guess, high))
        while low < high:
            # A recorded value takes two searches: one with it, and one with the next smaller value.
            tried = guess if low <= guess < high else guess - 1 if low <= guess - 1 < high else (low + high) // 2
            if self._holds(case, setting, prop, tried):
                high = tried
            else:
                low = tried + 1
        return NONE if low > entry.most else str(low)

    def _holds(self, case: Case, setting: str, prop: str, value: int) -> bool:
        instance = case.instance
        values = dict(instance.configuration.items()) | {setting: value}
        other = instance.model.instance(instance.protocol.name, values)
        exploration = self._explore(other, f"{case.says}, {setting}={value}", prop)
        return all(one.word is Word.HOLDS for one in verdicts(exploration) if one.prop.name == prop)

    def _explore(self, instance: Instance, says: str, prop: str = "") -> Exploration:
        only = (prop,) if prop else ()
        return self.session.explore_whole(instance, self.limits, count_all=not prop, subject=says, only=only)


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the cases of the models that are named, or of all. Raises UsageError for an unknown name."""
    chosen_tables = chosen(_names(options))
    cases = [(table, case) for table in chosen_tables for case in table.cases]
    comparison = search_rows(cases, lambda row: _Searching(session, options.limits, row[0]).answer(row[1]))
    answers = {id(case): figures for (_, case), figures in comparison.answers}
    blocks: list[str] = []
    for table in chosen_tables:
        rows = [["case", STATES, *(column.partition(FOR)[0] for column in table.columns)]]
        rows += [[case.says, *_cells(table, answers.get(id(case)))] for case in table.cases]
        title = table.cases[0].instance.model.documentation.splitlines()[0]
        blocks += [f"{table.name}: {title}", "", *tables(rows, WIDEST, ABSENT), ""]
    objects = [
        {"model": table.name, "case": case.says, "found": figures.ours, "recorded": dict(figures.recorded)}
        for (table, case), figures in comparison.answers
    ]
    content = {"cases": objects, "verdict": comparison.verdict()}
    text = "\n".join([*blocks, _closing(comparison)])
    return CommandResult(text, content, comparison.code(), is_interrupted=comparison.is_interrupted)


def _closing(comparison: Comparison[tuple[Table, Case], Figures]) -> str:
    closing = f"{counted(len(comparison.answers), 'case')}: "
    differing = len(comparison.differing())
    differ = "differs" if differing == 1 else "differ"
    closing += f"{differing} {differ} from the record" if differing else "all as recorded"
    if comparison.unanswered:
        cut = counted(len(comparison.unanswered), "case")
        closing = f"{Word.UNDECIDED.value}: {comparison.why}; {cut} cut short; {closing}"
    return closing


def _names(options: Options) -> list[str]:
    """The names of models on the command line. Raises UsageError for an option of a model."""
    names = [*([options.model.target] if options.model.target else []), *options.model.rest]
    option_at = next((place for place, name in enumerate(names) if name.startswith("-")), None)
    if option_at is not None:
        model = names[0] if option_at else "isr_by_lag"
        raise UsageError(
            f"{names[option_at]} does not go with {options.form.name}, whose cases are recorded; search the model"
            f" itself, as in: check {model} {' '.join(names[option_at:])}"
        )
    return names


def _cells(table: Table, figures: Figures | None) -> Iterator[str]:
    for name in (STATES, *table.columns):
        ours, recorded = ("", "") if figures is None else (figures.ours[name], figures.recorded.get(name))
        text = f"{int(ours):,}" if name == STATES and ours else ours
        yield CUT_SHORT if figures is None else text if ours == recorded else f"{text} (recorded: {recorded})"
