"""Liveness of Kafka's replication: a reconciliation that never ends, a follower that stays out, a stuck offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conformance.tests.support.searches import certified
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.kafka.generations import MODEL as SAFE
from isrcheck.models.kafka.liveness import LOST, MODEL
from isrcheck.models.language.fairness import Fairness
from isrcheck.models.language.model import Model

pytestmark = pytest.mark.sampled

FOLLOWER, FIRST_LEADER = "follower_rejoins_the_isr", "first_leader_rejoins_the_isr"
RECONCILES, CHANGES, ADVANCES = "reconciliation_ends", "isr_changes_complete", "last_stable_offset_advances"

EMPTY_EPOCH = {"replicas": 2, "records": 2, "common_records": 1, "crashes": 0, "start_isr": 3}
THREE_LEADERS = EMPTY_EPOCH | {"elections": 3, "preferred_elections": 2, "bounces": 0}
ON_FETCH = EMPTY_EPOCH | {"preferred_elections": 1, "log_size": 2, "elections": 2}
"""A leader that appends nothing in its epoch follows a leader of an earlier epoch afterwards (KAFKA-10706)."""

DEAD_FOLLOWER = {"replicas": 2, "elections": 0, "partition_changes": 2, "log_size": 2, "transactions": 1}
DEAD_FOLLOWER |= {"crashes": 1, "min_insync_replicas": 1}
"""A follower dies, and once it has left the ISR, nothing is fetched or appended (KAFKA-13091)."""

SMALL = {"replicas": 2, "elections": 1, "records": 1, "log_size": 1, "bounces": 0, "min_insync_replicas": 1}
KRAFT = {"replicas": 2, "partition_changes": 3, "min_insync_replicas": 1}


def failing(protocol: str, values: Mapping[str, int]) -> tuple[int, dict[str, str]]:
    """The number of states, and the properties that do not hold, with their verdicts."""
    states, judged = certified(MODEL.instance(protocol, values))
    return states, {name: text for name, text in judged.items() if text not in ("HOLDS", "n/a")}


@pytest.mark.parametrize(
    ("protocol", "values", "states", "failures", "where"),
    [
        ("2.4", THREE_LEADERS, 3_353, (FIRST_LEADER, RECONCILES), "8 (stays there)"),
        ("2.4", THREE_LEADERS | {"EPOCH_ENTRY_AT_END_DROPPED": 1}, 2_918, (), ""),
        ("3.1", ON_FETCH | {"EPOCH_ENTRY_AT_END_DROPPED": 0}, 5_111, (FOLLOWER, RECONCILES), "8 (back to step 5)"),
        ("3.1", ON_FETCH, 5_773, (), ""),
        ("2.8", DEAD_FOLLOWER, 6_087, (ADVANCES,), "5 (stays there)"),
        ("3.1", DEAD_FOLLOWER, 5_681, (), ""),
    ],
)
def test_a_mistake_goes_on_for_ever_and_its_repair_does_not(
    protocol: str, values: Mapping[str, int], states: int, failures: tuple[str, ...], where: str
) -> None:
    assert failing(protocol, values) == (states, dict.fromkeys(failures, f"VIOLATED at step {where}"))


@pytest.mark.parametrize(
    ("protocol", "values", "states"),
    [
        ("0.8", SMALL, 439),
        ("0.10", SMALL, 588),
        ("0.11", SMALL, 638),
        ("2.0", SMALL, 638),
        ("2.1", SMALL, 563),
        ("2.4", SMALL | {"replicas": 3}, 34_429),
        ("3.1", SMALL | {"partition_changes": 3}, 4_125),
        ("3.3", KRAFT, 6_726),
        ("3.5", KRAFT, 6_614),
        ("3.7", KRAFT, 13_859),
        ("4.0", KRAFT, 6_820),
        ("4.1", KRAFT, 6_769),
        ("4.3", KRAFT, 6_769),
    ],
)
def test_every_generation_makes_progress(protocol: str, values: Mapping[str, int], states: int) -> None:
    assert failing(protocol, values) == (states, {})


def broken_if_fair_to(fair: tuple[Fairness, ...], protocol: str, values: Mapping[str, int]) -> set[str]:
    """The properties that are violated if nothing else is fair."""
    model = replace(MODEL, properties=tuple(replace(prop, fair=fair) for prop in MODEL.properties))
    found = explore(model.instance(protocol, values), Limits(memory=1 << 30))
    return {name for name, findings in found.findings.items() if findings.found.path is not None}


WITH_MARKER = DEAD_FOLLOWER | {"crashes": 0}
WITH_DELETED = {"replicas": 2, "delete_records": 1, "common_records": 1, "elections": 0, "bounces": 0, "crashes": 0}
TWO_ELECTIONS = KRAFT | {"elections": 2, "partition_changes": 4}
FAIR = MODEL.properties[0].fair or ()
PROGRESS = {FOLLOWER, FIRST_LEADER, RECONCILES, CHANGES, ADVANCES}


def test_without_fairness_everything_can_stop():
    """No property is true only because it is judged in no state."""
    assert broken_if_fair_to((), "3.3", TWO_ELECTIONS) == PROGRESS
    assert broken_if_fair_to((), "2.4", SMALL) == PROGRESS - {CHANGES}


REASSIGNED = KRAFT | {"reassignments": 1, "elections": 2, "partition_changes": 4}


@pytest.mark.parametrize(("protocol", "start_assignment", "states"), [("4.1", 1, 5_224), ("4.3", 0, 39_564)])
def test_a_replica_that_a_reassignment_adds_joins_the_isr(protocol: str, start_assignment: int, states: int) -> None:
    assert failing(protocol, REASSIGNED | {"start_assignment": start_assignment}) == (states, {})


@pytest.mark.exhaustive
def test_a_change_that_removes_the_leader_is_made_at_last() -> None:
    """Without that kind of work, the leader's change stays pending, and nobody joins the ISR."""
    fair = tuple(
        replace(work, actions=tuple(name for name in work.actions if name != "controller_completes_reassignment"))
        for work in FAIR
    )
    assert broken_if_fair_to(fair, "4.3", REASSIGNED) == {FOLLOWER, FIRST_LEADER, CHANGES, ADVANCES}


@pytest.mark.exhaustive
def test_nothing_is_fair_in_vain():
    """Each kind of work is needed: without its fairness, some property fails in one of these clusters."""
    clusters = [("2.4", SMALL), ("2.4", WITH_DELETED), ("2.8", ON_FETCH), ("3.1", WITH_MARKER), ("3.3", TWO_ELECTIONS)]
    assert FAIR
    for work in FAIR:
        others = tuple(other for other in FAIR if other is not work)
        assert any(broken_if_fair_to(others, protocol, values) for protocol, values in clusters), work


def test_it_is_the_same_model_but_nothing_is_lost():
    """Of the actions of `kafka`, two that lose messages are missing; one that drops a useless response is there."""
    ours, theirs = ([one.name for one in model.actions] for model in (MODEL, SAFE))
    assert [name for name in ours if name != "response_no_longer_fits"] == theirs
    for protocol in SAFE.protocols:
        lost = {
            name
            for name, has, had in zip(theirs, taken(MODEL, protocol)[1:], taken(SAFE, protocol), strict=True)
            if has != had
        }
        assert lost == {name for name, had in zip(theirs, taken(SAFE, protocol), strict=True) if had and name in LOST}
        assert MODEL.protocols[protocol].switches == SAFE.protocols[protocol].switches


def taken(model: Model, protocol: str) -> list[bool]:
    """Whether a generation has each action."""
    return [one is not None for one in model.protocols[protocol].alternatives]
