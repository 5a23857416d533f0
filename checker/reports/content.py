"""The content of a report, for every form of `check`: gather.py builds it, page.py and build_files.py show it.

Only this module defines how a build server counts a verdict. The counts agree with the exit code: if `check` exits with
0, no result is a failure or an error; otherwise at least one is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from isrcheck.checker.results.run import Run
from isrcheck.checker.results.verdict import Verdict, Word
from isrcheck.commands import exit_codes
from isrcheck.models.language.model import Instance, Model
from isrcheck.traces.format.trace import Trace


class Outcome(Enum):
    """How a build server counts a result, the gravest outcome first."""

    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    PASSED = "passed"


def outcome_of(verdict: Verdict, *, strict: bool) -> Outcome:
    """Return how a build server counts a verdict; with `strict`, PERMITTED is a failure."""
    if verdict.is_unproved or verdict.is_unattempted:
        return Outcome.ERROR
    match verdict.word:
        case Word.VIOLATED | Word.UNREACHABLE:
            return Outcome.FAILED
        case Word.UNDECIDED:
            return Outcome.ERROR
        case Word.PERMITTED:
            return Outcome.FAILED if strict else Outcome.SKIPPED
        case Word.NOT_APPLICABLE | Word.NOT_REACHED:
            return Outcome.SKIPPED
        case _:
            return Outcome.PASSED


def first_sentence(verdict: Verdict) -> str:
    """Return the first sentence of the documentation of the verdict's property."""
    return " ".join(verdict.prop.function.documentation.split("\n\n")[0].split())


@dataclass(frozen=True)
class TraceFile:
    """A trace that a search wrote; `shows` says what the trace shows (empty: the violation of its property)."""

    path: Path
    trace: Trace
    shows: str = ""

    @property
    def name(self) -> str:
        """The name of the trace file without its suffix; the HTML page of the trace has the same name."""
        return self.path.name.removesuffix(".itf.json")


@dataclass(frozen=True)
class PropertyResult:
    """The result of one property in one search."""

    verdict: Verdict
    text: str
    """The text of the property's cell in the table."""
    outcome: Outcome
    traces: tuple[TraceFile, ...] = ()
    is_recorded: bool = False
    """Whether models/verdicts.toml expects this failure."""
    mark: str = ""
    """How the result differs from models/verdicts.toml, if it does."""

    @property
    def shown(self) -> tuple[TraceFile, ...]:
        """The traces that show this verdict. If it is VIOLATED, `traces` may also include a permitted failure."""
        return tuple(trace_file for trace_file in self.traces if trace_file.trace.verdict == self.verdict.word.value)


@dataclass(frozen=True)
class SearchReport:
    """One search of a report, with its results and traces."""

    title: str
    instance: Instance | None
    run: Run | None
    """None if the search did not take place."""
    judged: tuple[PropertyResult, ...]
    """The results of its properties; empty for a side search, which does not decide the verdict."""
    outcome: Outcome = Outcome.PASSED
    """The outcome of the search itself."""
    says: str = ""
    """The reason for the outcome."""
    others: tuple[TraceFile, ...] = ()
    """Traces that show no verdict, such as those of failed proofs."""
    lines: tuple[str, ...] = ()
    """The lines of text about proofs."""

    @property
    def model(self) -> Model | None:
        """The model that was searched; None if there is no instance."""
        return None if self.instance is None else self.instance.model

    @property
    def traces(self) -> tuple[TraceFile, ...]:
        """All traces of the search."""
        return (*(trace_file for result in self.judged for trace_file in result.traces), *self.others)


Cell = PropertyResult | str
"""A cell of the table: a verdict with its traces, or a text."""


@dataclass(frozen=True)
class GridRow:
    """A row of the table: its headings, and a cell for each column; if there is only one cell, it spans all columns."""

    headings: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """The table of a report: the titles above the row headings (`corner`), the column titles, and the rows."""

    corner: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]


MEANS = {
    exit_codes.SAFE: "no promise was broken",
    exit_codes.UNEXPECTED: "an expected figure or counterexample was not found",
    exit_codes.UNDECIDED: "undecided",
    exit_codes.USAGE: "bad input, or something could not be written",
    exit_codes.DEADLOCKED: "a state has no step, and the model does not say that it may end there",
    exit_codes.VIOLATED: "violated",
    exit_codes.STUCK: "no path leads from some state to a state that must stay reachable",
    exit_codes.INTERRUPTED: "interrupted",
}
"""The meaning of each exit code of `check`."""

UNFINISHED = "check has not finished: there are no results yet"


@dataclass(frozen=True)
class ReportContent:
    """The content of a report: its table, the searches with their results, and the command with its output."""

    heading: str
    grid: Grid
    searches: tuple[SearchReport, ...]

    headline: str = ""
    """The verdict, if it is not the last line of `text`."""
    command: str = ""
    """The command as typed."""
    text: str = ""
    """The output of the command, with all details."""
    code: int = exit_codes.SAFE
    is_cut: bool = False
    """Whether the user interrupted the command."""
    failure: str = ""
    """The message if a file could not be written."""

    @property
    def summary(self) -> str:
        """The verdict of the whole command, as one line."""
        if self.headline:
            return self.headline
        return self.text.rstrip().rpartition("\n")[2] if self.text.strip() else UNFINISHED

    @property
    def means(self) -> str:
        """The meaning of the exit code."""
        is_recorded = any(result.is_recorded for search in self.searches for result in search.judged)
        if self.code == exit_codes.SAFE and is_recorded:
            return "everything is as recorded, including the recorded failures"
        return MEANS.get(self.code, "an error")

    @property
    def gravest(self) -> Word | None:
        """The gravest verdict, leaving out failures that models/verdicts.toml expects; None if no verdict remains."""
        words = {result.verdict.word for search in self.searches for result in search.judged if not result.is_recorded}
        return next((word for word in Word if word in words), None)

    @property
    def other_reason(self) -> str:
        """The reason for an exit code other than 0 if no search and no property failed; otherwise empty."""
        outcomes = {result.outcome for search in self.searches for result in search.judged}
        outcomes |= {search.outcome for search in self.searches}
        if self.code == exit_codes.SAFE or outcomes & {Outcome.FAILED, Outcome.ERROR}:
            return ""
        return self.failure or f"exit code {self.code}: {self.means}: {self.summary}"


def unfinished(command: str, code: int) -> ReportContent:
    """Return the report that the folder has while `check` runs; this report says that there are no results yet."""
    return ReportContent("check", Grid((), (), ()), (), command=command, code=code)
