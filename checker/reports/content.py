"""What a report tells, whatever form of `check` it is about.

In:  built by gather.py. Out: read by page.py, junit.py, sarif.py and regressions.py.

How a build server counts a verdict is said here, once, and follows the exit code: where `check` exits with 0 nothing
fails, and where it does not, something does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from isrcheck.checker.outcome.exit_codes import INTERRUPTED, SAFE, UNDECIDED, UNEXPECTED, USAGE, VIOLATED
from isrcheck.checker.outcome.verdict import Verdict, Word
from isrcheck.checker.session.text import Run
from isrcheck.models.language.model import Instance, Model
from isrcheck.traces.format.trace import Trace


class Outcome(Enum):
    """What a build server makes of something, gravest first."""

    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    PASSED = "passed"


def outcome_of(verdict: Verdict, *, strict: bool) -> Outcome:
    """How a verdict counts. What is not known is an error; what says nothing against or for the promise is skipped."""
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


@dataclass(frozen=True)
class History:
    """A trace that a search wrote: the file, and what stands in it."""

    path: Path
    trace: Trace

    @property
    def name(self) -> str:
        """What the file and its page are called, without what comes after the point."""
        return self.path.name.removesuffix(".itf.json")


@dataclass(frozen=True)
class Judged:
    """One property of one search: its verdict, what a cell of the table says of it, how it counts, and the histories
    that show it.

    `is_recorded` says that a failure is one that the project's record knows of; `mark` what differs from the record.
    """

    verdict: Verdict
    text: str
    outcome: Outcome
    histories: tuple[History, ...] = ()
    is_recorded: bool = False
    mark: str = ""

    @property
    def shown(self) -> tuple[History, ...]:
        """The histories that show the verdict itself, not a graver or a lesser one beside it."""
        return tuple(one for one in self.histories if one.trace.verdict == self.verdict.word.value)


@dataclass(frozen=True)
class Search:
    """One search: of what, what it did (`run` is None where it did not take place), what became of its properties, and
    how the search itself counts, with the reason. `others` are histories that show no verdict: of proofs that failed.

    What is searched on the side does not decide; its properties count for nothing.
    """

    title: str
    instance: Instance | None
    run: Run | None
    judged: tuple[Judged, ...]
    outcome: Outcome = Outcome.PASSED
    says: str = ""
    others: tuple[History, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def model(self) -> Model | None:
        """The model that was searched."""
        return None if self.instance is None else self.instance.model

    @property
    def histories(self) -> tuple[History, ...]:
        """Every trace of the search."""
        return (*(history for one in self.judged for history in one.histories), *self.others)


Cell = Judged | str
"""A cell of a table: a verdict with its histories, or text."""


@dataclass(frozen=True)
class Row:
    """A row of the table: the headings before it, and a cell for each column; one cell alone goes over all of them."""

    headings: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """The table that a report begins with: the titles of the headings, those of the columns, the rows."""

    corner: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


MEANS = {
    SAFE: "nothing that is promised was broken",
    UNEXPECTED: "an expected figure or counterexample was not found",
    UNDECIDED: "undecided",
    USAGE: "bad input, or something could not be written",
    VIOLATED: "violated",
    INTERRUPTED: "interrupted",
}
"""What the exit codes of `check` mean."""

UNFINISHED = "check has not finished: what was found is not known"


@dataclass(frozen=True)
class Told:
    """Everything that a report tells. `words` is the command as it was typed, `text` what was printed, the verdict
    last; `is_cut` says that somebody interrupted it, `failure` what could not be written."""

    heading: str
    words: str
    text: str
    grid: Grid
    searches: tuple[Search, ...]
    code: int = SAFE
    is_cut: bool = False
    failure: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def summary(self) -> str:
        """The verdict, in one line."""
        return self.text.rstrip().rpartition("\n")[2] if self.text.strip() else UNFINISHED

    @property
    def means(self) -> str:
        """What the exit code means."""
        if self.code == SAFE and any(one.is_recorded for search in self.searches for one in search.judged):
            return "everything is as recorded, what is broken as well"
        return MEANS.get(self.code, "an error")

    @property
    def gravest(self) -> Word | None:
        """The gravest word of what was found, as long as that was not expected."""
        words = {one.verdict.word for search in self.searches for one in search.judged if not one.is_recorded}
        return next((word for word in Word if word in words), None)

    @property
    def outcomes(self) -> set[Outcome]:
        """How everything counts that was found."""
        searched = {search.outcome for search in self.searches}
        return searched | {one.outcome for search in self.searches for one in search.judged}

    @property
    def beside(self) -> str:
        """Why the command does not end with 0 where nothing that was searched says so; empty where something does."""
        if self.code == SAFE or self.outcomes & {Outcome.FAILED, Outcome.ERROR}:
            return ""
        return self.failure or f"exit code {self.code}: {self.means}: {self.summary}"


def unfinished(words: str, code: int) -> Told:
    """The report that stands in the folder until there is another one."""
    return Told("check", words, "", Grid((), (), ()), (), code)


def by_property(histories: Sequence[History], name: str) -> tuple[History, ...]:
    """The histories of one property."""
    return tuple(one for one in histories if one.trace.property_name == name)
