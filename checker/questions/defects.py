"""The searches that tell whether a case is exposed to a known failure.

In:  a `Case`, and the name of a failure of the library (models/kafka/failures).
Out: the `Scenario`s that answer it, or the reason why no model expresses it.

A failure is searched alone, within its own bounds and with the settings of the case: its own mistake is as in the case,
every other known mistake is repaired.
"""

from __future__ import annotations

from functools import cache

from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import KAFKA, LIVENESS, TRANSACTIONS, loses_data
from isrcheck.checker.questions.finding import History as Known
from isrcheck.checker.questions.generations import effective, family, isolated, numbers
from isrcheck.checker.questions.history import trace_of
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import simplified, sizes
from isrcheck.checker.questions.scenarios import Scenario, depth_of, settings_of, with_replicas
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import Bounds, Failure, History, named, pairs
from isrcheck.models.language.model import Instance, Model, spell
from isrcheck.models.messages import UsageError
from isrcheck.traces.explaining.cause import rarity

BEYOND, MOST_BEYOND = 4, 14
"""With more replicas than its history needs, a failure is searched so many steps further, and to this depth at most."""


def searches_of_defect(case: Case, name: str) -> list[Scenario] | str:
    """The searches that tell whether a case is exposed to a known failure, or why no model does."""
    case, failure = simplified(case, Question(Topic.DEFECT, name=name)), named(name)
    history = failure.history
    assert history is not None, "it takes a search"
    if history.model == TRANSACTIONS:
        return [_of_transactions(case, history)]
    if history.model not in (KAFKA, LIVENESS):
        # A small model of the mechanism alone: no setting of the case is in it.
        return [Scenario(failure.title, history.instance, history.property_name)]
    bounds = bounds_for(failure, case.protocol)
    if not bounds:
        return f"there is no search that shows it alone in generation {case.protocol}"
    try:
        found = [scenario for one in bounds for scenario in _of_kafka(case, failure, history, one)]
    except UsageError as refusal:
        return f"generation {case.protocol} does not have what its history needs: {refusal}"
    if not any(one.name == history.property_name for scenario in found for one in scenario.instance.properties):
        return f"generation {case.protocol} does not promise {history.property_name}"
    return found


def bounds_for(failure: Failure, protocol: str) -> list[Bounds]:
    """The bounds in which a generation shows a failure: the last ones of its family that are not of a later one. Empty
    if there are none."""
    history = failure.history
    assert history is not None
    order = list(registry.load(history.model)[0].protocols)
    if protocol not in order:
        return []
    own = Bounds(history.protocol, history.configuration, _explored(failure))
    alike = [
        one for one in (own, *failure.bounds) if family(one.protocol, history.model) is family(protocol, history.model)
    ]
    places = sorted({order.index(one.protocol) for one in alike})
    earlier = [place for place in places if place <= order.index(protocol)]
    chosen = earlier[-1:] or places[:1]
    return [one for one in alike if order.index(one.protocol) in chosen]


def _explored(failure: Failure) -> int | None:
    """The depth to which the library searches with a change that ends the failure; None if it goes to the end."""
    return max((one.explored for one in failure.changes if one.explored is not None), default=None)


def _of_kafka(case: Case, failure: Failure, history: History, bounds: Bounds) -> list[Scenario]:
    model, _ = registry.load(history.model)
    switches = isolated(case, failure)
    given = numbers(model, {name: text for name, text in pairs(bounds.configuration).items() if not name.isupper()})
    least = given.pop("replicas", model.entries["replicas"].default)
    explored = bounds.explored
    for name, is_used in (
        ("unclean_elections", case.unclean_election),
        ("preferred_elections", case.leader_rebalance),
        ("retries", case.retries),
    ):
        if given.get(name) and not is_used:
            given[name], explored = 0, None  # without this mechanism the search ends soon
    if given.get("enable_idempotence"):
        numbering = dict(case.numbering)
        given["max_in_flight_requests"] = case.max_in_flight_requests
        given |= {name: numbering[name] for name in ("remembered_batches",) if name in numbering}
    is_permitted = history.verdict == "PERMITTED"
    flushed = {"flush_interval_messages": 0} if loses_data(failure) else {}
    if flushed and case.flushes_every_message:
        # A loss of power that loses nothing is a crash.
        flushed = {"flush_interval_messages": 1, "crashes": given.get("crashes", 0) + given.get("power_losses", 0)}
    used = _spent(failure.name) | {name for name, count in (given | flushed).items() if count}
    unused = tuple(name for name in _spendable(model) if name not in used)
    found = []
    for replicas in sizes(case, least):
        own = {name: one for name, one in (settings_of(case, replicas) | flushed).items() if name in model.entries}
        if given.get("start_isr", 0) >= 1 << replicas:
            own["start_isr"] = (1 << replicas) - 1
        instance = model.instance(case.protocol, effective(given | switches | own))
        beyond = min(history.depth + BEYOND, MOST_BEYOND) if replicas > least else explored
        depth = depth_of(replicas, beyond)
        scenario = Scenario(
            *(budgets(instance), instance, history.property_name, depth), is_permitted=is_permitted, unused=unused
        )
        found.append(with_replicas(scenario, case, replicas))
    return found


def _spendable(model: Model) -> list[str]:
    """The budgets that are spent by what happens, and not by what the controller writes down of it."""
    return [name for name, entry in model.entries.items() if entry.is_budget and name != "partition_changes"]


@cache
def _spent(name: str) -> frozenset[str]:
    """The budgets that the known history of a failure spends."""
    history = named(name).history
    assert history is not None
    as_found = Known(
        *(history.model, history.protocol, history.configuration, history.property_name, history.verdict),
        *(history.start, history.steps, history.loop),
    )
    return frozenset(rarity(trace_of(as_found)))


def _of_transactions(case: Case, history: History) -> Scenario:
    model, _ = registry.load(TRANSACTIONS)
    values = dict(case.transactions)
    protocol = values.pop("protocol", None)
    bounds = {name: text for name, text in pairs(history.configuration).items() if not name.isupper()}
    instance = model.instance(protocol, numbers(model, bounds | values))
    return Scenario(budgets(instance), instance, history.property_name)


def budgets(instance: Instance) -> str:
    """The budgets of a search that are not 0, as on the command line: elections=3 crashes=1."""
    entries = instance.model.entries
    return " ".join(
        f"{name}={spell(entries[name], value)}"
        for name, value in instance.configuration.items()
        if entries[name].is_budget and value
    )
