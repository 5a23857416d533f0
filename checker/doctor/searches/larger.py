"""Searches with larger budgets than those that answer a question as a rule.

In:  what makes a search, and the least budgets (`--set crashes=2`).
Out: an answerer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.checker.questions.searching import Search, Searcher

AS_THEY_ARE = (Topic.WRITES, Topic.READS, Topic.SURVIVES)
"""Questions whose searches have no faults but the brokers that are down."""


class SearcherWithBudgets(Searcher):
    """Answers by search; each search has at least the budgets `least`, as far as its model has them."""

    def __init__(self, search: Search, least: Mapping[str, int]) -> None:
        super().__init__(search)
        self.least = least

    def plan(self, case: Case, question: Question) -> Sequence[Scenario] | str:
        """The searches of a question, with the larger budgets."""
        found = super().plan(case, question)
        if isinstance(found, str) or question.topic in AS_THEY_ARE:
            return found
        return [self._raised(one) for one in found]

    def _raised(self, scenario: Scenario) -> Scenario:
        instance = scenario.instance
        values = dict(instance.configuration.items())
        larger = {name: count for name, count in self.least.items() if name in values and count > values[name]}
        if not larger:
            return scenario
        says = ", ".join([scenario.says, *(f"{name}={count}" for name, count in larger.items())])
        return replace(scenario, instance=instance.model.instance(instance.protocol.name, values | larger), says=says)
