"""Random walks with every fault, election and client feature of the model: the cluster agrees."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import pytest

from conformance.tests.sampling import exhaustive, recorded, sampled
from conformance.tests.support.replay import (
    EVERY_CLIENT,
    EVERY_FAULT,
    EVERY_KRAFT_FAULT,
    IDEMPOTENT,
    LOSING_RECORDS,
    READERS,
    SESSIONS,
    SINCE_ALTER_ISR,
    WITH_TRANSACTIONS,
    ZOOKEEPER,
    must_replay,
    steps_in,
    walk_of,
)

ACKS_ONE = MappingProxyType({"acks": 1, "retries": 2, "records": 3, "log_size": 3, "power_losses": 1})
ACKS_ZERO = MappingProxyType({"acks": 0, "brokers_down": 1, "elections": 4})
OLD_IDEMPOTENT = MappingProxyType({**LOSING_RECORDS, "CLIENT_BUMPS_EPOCH": 0, "delete_records": 1})
REMEMBERING = MappingProxyType(
    {**IDEMPOTENT, "PRODUCER_STATE_KEPT": 1, "UNKNOWN_PID_POLICY": 1, "delete_records": 1, "power_losses": 1}
)
ONE_IN_FLIGHT = MappingProxyType({"enable_idempotence": 1, "max_in_flight_requests": 1, "retries": 2, "records": 3})
RESETS = MappingProxyType(
    {"consumers": 1, "auto_offset_reset": 1, "delete_records": 1, "replicas": 2, "min_insync_replicas": 1}
    | {"elections": 4, "unclean_elections": 2, "crashes": 3}
)
ROOM = MappingProxyType({"partition_changes": 12})
"""For the changes of the ISR, which are changes of the record since 2.8."""

FOUR_BROKERS = MappingProxyType({"replicas": 4, "elections": 4, "min_insync_replicas": 1})


UNTOUCHED = MappingProxyType({**EVERY_CLIENT, "delete_records": 0})
"""In the model, a read_committed reader reads past an open transaction whose first records were deleted."""

FAULTS = set(
    steps_in(
        "broker_loses_power; broker_loses_disk; controller_elects_preferred; controller_elects_unclean;"
        " producer_retries"
    )
)
FIRST_OF_TWO = {"follower_takes_high_watermark_first"}
OUT_OF_RANGE = {"follower_is_out_of_range"}
ALTER_ISR = set(
    steps_in(
        "controller_handles_alter_partition; leader_hears_answer; answer_to_leader_is_lost;"
        " follower_truncates; follower_takes_high_watermark_first"
    )
)
REASSIGNED_AT_ONCE = {"controller_begins_reassignment", "controller_reassigns_without_leader"}
BROKERS = {
    *steps_in(
        "controller_fences_broker; controller_fences_leader; controller_fences_last_leader;"
        " controller_unfences_broker; broker_applies_metadata; broker_asks_to_shut_down; broker_shuts_down;"
        " leader_asks_to_shut_down; last_leader_asks_to_shut_down"
    ),
    *REASSIGNED_AT_ONCE,
    *steps_in("broker_crashes_while_it_fetches; broker_loses_disk_while_it_fetches; late_fetch_is_lost"),
}
REASSIGNED = MappingProxyType({"reassignments": 3, "partition_changes": 10, "elections": 6, "crashes": 2})
REASSIGNMENTS = {
    *REASSIGNED_AT_ONCE,
    "controller_completes_reassignment",
    "controller_cancels_reassignment",
}
ADMINISTERED = MappingProxyType(
    {**REASSIGNED, "records": 2, "log_size": 2, "fencings": 2, "shutdowns": 2, "min_isr_changes": 2}
    | {"unregistrations": 1, "folder_deletions": 1, "directory_reports": 1, "dropped_metadata": 1}
)
ADMINISTRATORS = set(
    steps_in(
        "operator_changes_min_insync_replicas; broker_reads_configuration;"
        " controller_unregisters_broker; broker_drops_metadata; controller_begins_reassignment;"
        " controller_reassigns_without_leader"
    )
)
LATE_FETCHES = MappingProxyType(
    {"late_fetches": 2, "crashes": 2, "disk_losses": 1, "fencings": 1, "partition_changes": 8, "elections": 4}
)
CLIENTS = set(
    steps_in(
        "producer_appends_in_transaction; coordinator_commits; coordinator_aborts; leader_appends_marker;"
        " leader_deletes_records; follower_starts_over; producer_retries"
    )
)


KRAFT_IN_CI = [("3.3", EVERY_KRAFT_FAULT), ("4.1", REASSIGNED), ("4.1", SESSIONS), ("3.5", LATE_FETCHES)]
"""The configurations with KRaft that `make test-exhaustive` runs; `make verify` runs the others."""


def with_seeds(cases: Iterable[Any]) -> list[Any]:
    """Each case with the seeds of its walks: 150 in `make verify`, and 35 if the case also runs at other times."""
    parameters = [case if hasattr(case, "marks") else pytest.param(*case) for case in cases]
    others = [case for case in parameters if not any(mark.name == "recorded" for mark in case.marks)]
    return [pytest.param(*case.values, range(35), marks=case.marks) for case in others] + [
        recorded((*case.values, range(150))) for case in parameters
    ]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "values", "also", "seeds"),
    with_seeds(
        [
            *sampled(
                [
                    (protocol, EVERY_FAULT, FAULTS | (ALTER_ISR if protocol in SINCE_ALTER_ISR else OUT_OF_RANGE))
                    for protocol in ZOOKEEPER
                ],
                lambda one: one[0] == "2.8",
                last=lambda one: one[0] != "2.1",
            ),
            *sampled(
                [
                    ("3.3", EVERY_KRAFT_FAULT, FAULTS | ALTER_ISR | BROKERS),
                    ("3.5", EVERY_KRAFT_FAULT, FAULTS | (ALTER_ISR - FIRST_OF_TWO) | BROKERS),
                    ("3.7", EVERY_KRAFT_FAULT, FAULTS | (ALTER_ISR - FIRST_OF_TWO) | BROKERS),
                    ("4.1", EVERY_KRAFT_FAULT, FAULTS | (ALTER_ISR - FIRST_OF_TWO) | BROKERS),
                    ("4.1", REASSIGNED, REASSIGNMENTS),
                    ("4.3", REASSIGNED, REASSIGNMENTS),
                    ("4.1", ADMINISTERED, ADMINISTRATORS | {"broker_reports_directory"}),
                    ("4.3", ADMINISTERED, ADMINISTRATORS),
                    ("4.1", SESSIONS, {"controller_fences_last_leader", "broker_shuts_down"}),
                    ("3.3", LATE_FETCHES, {"leader_handles_late_fetch"}),
                    ("3.5", LATE_FETCHES, {"late_fetch_is_lost"}),
                    ("3.7", {**EVERY_KRAFT_FAULT, "MAXIMAL_ISR": 1}, BROKERS),
                    ("3.7", {**EVERY_KRAFT_FAULT, "MAXIMAL_ISR": 2}, BROKERS),
                    ("3.7", {**EVERY_KRAFT_FAULT, "LEADER_CHOICE": 1}, BROKERS),
                    ("3.7", {**EVERY_KRAFT_FAULT, "EQUAL_PARTITION_EPOCH_REPLACES": 0}, BROKERS),
                    ("3.7", {**EVERY_KRAFT_FAULT, "RESTART_BEFORE_FENCING": 0}, BROKERS),
                    ("3.7", {**EVERY_KRAFT_FAULT, "RESPONSE_EPOCH_MATCHED": 1}, BROKERS),
                    ("3.7", {**EVERY_KRAFT_FAULT, "REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0}, BROKERS),
                    ("4.1", {**EVERY_CLIENT, "delete_records": 0}, {"coordinator_commits", "leader_appends_marker"}),
                    ("4.1", {**LOSING_RECORDS, **ROOM}, {"producer_begins_new_epoch"}),
                    ("4.1", {**READERS, **ROOM}, {"consumer_fetches", "consumer_follows_new_leader"}),
                ],
                lambda one: False,
                last=lambda one: one[:2] not in KRAFT_IN_CI,
            ),
            *sampled(
                [
                    (protocol, EVERY_CLIENT, CLIENTS)
                    for protocol in WITH_TRANSACTIONS
                    if protocol not in SINCE_ALTER_ISR
                ],
                lambda one: one[0] == "2.4",
                last=lambda one: one[0] != "0.11",
            ),
            exhaustive(("2.8", UNTOUCHED, {"coordinator_commits", "leader_appends_marker", "producer_retries"})),
            recorded(("2.8", {**EVERY_FAULT, "DIVERGING_RESP_UPDATES_STATE": 1}, ALTER_ISR)),
            recorded(("2.8", {**EVERY_FAULT, "HW_FROM_DIVERGING_RESP": 0}, ALTER_ISR - FIRST_OF_TWO)),
            recorded(("2.8", {**EVERY_FAULT, "HW_MINISR_GATE": 1}, ALTER_ISR)),
            recorded(("2.8", {**EVERY_FAULT, "RESPONSE_EPOCH_MATCHED": 1}, ALTER_ISR)),
            recorded(("2.8", {**EVERY_FAULT, "EPOCH_ENTRY_AT_END_DROPPED": 0}, ALTER_ISR)),
            recorded(("2.1", ACKS_ONE, {"answer_is_lost"})),
            ("0.10", ACKS_ZERO, {"send_is_lost"}),
            exhaustive(("2.0", FOUR_BROKERS, {"leader_shrinks_isr"})),
            *sampled(
                [
                    ("2.4", IDEMPOTENT, {"request_fails", "producer_resends", "broker_saves_producer_state"}),
                    ("2.4", LOSING_RECORDS, {"producer_begins_new_epoch"}),
                    ("2.4", REMEMBERING, {"producer_resends", "leader_deletes_records"}),
                    ("2.8", {**REMEMBERING, **ROOM}, {"producer_resends", "leader_deletes_records"}),
                    ("2.8", {**LOSING_RECORDS, **ROOM}, {"producer_begins_new_epoch"}),
                    ("2.1", OLD_IDEMPOTENT, {"producer_begins_new_epoch", "producer_begins_from_zero"}),
                    ("0.11", ONE_IN_FLIGHT, {"request_fails", "producer_resends"}),
                    ("2.8", {**READERS, **ROOM, "READ_REPLICA_IN_ISR": 1}, {"consumer_is_sent_to_follower"}),
                    ("2.8", {**READERS, **ROOM}, {"consumer_fetches", "consumer_follows_new_leader"}),
                    ("2.4", READERS, {"consumer_fetches", "consumer_follows_new_leader"}),
                    ("2.4", RESETS, {"consumer_fetches", "consumer_follows_new_leader", "consumer_is_out_of_range"}),
                ],
                lambda one: one[1] in (LOSING_RECORDS, RESETS),
                last=lambda one: one[1] in (IDEMPOTENT, READERS) or one[0] == "2.8",
            ),
        ]
    ),
    ids=lambda value: str(value) if isinstance(value, range) else None,
)
def test_the_cluster_agrees_with_every_fault_and_client_feature(protocol, values, also, seeds):
    taken: set[str] = set()
    for seed in seeds:
        trace = walk_of(protocol, values, seed, 40)
        must_replay(trace, seed)
        taken |= {step.action for step in trace.steps}
    assert taken >= also
