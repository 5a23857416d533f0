"""Who answers the questions: the atlas, and the searches where it has no answer, or where --fresh asks for them.

In:  `Options`, and a function that opens a session of searches.
Out: an answerer (checker/doctor/asking.py). The session is opened at the first search, because importing it takes a
while; it says how far a search has come, which is an early answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isrcheck.checker.command.form import OpenSession, Options
from isrcheck.checker.doctor.asking import Answerer
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question
from isrcheck.checker.questions.recorded import Recorded
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.models.language.model import parse
from isrcheck.models.messages.errors import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.outcome.exploration import Progress


SIZES = ("records", "log_size", "partition_changes")
"""Bounds that --set can raise besides the budgets of faults."""


def answerer_of(options: Options, opening: OpenSession) -> Answerer:
    """Return what answers the questions of a command. Raises UsageError for an entry of --set that is no budget."""
    searches = _Searches(opening, budgets_of(options.settings))
    return searches if searches.budgets or options.own["fresh"] else _FromTheAtlas(searches)


def budgets_of(settings: Sequence[str]) -> dict[str, int]:
    """Read the budgets of `--set NAME=VALUE`. Raises UsageError for another entry of the model."""
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
    return found


class _EarlyAnswer(ProgressLine):
    """Says of a search that runs how far nothing was found."""

    def report(self, progress: Progress) -> None:
        """Report the progress of a search."""
        judged = max(progress.depth - 1, 0)
        self.tell(f"so far: nothing to depth {judged}, {progress.distinct:,} states", progress.seconds)


class _FromTheAtlas:
    """Answers from the atlas, and by search what is not in it; says once if the record is not of this version."""

    def __init__(self, searches: Answerer) -> None:
        self.recorded = Recorded(searches)
        self.told = ""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question. Raises KeyboardInterrupt."""
        found = self.recorded.find(case, question) if limits.depth is None else None
        if found is not None:
            return found
        if self.recorded.outdated and not self.told:
            self.told = self.recorded.outdated
            ProgressLine("atlas").announce(f"the atlas does not count: {self.told}; searching instead")
        return self.recorded.otherwise.answer(case, question, limits)


class _Searches:
    """Opens a session at the first question, and answers by search, with at least the given budgets."""

    def __init__(self, opening: OpenSession, budgets: Mapping[str, int]) -> None:
        self.opening = opening
        self.budgets = budgets
        self.searcher: Answerer | None = None

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Search a question. Raises KeyboardInterrupt."""
        if self.searcher is None:
            searching = importlib.import_module("isrcheck.checker.doctor.larger")  # here, for it imports the engines
            self.searcher = searching.SearcherWithBudgets(self.opening.open(progress_line=_EarlyAnswer), self.budgets)
        return self.searcher.answer(case, question, limits)
