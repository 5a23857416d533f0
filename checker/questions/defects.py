"""Which known failures a case may be exposed to, and the searches that tell.

In:  a `Case`, a release, and the library of known failures (models/kafka/failures).
Out: the questions to ask; and for each the `Scenario`s that answer it, or the reason why no model expresses it.

A failure is searched alone, within its own bounds and with the settings of the case: its own mistake is as in the case,
every other known mistake is repaired.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.checker.kafka_settings.releases import Version, version_of_binaries
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.generations import (
    KAFKA,
    LIVENESS,
    TRANSACTIONS,
    effective,
    family,
    has_records_with_epochs,
    isolated,
    loses_data,
    named,
    numbers,
)
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import sizes
from isrcheck.checker.questions.scenarios import LOST, Scenario, depth_of, settings_of, with_replicas
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, History, failures, pairs
from isrcheck.models.language.model import Instance, spell

NEEDS_ALL_ACKS = (LOST, "tolerates_claimed_failures")
"""Promises about acknowledged records: there are none without acks=all."""

BEYOND, MOST_BEYOND = 4, 14
"""With more replicas than its history needs, a failure is searched so many steps further, and to this depth at most."""


def is_in(failure: Failure, version: Version) -> bool:
    """Whether a release has a failure. A failure that depends on the configuration alone is in every release."""
    if failure.since == NO_RELEASE or (failure.since and not version.has_patch(failure.since)):
        return False
    return not any(_has_repair(version, release, failure.repaired[-1]) for release in failure.repaired)


def _has_repair(version: Version, release: str, last: str) -> bool:
    """Whether the repair of a release is in a version: of the same branch, or of any later one if it is the last."""
    is_of_branch = release == last or version_of_binaries(release).release == version.release
    return is_of_branch and version.has_patch(release)


def defects_of(case: Case, version: Version) -> list[Question]:
    """The known failures of a release that concern the mechanisms of a case, in the order of their numbers."""
    return [Question(Topic.DEFECT, name=one.name) for one in failures() if is_in(one, version) and concerns(case, one)]


def is_beside(name: str) -> bool:
    """Whether a known failure needs a fault that loses data (power, a disk), which Kafka alone does not survive."""
    return loses_data(named(name))


def concerns(case: Case, failure: Failure) -> bool:
    """Whether a known failure is about mechanisms of the case. One that the settings alone permit is not a defect."""
    history = failure.history
    if not failure.since:
        return False
    if history is None:
        return True
    if history.model == TRANSACTIONS:
        return bool(case.transactions)
    entries = pairs(history.configuration)
    return (
        (history.property_name not in NEEDS_ALL_ACKS or case.acks == "all")
        and (entries.get("enable_idempotence") != "on" or _is_numbered(case))
        and (entries.get("transactions", "0") == "0" or bool(case.transactions))
        and (entries.get("unclean_elections", "0") == "0" or case.unclean_election)
    )


def _is_numbered(case: Case) -> bool:
    return case.enable_idempotence and has_records_with_epochs(case)


def searches_of_defect(case: Case, name: str) -> list[Scenario] | str:
    """The searches that tell whether a case is exposed to a known failure, or why no model does."""
    failure = named(name)
    history = failure.history
    if history is None:
        return failure.why_not
    if not concerns(case, failure):
        return f"{failure.title}: not with these settings"
    if history.model == TRANSACTIONS:
        return [_of_transactions(case, history)]
    if history.model not in (KAFKA, LIVENESS):
        # A small model of the mechanism alone: no setting of the case is in it.
        return [Scenario(failure.title, history.instance, history.property_name)]
    bounds = bounds_for(failure, case.protocol)
    if bounds is None:
        return f"its bounds in generation {case.protocol} are not known"
    return _of_kafka(case, failure, history, bounds)


def bounds_for(failure: Failure, protocol: str) -> Mapping[str, str] | None:
    """The bounds in which a generation shows a failure: the last ones of its family that are not of a later one."""
    history = failure.history
    assert history is not None
    order = list(registry.load(history.model)[0].protocols)
    if protocol not in order:
        return None
    known = {history.protocol: history.configuration} | {one.protocol: one.configuration for one in failure.bounds}
    alike = [one for one in known if family(one, history.model) is family(protocol, history.model)]
    if not alike:
        return None
    earlier = [one for one in alike if order.index(one) <= order.index(protocol)]
    chosen = max(earlier, key=order.index) if earlier else min(alike, key=order.index)
    return {name: text for name, text in pairs(known[chosen]).items() if not name.isupper()}


def _of_kafka(case: Case, failure: Failure, history: History, bounds: Mapping[str, str]) -> list[Scenario]:
    model, _ = registry.load(history.model)
    switches = isolated(case, failure)
    given = numbers(model, bounds)
    least = given.pop("replicas", model.entries["replicas"].default)
    for name, is_used in (
        ("unclean_elections", case.unclean_election),
        ("preferred_elections", case.leader_rebalance),
        ("retries", case.retries),
    ):
        if name in given and not is_used:
            given[name] = 0
    if given.get("enable_idempotence"):
        numbering = dict(case.numbering)
        given["max_in_flight_requests"] = case.max_in_flight_requests
        given |= {name: numbering[name] for name in ("remembered_batches",) if name in numbering}
    is_permitted = history.verdict == "PERMITTED"
    found = []
    for replicas in sizes(case, least):
        own = {name: value for name, value in settings_of(case, replicas).items() if name in model.entries}
        if given.get("start_isr", 0) >= 1 << replicas:
            own["start_isr"] = (1 << replicas) - 1
        instance = model.instance(case.protocol, effective(given | switches | own))
        beyond = min(history.depth + BEYOND, MOST_BEYOND) if replicas > least else None
        depth = depth_of(replicas, beyond)
        scenario = Scenario(budgets(instance), instance, history.property_name, depth, is_permitted=is_permitted)
        found.append(with_replicas(scenario, case, replicas))
    return found


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
