"""Who answers the questions: the atlas, and the searches where it has no answer, or where --fresh asks for them.

In:  `Options`, and a function that opens a session of searches.
Out: an answerer (checker/doctor/asking.py). What searches is imported for the first search, because that takes a while;
it says how far a search has come, which is an early answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from isrcheck.checker.command.options import OpenSession, Options
from isrcheck.checker.doctor.asking import Expected, ExpectingAnswerer
from isrcheck.checker.doctor.searches.early_answer import EarlyAnswer
from isrcheck.checker.questions.answering import Answerer
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question
from isrcheck.checker.questions.recorded import Recorded
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.models.language.model import parse, refuse_out_of_range
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.questions.scenarios import Scenario


SIZES = ("records", "log_size", "partition_changes")
"""Bounds that --set can raise besides the budgets of faults."""


MOST_PROCESSES = 4
"""Searches that are made at a time: with more, the last ones run alone for most of the time."""


def answerer_of(options: Options, opening: OpenSession, left: Callable[[], float | None]) -> ExpectingAnswerer:
    """Return what answers the questions of a command; `left` returns the seconds that it has left. Raises UsageError
    for an entry of --set that is no budget."""
    searches = _Searches(opening, budgets_of(options.model.settings), left)
    return searches if searches.budgets or options.cluster.fresh else _FromTheAtlas(searches)


def budgets_of(settings: Sequence[str]) -> dict[str, int]:
    """Read the budgets of `--set NAME=VALUE`. Raises UsageError for another entry, or a value out of its range."""
    if not settings:
        return {}
    from isrcheck.models.kafka.generations import MODEL  # here, for few commands raise budgets

    found = {}
    for text in settings:
        name, _, value = text.partition("=")
        entry = MODEL.entries.get(name)
        if entry is None or not (entry.is_budget or name in SIZES):
            raise UsageError(
                f"--set {text}: the files configure the cluster; only faults and sizes of the search can be raised,"
                " as in --set crashes=2"
            )
        found[name] = parse(name, entry, value)
        refuse_out_of_range(name, entry, found[name])
    return found


class _FromTheAtlas:
    """Answers from the atlas, and by search what is not in it; says once in a command if the record does not count."""

    def __init__(self, searches: _Searches) -> None:
        self.searches = searches
        self.recorded = Recorded(searches)
        self._found: dict[tuple[Case, Question], Finding | None] = {}
        self._is_told = False

    def expect(self, expected: Expected) -> None:
        """Begin to search what will be asked and is not in the atlas."""
        lacking = [one for one in expected.questions if self._find(*one[:2], expected.limits) is None]
        self.searches.expect(replace(expected, questions=lacking))

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question. Raises KeyboardInterrupt."""
        found = self._find(case, question, limits)
        return self.searches.answer(case, question, limits) if found is None else found

    def close(self) -> None:
        """End all searches."""
        self.searches.close()

    def _find(self, case: Case, question: Question, limits: Limits) -> Finding | None:
        """The recorded answer, looked up once; a depth in the limits asks for a search."""
        if limits.depth is not None:
            return None
        if (case, question) not in self._found:
            self._found[case, question] = self.recorded.find(case, question)
            why = self.recorded.outdated or ("it cannot be read" if self.recorded.record is None else "")
            if why and not self._is_told:
                self._is_told = True
                ProgressLine("atlas").announce(f"recorded answers do not count: {why}; searching again")
        return self._found[case, question]


class _Searcher(Answerer, Protocol):
    """Plans and makes the searches of a question; in checker/questions/searching.py, which imports the engines."""

    def plan(self, case: Case, question: Question) -> Sequence[Scenario] | str: ...


class _Searches:
    """Answers by search, with at least the given budgets: one search at a time in a session, which is opened for the
    first of them; or several side by side, if several are expected and more than one thread may be used."""

    def __init__(self, opening: OpenSession, budgets: Mapping[str, int], left: Callable[[], float | None]) -> None:
        self.opening = opening
        self.budgets = budgets
        self.left = left
        self.searcher: _Searcher | None = None
        self.several: Any = None

    def expect(self, expected: Expected) -> None:
        """Begin to search what will be asked."""
        count = min(expected.limits.threads, MOST_PROCESSES)
        if self.searcher is None and (count == 1 or len(expected.questions) <= 1):
            return
        if self.searcher is None:
            self.several = _room("side_by_side").SideBySide(count, self.left, _room("worker").serve)
            self.searcher = _room("larger").SearcherWithBudgets(self.several, self.budgets)
        if self.several is None:
            return
        searches: list[tuple[Scenario, float]] = []
        for case, question, weight in expected.questions:
            planned = self._planned(case, question)
            searches += [(one, weight / len(planned)) for one in planned]
        self.several.expect(searches, expected.limits, expected.reserve, expected.part)

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Search a question. Raises KeyboardInterrupt."""
        if self.searcher is None:
            session = self.opening.open(progress_line=EarlyAnswer)
            search = importlib.import_module("isrcheck.checker.questions.searching").InThisProcess(session)
            self.searcher = _room("larger").SearcherWithBudgets(search, self.budgets)
        return self.searcher.answer(case, question, limits)

    def close(self) -> None:
        """End all searches."""
        if self.several is not None:
            self.several.close()

    def _planned(self, case: Case, question: Question) -> Sequence[Scenario]:
        assert self.searcher is not None
        try:
            found = self.searcher.plan(case, question)
        except UsageError:  # told when the question is asked
            return ()
        return () if isinstance(found, str) else found


def _room(name: str) -> ModuleType:
    """A module that imports the engines, which takes a while."""
    return importlib.import_module(f"isrcheck.checker.doctor.searches.{name}")
