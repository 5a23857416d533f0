"""Plans the searches of a question, and those which show that these can find what they look for.

In:  a `Case` and a `Question`.
Out: `Scenario`s, or the reason why nothing is searched.

A search without an acknowledged record, or without a fault after it, finds no loss whatever the protocol is. So each of
its bounds has to reach the goals of the model `kafka_scenarios` that apply to it (models/kafka/scenarios.py), or those
of the model `transactions`; otherwise the answer is undecided (answering.py). A search with fewer replicas than the
case only adds to another one, and a goal of its own (WRITES, READS, SURVIVES) needs no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.questions.answering import Asked
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import KAFKA, LIVENESS, SCENARIOS, TRANSACTIONS, why_unasked
from isrcheck.checker.questions.defects import searches_of_defect
from isrcheck.checker.questions.generations import written
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.scenarios import Scenario, scenarios
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance

GENERATION_OF = {"3.1": "2.8"}
"""The generation of `kafka_scenarios` that stands for one which only `kafka_liveness` has: both elect alike."""


def planned(case: Case, question: Question) -> Sequence[Scenario] | str:
    """The searches of a question, or the reason why no model has what is asked."""
    why = why_unasked(case, question)
    if why:
        return why
    searches = searches_of_defect(case, question.name) if question.topic is Topic.DEFECT else scenarios(case, question)
    return searches if isinstance(searches, str) else [*searches, *witnesses(searches)]


def witnesses(searches: Sequence[Scenario]) -> list[Scenario]:
    """The searches for what has to be reachable in these searches, each once."""
    found: dict[tuple[Instance, int | None], Scenario] = {}
    for scenario in searches:
        for instance in _with_goals(scenario):
            one = replace(scenario, instance=instance, prop="", is_permitted=False, unused=(), is_witness=True)
            found.setdefault((instance, scenario.depth), one)
    return list(found.values())


def _with_goals(scenario: Scenario) -> Iterator[Instance]:
    """The instance in which a search has its goals, if it has some."""
    instance = scenario.instance
    is_goal = any(one.name == scenario.prop and one.kind is Kind.SOMETIMES for one in instance.properties)
    if scenario.rule or is_goal:
        return
    if instance.model.name == TRANSACTIONS:
        yield instance
    elif instance.model.name in (KAFKA, LIVENESS):
        name = instance.protocol.name
        values = dict(instance.configuration.items()) | dict.fromkeys(scenario.unused, 0)
        yield registry.load(SCENARIOS)[0].instance(GENERATION_OF.get(name, name), values)


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
