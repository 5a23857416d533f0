"""Plans the searches of a question.

In:  a `Case` and a `Question`.
Out: `Scenario`s, or the reason why nothing is searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.checker.questions.answering import Asked
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import why_unasked
from isrcheck.checker.questions.defects import searches_of_defect
from isrcheck.checker.questions.generations import written
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.scenarios import Scenario, scenarios
from isrcheck.checker.questions.witnesses import witnesses


def planned(case: Case, question: Question) -> Sequence[Scenario] | str:
    """The searches of a question, or the reason why no model has what is asked."""
    why = why_unasked(case, question)
    if why:
        return why
    searches = searches_of_defect(case, question.name) if question.topic is Topic.DEFECT else scenarios(case, question)
    return searches if isinstance(searches, str) else [*searches, *witnesses(searches)]


def asked_of(scenario: Scenario) -> Asked:
    """What is asked of a search, without the instance."""
    instance = scenario.instance
    return Asked(
        says=scenario.says,
        model=instance.model.name,
        protocol=instance.protocol.name,
        configuration=written(instance),
        prop=scenario.prop,
        depth=scenario.depth,
        initial=scenario.initial,
        is_permitted=scenario.is_permitted,
        choices=scenario.choices,
        rule=scenario.rule,
        is_witness=scenario.is_witness,
    )
