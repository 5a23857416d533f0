"""Answers questions about cases: from the atlas, a record of earlier searches (models/kafka/atlas), or by search.

A search answers the questions that the atlas does not answer, and all questions with --fresh, --set or --bound. The
modules for searches are imported only for the first search, because their import is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from isrcheck.checker.answers.examining import Answerer, Expected
from isrcheck.checker.answers.findings import Finding, Search
from isrcheck.checker.answers.questions import Case, Question
from isrcheck.checker.answers.recorded import Record, Recorded
from isrcheck.checker.command.options import OpenSession, Options
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.models.language.model import parse, refuse_out_of_range
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.answers.searching import Searcher, SideBySide

SIZES = ("records", "log_size", "partition_changes")
"""Bounds that --set can raise in addition to the budgets of faults."""


MOST_PROCESSES = 4
"""The most simultaneous searches: of more, the last ones would run alone for most of the time."""


def answerer_of(options: Options, opening: OpenSession, left: Callable[[], float | None]) -> Answerer:
    """Return the `Answerer` for a command that has `left()` seconds left. Raises UsageError for an entry of --set that
    is neither a number of faults nor a size."""
    searches = Searches(opening, budgets_of(options.model.settings), left)
    return searches if searches.budgets or options.cluster.fresh else FromTheAtlas(searches)


def budgets_of(settings: Sequence[str]) -> dict[str, int]:
    """Read budgets (numbers of faults, sizes) from `--set NAME=VALUE`. Raises UsageError for a bad NAME or VALUE."""
    if not settings:
        return {}
    from isrcheck.models.kafka.generations import MODEL  # here, because few commands raise budgets

    budgets = {}
    for text in settings:
        name, _, value = text.partition("=")
        entry = MODEL.entries.get(name)
        if entry is None or not (entry.is_budget or name in SIZES):
            raise UsageError(
                f"--set {text}: neither a number of faults nor a size of the search; the files configure the cluster,"
                " and --set can only raise faults and sizes, as in --set crashes=2"
            )
        budgets[name] = parse(name, entry, value)
        refuse_out_of_range(name, entry, budgets[name])
    return budgets


class FromTheAtlas:
    """Answers from the record of the atlas, otherwise by search; reports once if the record is outdated or damaged."""

    def __init__(self, searches: Answerer, record: Record | None = None) -> None:
        """`searches` answers what the record does not answer. Without a `record`, the record in the package is used."""
        self.searches = searches
        self.recorded = Recorded(record)
        self._findings: dict[tuple[Case, Question], Finding | None] = {}
        self._is_announced = False

    def expect(self, questions: Sequence[Expected], limits: Limits, reserve: float, part: float) -> None:
        """Begin the searches for the questions that the atlas does not answer (see `Answerer.expect`)."""
        lacking = [expected for expected in questions if self._find(*expected[:2], limits) is None]
        self.searches.expect(lacking, limits, reserve, part)

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question from the record or by search. Raises KeyboardInterrupt as `Answerer.answer` does."""
        return self._find(case, question, limits) or self.searches.answer(case, question, limits)

    def close(self) -> None:
        """End all searches."""
        self.searches.close()

    def _find(self, case: Case, question: Question, limits: Limits) -> Finding | None:
        """Return the recorded answer; None if no answer is recorded, or if the limits set a depth (--bound). Only a new
        search keeps to that depth. Each answer is read from the record only once."""
        if limits.depth is not None:
            return None
        if (case, question) not in self._findings:
            self._findings[case, question] = self.recorded.find(case, question)
            why = self.recorded.outdated or ("it cannot be read" if self.recorded.record is None else "")
            if why and not self._is_announced:
                self._is_announced = True
                ProgressLine("atlas").announce(f"the recorded answers are not used: {why}; searching again")
        return self._findings[case, question]


class Searches:
    """Answers by search, with at least the given budgets of faults. If several questions are expected and more than one
    thread is allowed, the searches run side by side in processes; otherwise one after the other in a session."""

    def __init__(self, opening: OpenSession, budgets: Mapping[str, int], left: Callable[[], float | None]) -> None:
        self.opening = opening
        self.budgets = budgets
        self.left = left
        self.searcher: Searcher | None = None
        self.several: SideBySide | None = None

    def expect(self, questions: Sequence[Expected], limits: Limits, reserve: float, part: float) -> None:
        """Begin the searches for these questions, side by side if possible (see `Answerer.expect`)."""
        count = min(limits.threads, MOST_PROCESSES)
        if self.searcher is None and count > 1 and len(questions) > 1:
            from isrcheck.checker.answers.searching import Searcher, SideBySide

            self.several = SideBySide(count, self.left)
            self.searcher = Searcher(self.several, self.budgets)
        if self.several is None:
            return
        plans = [(self._planned(case, question), weight) for case, question, weight in questions]
        searches = [(search, weight / len(planned)) for planned, weight in plans for search in planned]
        self.several.expect(searches, limits, reserve, part)

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question by search. Raises KeyboardInterrupt as `Answerer.answer` does."""
        if self.searcher is None:
            from isrcheck.checker.answers.searching import EarlyAnswer, InThisProcess, Searcher

            session = self.opening.open(progress_line=EarlyAnswer)
            self.searcher = Searcher(InThisProcess(session), self.budgets)
        return self.searcher.answer(case, question, limits)

    def close(self) -> None:
        """End all searches."""
        if self.several is not None:
            self.several.close()

    def _planned(self, case: Case, question: Question) -> Sequence[Search]:
        assert self.searcher is not None
        try:
            searches = self.searcher.plan(case, question)
        except UsageError:  # it is raised again when the question is asked
            return ()
        return () if isinstance(searches, str) else searches
