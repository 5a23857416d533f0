"""The searches which show that the other searches of a question can find what they look for.

In:  the searches of a question.
Out: `Scenario`s: for each search its own bounds, in a model whose goals all have to be reached there.

A search without an acknowledged record, or without a fault after it, finds no loss whatever the protocol is. So each of
its bounds has to reach the goals of the model `kafka_scenarios` that apply to it (models/kafka/scenarios.py), or those
of the model `transactions`; otherwise the answer is undecided (answering.py). A search with fewer replicas than the
case only adds to another one, and a goal of its own (WRITES, READS, SURVIVES) needs no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.questions.concerns import KAFKA, LIVENESS, SCENARIOS, TRANSACTIONS
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.models import registry
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance

GENERATION_OF = {"3.1": "2.8"}
"""The generation of `kafka_scenarios` that stands for one which only `kafka_liveness` has: both elect alike."""


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
