"""What the models `coordinator` and `consumer_commits` find: each failure at its depth, and that its repair ends it.

Every search is exhaustive. A failure that is repaired by a switch is searched with the switch in both positions.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.searches import Values, failures, goals, promises, reached, searched, spelled
from isrcheck.models import registry
from isrcheck.models.coordinator.consumer_commits import Reset
from isrcheck.models.coordinator.runtime import Service
from isrcheck.models.messages import UsageError

SMALL = {"writes": 2}
ALONE = SMALL | {"elections": 0}
RETURNS = SMALL | {"elections": 2}
SHARE = {"service": Service.SHARE}
BEFORE_AUGUST = {"FLUSHES_EMPTY_BATCH": 1}
"""The patches of June 2026 have the first repair only."""
CHECKED = {"APPENDS_IN_ITS_EPOCH": 1}

GONE = {"acknowledged_commit_is_kept": 13}
REVERTED = {"state_agrees_with_log": 2, "log_is_valid": 3}
STALE = {"log_is_valid": 11}

COORDINATOR: list[tuple[str, Values, dict[str, int], int]] = [
    # KAFKA-20634: the high watermark of a follower acknowledges what was truncated. Two writes and an election suffice.
    ("4.0", SMALL, GONE, 5_643),
    ("4.0", SMALL | {"LISTENS_AS_FOLLOWER": 0}, {}, 5_638),
    ("4.0", SMALL | SHARE, GONE, 893),
    ("4.0", {"writes": 1}, {}, 319),
    ("4.0", {"elections": 0}, {}, 2_543),
    # KAFKA-20845: the flush of an empty batch reverts the state. It needs neither an election nor a fault.
    ("4.2", ALONE, REVERTED, 334),
    ("4.2", ALONE | {"FLUSHES_EMPTY_BATCH": 0}, {}, 269),
    ("4.2", {"writes": 1, "elections": 0}, {"state_agrees_with_log": 2}, 22),
    ("4.2", ALONE | SHARE, {}, 47),
    ("4.2", SMALL, GONE | REVERTED, 6_668),
    ("4.4", SMALL | BEFORE_AUGUST, REVERTED, 6_689),
    ("4.4", SMALL, {}, 5_638),
    # A batch that waits while leadership moves away and back is written in the new epoch.
    ("4.0", RETURNS, GONE | STALE, 47_968),
    ("4.4", RETURNS, STALE, 45_654),
    ("4.4", RETURNS | CHECKED, {}, 43_936),
    ("4.4", RETURNS | SHARE, {}, 6_850),
    # The default bounds, and larger ones.
    ("4.0", {}, GONE, 82_150),
    ("4.2", {}, GONE | REVERTED, 114_396),
    ("4.4", {}, {}, 80_340),
    ("4.4", {"elections": 2}, STALE, 874_757),
    ("4.4", {"elections": 2} | CHECKED, {}, 783_630),
    ("4.4", {"replicas": 3}, {}, 857_665),
    ("4.4", {"elections": 2} | SHARE, {}, 58_407),
]

LATEST = {"auto_offset_reset": Reset.LATEST}
ADDED = LATEST | {"partition_is_added": 1}
FROM_START = {"new_partitions_from_start": 1}
SURE = {"restarts": 0}

EARLY = {"committed_records_were_returned": 6, "committed_records_were_processed": 6}

CONSUMER: list[tuple[str, Values, dict[str, int], int]] = [
    # KAFKA-18641: the position of a record is committed before poll() returns the record.
    ("classic", {}, {}, 316),
    ("3.9", {"records": 1}, EARLY | {"no_record_is_skipped": 8}, 85),
    ("3.9", {"records": 1} | SURE, EARLY, 26),
    ("3.9", {}, EARLY | {"no_record_is_skipped": 8}, 393),
    ("3.9", {"COMMITS_AT_ANY_TIME": 0}, {}, 316),
    ("4.1", {}, {}, 316),
    ("4.1", {"records": 4, "restarts": 2}, {}, 5_057),
    # KAFKA-20539: a partition is added, and `latest` skips what was produced before the consumer knew it.
    ("4.1", ADDED | SURE, {"no_record_is_skipped": 3}, 102),
    ("4.4", ADDED | SURE, {"no_record_is_skipped": 3}, 102),
    ("4.4", ADDED | FROM_START, {}, 317),
    ("4.4", {"partition_is_added": 1}, {}, 317),
    # A consumer that crashes before its first commit begins at the end once more.
    ("classic", LATEST, {"no_record_is_skipped": 4}, 357),
    ("4.4", LATEST, {"no_record_is_skipped": 4}, 357),
    ("4.4", LATEST | SURE, {}, 101),
]

RUNS = [("coordinator", *run) for run in COORDINATOR] + [("consumer_commits", *run) for run in CONSUMER]
MODELS = {name: registry.load(name)[0] for name in ("coordinator", "consumer_commits")}


@pytest.mark.parametrize(
    ("name", "protocol", "values", "expected", "states"),
    sampled(RUNS, lambda run: run[4] < 100_000),
    ids=spelled,
)
def test_failures_are_found_at_their_depths(
    name: str, protocol: str, values: Values, expected: dict[str, int], states: int
) -> None:
    found = searched(MODELS[name], protocol, values)
    assert (failures(found), found.distinct) == (expected, states)


@pytest.mark.parametrize("name", MODELS)
def test_every_promise_fails_in_a_recorded_run(name: str) -> None:
    assert {promise for model, _, _, failed, _ in RUNS if model == name for promise in failed} == promises(MODELS[name])


@pytest.mark.parametrize(("name", "values"), [("coordinator", SMALL), ("consumer_commits", {})])
def test_neighbours_differ_by_a_recorded_history(name: str, values: Values) -> None:
    """`4.1` and `4.4` of the consumer: by a setting that 4.1 does not have. Their other rules are the same."""
    for older, newer in pairwise(MODELS[name].protocols):
        if (older, newer) == ("4.1", "4.4"):
            with pytest.raises(UsageError, match=r"choose --protocol 4\.4"):
                MODELS[name].instance(older, ADDED | FROM_START)
            assert failures(searched(MODELS[name], newer, ADDED | FROM_START)) == {}
        else:
            assert failures(searched(MODELS[name], older, values)) != failures(searched(MODELS[name], newer, values))


@pytest.mark.parametrize(
    ("name", "protocol", "values", "count"),
    [("coordinator", "4.4", {}, 6), ("coordinator", "4.4", SHARE, 5), ("consumer_commits", "4.1", {}, 3)],
)
def test_everything_that_must_be_possible_is_reachable(name: str, protocol: str, values: Values, count: int) -> None:
    wanted = goals(MODELS[name].instance(protocol, values))
    assert reached(searched(MODELS[name], protocol, values)) == wanted
    assert len(wanted) == count
