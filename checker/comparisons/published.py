"""`check published`, `check examples/tla`: searches models, and compares numbers of states with those that TLC reports.

In:  `Options`, and a session; the recorded figures (models/published/tlc.csv, models/published/others/counts.csv,
     models/examples/tla/counts.csv).
Out: a `CommandResult`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from isrcheck.checker.command.options import Options
from isrcheck.checker.command.table import EXAMPLES, PUBLISHED
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.instance_facts import command_of
from isrcheck.checker.results.run import CommandResult, Run, as_object
from isrcheck.checker.results.terminal import counted, table
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.checker.running.comparing import Comparison, search_rows
from isrcheck.checker.running.session import EVERY_STATE, AskedReduction, SearchSession
from isrcheck.commands.exit_codes import SAFE, VIOLATED
from isrcheck.models import published, registry
from isrcheck.models.examples import tla
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.published import others

ORBITS = AskedReduction(is_sought=True, dead=False)
"""Only one state of each orbit is visited, as TLC does with SYMMETRY; there is no other reduction."""


@dataclass(frozen=True)
class Row:
    """A model with its sizes, TLC's figures, and the figures that isrcheck must find (as texts, by their names)."""

    target: str
    """The name of the model on the command line."""
    sizes: Mapping[str, int]
    leading: tuple[str, ...]
    """The leading cells of the printed row: the name of the model, and its sizes."""
    tlc: Mapping[str, str]
    """TLC's figures, without those that nobody has published."""
    expected: Mapping[str, str]
    source: str = ""
    """Where the figures were published."""
    why: str = ""
    """The reason why isrcheck must find figures other than TLC's; empty if it must find TLC's."""
    symmetric: bool = False
    """Whether TLC visited one state of each orbit, and so counted orbits."""

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""
        return " ".join([self.target, *(f"{name}={value}" for name, value in self.sizes.items())])

    def instance(self) -> Instance:
        """Return the instance of the model."""
        model, protocol = registry.load(self.target)
        return model.instance(protocol or "", self.sizes)

    def equals_published(self, ours: Mapping[str, str]) -> bool:
        """Whether the figures that isrcheck found equal all figures of TLC that are published."""
        return all(ours[name] == figure for name, figure in self.tlc.items())


@dataclass(frozen=True)
class TlcTable:
    """A table of recorded figures: its file, its columns, and the function that takes the figures from a search."""

    file: Path
    """The file of the recorded figures: a line for each row; `#` begins a comment."""
    folder: str
    """The folder of the models, as in their names on the command line."""
    header: Mapping[str, Callable[[Mapping[str, str]], str]]
    """The names of the leading cells, each with the function that reads the cell from a line of the file."""
    figures: tuple[str, ...]
    means: str
    """A legend for the figures, which the last line about the table shows."""
    figures_of: Callable[[Exploration], dict[str, str]]
    """Takes the figures from the result of a search."""
    deadlock: bool = True
    """Whether TLC looked for states without a step."""

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the file, in order. Raises OSError. An empty cell means that TLC's figure is not published. If
        isrcheck must find a figure that differs from TLC's, the file has that figure in a column of its own (`our_` and
        the name)."""
        with self.file.open(encoding="utf-8", newline="") as opened:
            return [self._row(line) for line in csv.DictReader(one for one in opened if not one.startswith("#"))]

    def _row(self, line: Mapping[str, str]) -> Row:
        tlc = {name: line[name] for name in self.figures if line[name]}
        ours = {name: line[f"our_{name}"] for name in self.figures if line.get(f"our_{name}")}
        return Row(
            f"{self.folder}/{line.get('model') or line['variant']}",
            _sizes(line),
            tuple(read(line) for read in self.header.values()),
            tlc,
            tlc | ours,
            line.get("source", ""),
            line.get("why", ""),
            line.get("symmetric") == "yes",
        )

    def line(self, row: Row, ours: Mapping[str, str]) -> list[str]:
        """Return the printed cells: `OURS = TLC'S`, `OURS != TLC'S`, or OURS if TLC's figure is not published."""
        return [*row.leading, *(_cell(ours[name], row.tlc.get(name)) for name in self.figures)]


