"""Random walks with every fault, election and client feature of the model: the cluster agrees."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from conformance.tests.sampling import exhaustive, recorded, sampled
from conformance.tests.support.replay import (
    EVERY_CLIENT,
    EVERY_FAULT,
    GENERATIONS,
    IDEMPOTENT,
    LOSING_RECORDS,
    READERS,
    SINCE_ALTER_ISR,
    WITH_TRANSACTIONS,
    must_replay,
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

FAULTS = {
    *("broker_loses_power", "broker_loses_disk", "controller_elects_preferred", "controller_elects_unclean"),
    "producer_retries",
}
FIRST_OF_TWO = {"follower_takes_high_watermark_first"}
OUT_OF_RANGE = {"follower_is_out_of_range"}
ALTER_ISR = {
    *("controller_handles_alter_partition", "leader_hears_answer", "answer_to_leader_is_lost", "follower_truncates"),
    "follower_takes_high_watermark_first",
}
CLIENTS = {
    *("producer_appends_in_transaction", "coordinator_commits", "coordinator_aborts", "leader_appends_marker"),
    *("leader_deletes_records", "follower_starts_over", "producer_retries"),
}


SEEDS = [range(50), recorded(range(50, 150))]
"""150 walks of every configuration, in two parts; each part takes every expected action."""


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
@pytest.mark.parametrize(
    ("protocol", "values", "also"),
    [
        *sampled(
            [
                (protocol, EVERY_FAULT, FAULTS | (ALTER_ISR if protocol in SINCE_ALTER_ISR else OUT_OF_RANGE))
                for protocol in GENERATIONS
            ],
            lambda one: one[0] == "2.8",
        ),
        *sampled(
            [(protocol, EVERY_CLIENT, CLIENTS) for protocol in WITH_TRANSACTIONS if protocol not in SINCE_ALTER_ISR],
            lambda one: one[0] == "2.4",
        ),
        exhaustive(("2.8", UNTOUCHED, {"coordinator_commits", "leader_appends_marker", "producer_retries"})),
        exhaustive(("2.8", {**EVERY_FAULT, "DIVERGING_RESP_UPDATES_STATE": 1}, ALTER_ISR)),
        exhaustive(("2.8", {**EVERY_FAULT, "HW_FROM_DIVERGING_RESP": 0}, ALTER_ISR - FIRST_OF_TWO)),
        exhaustive(("2.8", {**EVERY_FAULT, "HW_MINISR_GATE": 1}, ALTER_ISR)),
        exhaustive(("2.8", {**EVERY_FAULT, "RESPONSE_EPOCH_MATCHED": 1}, ALTER_ISR)),
        exhaustive(("2.8", {**EVERY_FAULT, "EPOCH_ENTRY_AT_END_DROPPED": 0}, ALTER_ISR)),
        ("2.1", ACKS_ONE, {"answer_is_lost"}),
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
        ),
    ],
)
def test_the_cluster_agrees_with_every_fault_and_client_feature(protocol, values, also, seeds):
    taken: set[str] = set()
    for seed in seeds:
        trace = walk_of(protocol, values, seed, 40)
        must_replay(trace, seed)
        taken |= {step.action for step in trace.steps}
    assert taken >= also
