"""What fits between two steps of a broker: a fetch that counts late, an answer that truncates late, a dropped change.

Each history is taken step by step, and ends where its repair does not let it go on.
"""

import pytest

from conformance.tests.models.driven import Driven
from isrcheck.models.run import holds

REPAIRED = {
    "EQUAL_PARTITION_EPOCH_REPLACES": 0,
    "EQUAL_PARTITION_EPOCH_ASSIGNS": 1,
    "REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0,
    "RESPONSE_EPOCH_MATCHED": 1,
    "ELR_WITHIN_REPLICAS": 1,
}
"""The repairs of 8.24, 8.25, 8.7d and the ELR: what follows is left with them."""


def cluster(protocol, isr, replicas=2, **values):
    room = {"elections": 5, "partition_changes": 6, "crashes": 0, "records": 1, "log_size": 1}
    start_isr = sum(1 << r for r in isr)
    return Driven(protocol, replicas=replicas, start_isr=start_isr, **{**room, **REPAIRED, **values})


def broken(one, *names):
    """Those of the promises with these names that are broken now."""
    promises = {prop.name: prop for prop in one.instance.properties}
    return [name for name in names if not holds(one.instance, promises[name], one.cells)]


LOST = ("acked_not_lost", "isr_is_complete")
COPIED = ("producer_appends at 0", "leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0")


@pytest.mark.parametrize("counted", [0, 1])
def test_a_fetch_that_counts_late_is_the_hole_in_the_repair_of_a_missed_demotion(counted):
    """8.41 without a reassignment: Partition.fetchRecords, updateFollowerFetchState."""
    values = {"preferred_elections": 2, "fencings": 1, "FETCH_IS_SPLIT": 1, "FETCH_COUNTED_IN_ITS_EPOCH": counted}
    one = cluster("3.7", (0, 1, 2), 3, **values)
    one.do(*COPIED, "controller_elects_preferred 2", "controller_fences_leader 2 and elects 0")
    one.do("controller_elects_preferred 1", "broker_applies_metadata 2 of partition epoch 1")
    one.do("leader_admits_fetch 0 from 1", "broker_applies_metadata 0 of partition epoch 2")
    one.do("broker_applies_metadata 1 of partition epoch 1", "leader_handles_fetch 2 from 1")
    one.do("follower_truncates 1 from 2")
    assert broken(one, *LOST) == []
    assert one.can("leader_counts_fetch 0 from 1") != counted
    if not counted:
        assert broken(one.do("leader_counts_fetch 0 from 1"), *LOST) == [*LOST]


@pytest.mark.parametrize("protocol", ["3.7", "4.3"])
def test_a_fetch_of_a_deleted_log_counts_without_a_second_connection(protocol):
    """8.41, where no other fetch of the follower passes the waiting fetch."""
    values = {"reassignments": 2, "fencings": 1, "FETCH_IS_SPLIT": 1}
    one = cluster(protocol, (0, 1), **values).do(*COPIED)
    one.do("controller_begins_reassignment to {0}", "controller_begins_reassignment to {0,1}")
    one.do("leader_admits_fetch 0 from 1", "broker_applies_metadata 0 of partition epoch 2")
    one.do("broker_applies_metadata 1 of partition epoch 1", "leader_counts_fetch 0 from 1")
    one.do("controller_handles_alter_partition of 0", "leader_hears_answer 0")
    assert broken(one, *LOST) == ["isr_is_complete"]
    assert broken(one.do("controller_fences_leader 0 and elects 1"), *LOST) == [*LOST]


@pytest.mark.parametrize("protocol", ["3.7", "4.3"])
@pytest.mark.parametrize("counted", [0, 1])
def test_the_former_object_of_a_follower_lets_it_into_the_isr(protocol, counted):
    """The leader has followed in between, and has new objects; the fetch has the old one: Partition.maybeExpandIsr."""
    values = {"reassignments": 2, "fencings": 3, "FETCH_IS_SPLIT": 1, "FETCH_COUNTED_IN_ITS_EPOCH": counted}
    one = cluster(protocol, (0, 1), **values).do(*COPIED, "leader_admits_fetch 0 from 1")
    one.do("leader_handles_fetch 0 from 1")
    one.do("controller_begins_reassignment to {0}", "controller_begins_reassignment to {0,1}")
    one.do(*(f"broker_applies_metadata 1 of partition epoch {epoch}" for epoch in (1, 2)))
    one.do("controller_fences_last_leader 0", "broker_applies_metadata 0 of partition epoch 3")
    one.do("controller_unfences_broker 0")
    one.do(*(f"broker_applies_metadata {broker} of partition epoch 4" for broker in (0, 1)))
    one.do("leader_handles_fetch 0 from 1")
    assert one.state.remote_log_end_offset[0][1] == 0
    assert one.can("leader_counts_fetch 0 from 1") != counted
    if not counted:
        one.do("leader_counts_fetch 0 from 1", "controller_handles_alter_partition of 0")
        one.do("controller_fences_leader 0 and elects 1")
        assert broken(one, *LOST) == [*LOST]