def _cell(ours: str, tlc: str | None) -> str:
    return ours if tlc is None else f"{ours} {'=' if ours == tlc else '!='} {tlc}"


def _sizes(line: Mapping[str, str]) -> dict[str, int]:
    """Read the sizes of a line: from the column `sizes` (`replicas=3 records=2`), or from a column for each size."""
    if "sizes" not in line:
        return {name: int(line[name]) for name in SIZES}
    return {name: int(value) for name, value in (pair.split("=") for pair in line["sizes"].split())}


def _beside(module: str | None, name: str) -> Path:
    assert module is not None, "these models are files"
    return Path(module).with_name(name)


def counted_as_tlc(exploration: Exploration) -> dict[str, str]:
    """Return the numbers of distinct and of generated states of a search, and its depth.

    As in TLC, initial states count as generated, and the first level is depth 1.
    """
    return {
        "distinct": str(exploration.distinct),
        "generated": str(exploration.generated_with_initial),
        "depth": str(len(exploration.levels)),
    }


# -------------------------------------------------------------------------------------------- the five published models


SIZES = ("replicas", "log_size", "records", "max_epoch")
PROPERTIES = ("weak_isr", "strong_isr", "leader_in_isr", "log_matching", "epoch_monotone")
FIGURES = ("distinct", "levels", *PROPERTIES)


def _published_figures(exploration: Exploration) -> dict[str, str]:
    """Return the figures of a search by name; `52@10` means 52 violating states, the first in level 10."""
    figures = {"distinct": str(exploration.distinct), "levels": str(len(exploration.levels))}
    for name in PROPERTIES:
        violations = exploration.findings[name].found
        figures[name] = f"{violations.count}@{violations.path.depth + 1}" if violations.path else "-"
    return figures


PUBLISHED_MODELS = TlcTable(
    _beside(published.__file__, "tlc.csv"),
    "published",
    {name: itemgetter(name) for name in ("variant", *SIZES)},
    FIGURES,
    "states@level of the first violation",
    _published_figures,
    deadlock=False,  # TLC ran with -deadlock
)


# ----------------------------------------------------------------------------------------- models that others published


OTHER_FIGURES = ("distinct", "generated", "depth", "violates", "first")
NOTHING = "-"
"""The figures `violates` and `first`, the level of the first violation, where every property holds."""


def _other_figures(exploration: Exploration) -> dict[str, str]:
    violated = {
        verdict.prop.name: exploration.findings[verdict.prop.name].found.path
        for verdict in verdicts(exploration)
        if verdict.word is Word.VIOLATED and verdict.prop.kind is not Kind.SOMETIMES
    }
    levels = [path.depth + 1 for path in violated.values() if path is not None]
    return counted_as_tlc(exploration) | {
        "violates": " ".join(violated) or NOTHING,
        "first": str(min(levels)) if levels else NOTHING,
    }


OTHER_MODELS = TlcTable(
    _beside(others.__file__, "counts.csv"),
    "published/others",
    {"model": itemgetter("model"), "sizes": itemgetter("sizes"), "figures": itemgetter("figures_of")},
    OTHER_FIGURES,
    "generated with initial states; first: the level of the first violation; a figure alone is not published;"
    " measured: by TLC on the published files",
    _other_figures,
    deadlock=False,  # the model files have CHECK_DEADLOCK FALSE, or TLC ran with -deadlock
)


# ------------------------------------------------------------------------------------------------- public TLA+ examples


EXAMPLE_FIGURES = ("distinct", "generated", "depth", "result")
SUCCESS = "success"
GOOD = (Word.HOLDS, Word.REACHED, Word.NOT_APPLICABLE)


def _example_figures(exploration: Exploration) -> dict[str, str]:
    failed = [verdict.prop.name for verdict in verdicts(exploration) if verdict.word not in GOOD]
    return counted_as_tlc(exploration) | {"result": " ".join(failed) or SUCCESS}


TLA_EXAMPLES = TlcTable(
    _beside(tla.__file__, "counts.csv"),
    "examples",
    {"model": itemgetter("model"), "model file": lambda line: line["source"].rpartition("/")[2]},
    EXAMPLE_FIGURES,
    "generated with initial states",
    _example_figures,
)


