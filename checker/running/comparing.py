"""Repeats recorded searches one after another, and compares their results with the record.

In:  the rows of a record (each has one or a few searches and their results), and a function that repeats the searches.
Out: a `Comparison`: the answer (new results) of each row, the rows left unanswered by a limit or Ctrl-C, the exit code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from isrcheck.checker.results.verdict import WHY_STOPPED, Word
from isrcheck.checker.running.session import CutShortError
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, UNEXPECTED


class Answer(Protocol):
    """The results of the searches of one row. If Ctrl-C interrupted these searches, no further row is searched."""

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended one of the searches."""


class ComparedAnswer(Answer, Protocol):
    """An answer that can say whether the results of the searches are the recorded results."""

    @property
    def has_difference(self) -> bool:
        """Whether a result differs from the recorded result."""

    @property
    def is_undecided(self) -> bool:
        """Whether a limit or Ctrl-C ended one of the searches."""


@dataclass(frozen=True)
class Figures:
    """The figures of one row, as text by name: `ours` from the repeated searches, and `recorded` from the record."""

    ours: Mapping[str, str]
    recorded: Mapping[str, str]
    is_interrupted: ClassVar[bool] = False
    is_undecided: ClassVar[bool] = False

    @property
    def has_difference(self) -> bool:
        """Whether a number differs from the recorded number."""
        return self.ours != self.recorded


RowKind = TypeVar("RowKind")
AnswerKind = TypeVar("AnswerKind", bound=Answer)
ComparedKind = TypeVar("ComparedKind", bound=ComparedAnswer)


@dataclass
class Comparison(Generic[RowKind, AnswerKind]):
    """The answers to the rows of a record, in the order of the rows, and the rows without an answer."""

    answers: list[tuple[RowKind, AnswerKind]] = field(default_factory=list)
    unanswered: list[RowKind] = field(default_factory=list)
    """The rows that a limit, or Ctrl-C, has left without an answer."""
    why: str = ""
    """The reason why the last unanswered row has no answer."""
    is_interrupted: bool = False

    def differing(self: Comparison[RowKind, ComparedKind]) -> list[RowKind]:
        """The rows whose results differ from the recorded results."""
        return [row for row, answer in self.answers if answer.has_difference]

    def code(self: Comparison[RowKind, ComparedKind]) -> int:
        """The exit code: 10 if a result differs from the record; else 3 if a row is unanswered or undecided; else 0."""
        if self.differing():
            return UNEXPECTED
        return UNDECIDED if self.unanswered or any(answer.is_undecided for _, answer in self.answers) else SAFE

    def verdict(self: Comparison[RowKind, ComparedKind]) -> str:
        """The `verdict` in the `--json` output: "as recorded", "UNDECIDED" or "differs", as the exit code says."""
        return {SAFE: "as recorded", UNDECIDED: Word.UNDECIDED.value, UNEXPECTED: "differs"}[self.code()]


def search_rows(
    rows: Iterable[RowKind], search: Callable[[RowKind], AnswerKind], *, ends_when_cut: bool = False
) -> Comparison[RowKind, AnswerKind]:
    """Call `search` for one row after another, and return the answers. A row whose search raises CutShortError gets no
    answer; with `ends_when_cut`, the rows after it are not searched. After Ctrl-C, no further row is searched."""
    comparison: Comparison[RowKind, AnswerKind] = Comparison()
    has_ended = False
    for row in rows:
        if has_ended:
            comparison.unanswered.append(row)
            continue
        try:
            answer = search(row)
        except CutShortError as error:
            comparison.unanswered.append(row)
            comparison.why, has_ended = str(error), ends_when_cut
        except KeyboardInterrupt:
            comparison.unanswered.append(row)
            comparison.why, comparison.is_interrupted, has_ended = WHY_STOPPED["interrupt"], True, True
        else:
            comparison.answers.append((row, answer))
            comparison.is_interrupted = has_ended = answer.is_interrupted
    return comparison