def test_an_answer_that_is_used_late_truncates_an_acknowledged_record():
    """8.42 with a second record: broker 0 leads in between, so its fetcher sends nothing before it truncates."""
    values = {"preferred_elections": 4, "records": 2, "log_size": 2, "DIVERGING_ANSWER_IS_SPLIT": 1}
    one = cluster("4.3", (0, 1), **values)
    one.do("producer_appends at 0", "controller_elects_preferred 1", "broker_applies_metadata 1 of partition epoch 1")
    one.do("broker_applies_metadata 0 of partition epoch 1", "leader_handles_fetch 1 from 0")
    one.do("follower_checks_diverging_answer 0 from 1", "controller_elects_preferred 0")
    one.do("broker_applies_metadata 0 of partition epoch 2", "producer_appends at 0")
    one.do("broker_applies_metadata 1 of partition epoch 2", "leader_handles_fetch 0 from 1")
    one.do("follower_truncates 1 from 0", "leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0")
    one.do("leader_handles_fetch 0 from 1", "controller_elects_preferred 1")
    one.do("broker_applies_metadata 0 of partition epoch 3", "controller_elects_preferred 0")
    assert [bool(one.state.acknowledged[record]) for record in (0, 1)] == [False, True]
    assert broken(one, *LOST) == []
    assert broken(one.do("follower_truncates_as_noted 0"), *LOST) == [*LOST]


def test_sessions_that_expire_are_enough():
    """8.42 without preferred elections: both brokers are eligible leaders all the while."""
    values = {"fencings": 4, "records": 2, "log_size": 2, "DIVERGING_ANSWER_IS_SPLIT": 1}
    one = cluster("4.3", (0, 1), **values)
    one.do("producer_appends at 0", "controller_fences_leader 0 and elects 1", "controller_unfences_broker 0")
    one.do("broker_applies_metadata 1 of partition epoch 1", "broker_applies_metadata 0 of partition epoch 1")
    one.do("leader_handles_fetch 1 from 0", "follower_checks_diverging_answer 0 from 1")
    one.do("controller_fences_leader 1 and elects 0", "controller_unfences_broker 1")
    one.do("broker_applies_metadata 0 of partition epoch 2", "broker_applies_metadata 1 of partition epoch 2")
    one.do("leader_handles_fetch 0 from 1", "follower_truncates 1 from 0", "leader_handles_fetch 0 from 1")
    one.do("follower_applies_response 1 from 0", "leader_handles_fetch 0 from 1")
    one.do("controller_handles_alter_partition of 0", "leader_hears_answer 0", "producer_appends at 0")
    one.do("leader_answers_parked_fetch 0 to 1", "follower_applies_response 1 from 0", "leader_handles_fetch 0 from 1")
    assert one.state.acknowledged[1]
    one.do("controller_fences_leader 0 and elects 1", "controller_unfences_broker 0")
    one.do("broker_applies_metadata 0 of partition epoch 4", "follower_truncates_as_noted 0")
    assert broken(one, *LOST) == []
    assert broken(one.do("controller_fences_leader 1 and elects 0"), *LOST) == [*LOST]


def test_a_dropped_change_is_not_repeated_and_the_next_one_is_applied():
    """8.43: BrokerMetadataPublisher.onMetadataUpdate, ReplicaManager.applyDelta."""
    one = cluster("4.3", (0, 1), fencings=2, dropped_metadata=1).do("controller_fences_leader 0 and elects 1")
    one.do("broker_drops_metadata 1 of partition epoch 1", "controller_unfences_broker 0")
    assert (one.state.controller_leader, one.state.leader[1], one.state.metadata_position[1]) == (1, 0, 1)
    assert not one.can("broker_applies_metadata 1 of partition epoch 1")
    one.do("controller_fences_leader 1 and elects 0", "controller_unfences_broker 1")
    assert not one.can("broker_drops_metadata 1 of partition epoch 2")
    one.do("broker_applies_metadata 1 of partition epoch 2")
    assert (one.state.leader[1], one.state.leader_epoch[1]) == (0, 2)


def deleted(protocol, **values):
    """The record is deleted at the leader, and broker 1 is fenced."""
    own = {"fencings": 1, "shutdowns": 1, "delete_records": 1, "common_records": 1, "DELETION_IS_ANSWERED": 1}
    one = cluster(protocol, (0, 1), **own, **values)
    return one.do("leader_deletes_records at 0 before 1", "controller_fences_broker 1")


SHUTS_DOWN = "leader_asks_to_shut_down 0 and the controller elects 1"
ANSWER = "leader_answers_deletion at 0"


@pytest.mark.parametrize("log_start", [0, 1])
def test_without_the_elr_deleted_records_come_back_through_the_isr(log_start):
    """8.37: Partition.lowWatermarkIfLeader counts live replicas, and Partition.isFollowerInSync no log starts."""
    one = deleted("3.7", EXPAND_LOG_START=log_start).do(ANSWER, "controller_unfences_broker 1")
    one.do("broker_applies_metadata 0 of partition epoch 1", "leader_handles_fetch 0 from 1")
    joins = "controller_handles_alter_partition of 0"
    assert one.can(joins) != log_start
    if not log_start:
        one.do(joins, SHUTS_DOWN)
        assert broken(one, "deleted_records_stay_deleted") == []
        one.do("broker_applies_metadata 1 of partition epoch 3")
        assert broken(one, "deleted_records_stay_deleted") == ["deleted_records_stay_deleted"]


@pytest.mark.parametrize("awaits", [0, 1])
def test_a_deletion_does_not_wait_for_the_elr(awaits):
    assert deleted("4.3", DELETION_AWAITS_ELIGIBLE=awaits).can(ANSWER) != awaits
    assert deleted("3.7", DELETION_AWAITS_ELIGIBLE=awaits).can(ANSWER) != awaits