# ---------------------------------------------------------------------------------------------------------- the command


TABLES = {PUBLISHED: (PUBLISHED_MODELS, OTHER_MODELS), EXAMPLES: (TLA_EXAMPLES,)}
"""The tables of each form of the command."""


@dataclass(frozen=True)
class SearchedRow:
    """A row, its search, and the figures that the search found."""

    row: Row
    run: Run
    ours: Mapping[str, str]

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.run.is_interrupted

    @property
    def is_undecided(self) -> bool:
        """Whether the search was cut short, so that its figures cannot be compared."""
        return not self.run.exploration.is_complete

    @property
    def has_difference(self) -> bool:
        """Whether a figure differs from the record."""
        return not self.is_undecided and self.ours != self.row.expected

    @property
    def broken(self) -> list[str]:
        """A list with the first violated implicit property (`deadlock`, `in_range`); empty if none or undecided."""
        violated = [prop.name for prop in (DEADLOCK, IN_RANGE) if prop.name in self.run.exploration.findings]
        return [] if self.is_undecided else violated[:1]

    def as_object(self) -> dict[str, Any]:
        """The run as an object for `--json`, with the figures of TLC and of isrcheck."""
        return as_object(self.run) | {"figures": self.ours, "tlc": dict(self.row.tlc), "why": self.row.why}


TableComparison = Comparison[Row, SearchedRow]


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model of every row of the recorded figures, and compare its figures with the recorded ones."""
    whole, blocks, closing = TableComparison(), list[str](), ""
    for figures in TABLES[options.form.name]:
        if whole.is_interrupted:
            break
        blocks += [closing, ""] if closing else []
        comparison = _compare(figures, options, session)
        lines, closing = _block(figures, comparison)
        blocks += lines
        whole.answers += comparison.answers
        whole.unanswered += comparison.unanswered
        whole.is_interrupted = comparison.is_interrupted
    searched = [answer for _, answer in whole.answers]
    code, verdict = whole.code(), "as published" if whole.code() == SAFE else whole.verdict()
    if whole.unanswered or any(answer.is_undecided for answer in searched):
        closing = f"UNDECIDED: {closing}; at least one row was cut short"
    if broken := [name for answer in searched for name in answer.broken]:
        names = ", ".join(dict.fromkeys(broken))
        closing = (
            f"VIOLATED: {names}, which the published figures do not report, in {counted(len(broken), 'row')}; {closing}"
        )
        code, verdict = VIOLATED, Word.VIOLATED.value
    content = {"runs": [answer.as_object() for answer in searched], "verdict": verdict}
    return CommandResult("\n".join([*blocks, closing]), content, code, is_interrupted=whole.is_interrupted)


def _compare(figures: TlcTable, options: Options, session: SearchSession) -> TableComparison:
    limits = options.limits if figures.deadlock else replace(options.limits, deadlock=False)

    def search(row: Row) -> SearchedRow:
        instance = row.instance()
        reduction = ORBITS if row.symmetric else EVERY_STATE
        exploration = session.explore(instance, limits, count_all=True, subject=row.title, reduction=reduction)
        searched = Run(exploration, verdicts(exploration), command_of(row.target, instance, None), counted_all=True)
        return SearchedRow(row, searched, figures.figures_of(exploration))

    return search_rows(figures.rows, search)


def _block(figures: TlcTable, comparison: TableComparison) -> tuple[list[str], str]:
    complete = [answer for _, answer in comparison.answers if not answer.is_undecided]
    lines = table([[*figures.header, *figures.figures], *(figures.line(one.row, one.ours) for one in complete)])
    reasons = [f"{one.row.title}: {one.row.why}" for one in complete if one.row.why]
    equal = sum(one.row.equals_published(one.ours) for one in complete)
    count = len(comparison.answers) + len(comparison.unanswered)
    closing = f"{equal} of {count} rows equal TLC's figures (ours = TLC's; {figures.means})"
    explained = len(complete) - equal - len(comparison.differing())
    if explained > 0:
        closing = f"{closing}; {explained} differ for the reasons above"
    return [*lines, "", *reasons, *([""] if reasons else [])], closing
