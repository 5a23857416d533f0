"""What operators do to a KRaft cluster: reassignment in steps, min.insync.replicas as a record, and other acts."""

import pytest

from conformance.tests.models.driven import Driven
from isrcheck.models.kafka.state.values import ErasedByMinIsr, Stop
from isrcheck.models.language import NONE
from isrcheck.models.run import State

ROOM = {"elections": 4, "partition_changes": 6, "log_size": 1, "records": 1}


def members(flags, replicas=3):
    return {r for r in range(replicas) if flags[r]}


def cluster(protocol, isr, replicas=3, **values):
    return Driven(protocol, replicas=replicas, start_isr=sum(1 << r for r in isr), **{**ROOM, **values})


def replicas_of(one):
    s = one.state
    return tuple(members(flags, s.replicas) for flags in (s.is_assigned, s.is_adding, s.is_removing))


def growing(protocol, **values):
    """Broker 0 is the only replica; broker 1 is added, and has fetched from the leader."""
    one = cluster(protocol, (0,), start_assignment=1, reassignments=2, **values)
    one.do("controller_begins_reassignment to {0,1}", "broker_applies_metadata 0 of partition epoch 1")
    return one.do("broker_applies_metadata 1 of partition epoch 1", "leader_handles_fetch 0 from 1")


@pytest.mark.parametrize("protocol", ["3.7", "4.1", "4.3"])
def test_a_reassignment_that_only_adds_is_completed_by_the_leaders_change_in_the_same_leader_epoch(protocol):
    """ReplicationControlManager.alterPartition, PartitionReassignmentReplicas.maybeCompleteReassignment."""
    one = growing(protocol)
    assert replicas_of(one) == ({0, 1}, {1}, set())
    one.do("controller_handles_alter_partition of 0")
    assert replicas_of(one) == ({0, 1}, set(), set())
    assert members(one.state.controller_isr) == {0, 1}
    assert (one.state.controller_epoch, one.state.controller_partition_epoch) == (0, 2)


def test_a_record_at_the_partition_epoch_of_the_answer_brings_what_the_answer_does_not():
    """KAFKA-13790: so a leader that ignores it does not learn that the reassignment is over."""
    heard = ("controller_handles_alter_partition of 0", "leader_hears_answer 0")
    for values, knows in (({}, set()), ({"EQUAL_PARTITION_EPOCH_REPLACES": 0}, {1})):
        one = growing("4.1", **values).do(*heard)
        assert members(one.state.knows_adding[0]) == {1}
        one.do("broker_applies_metadata 0 of partition epoch 2")
        assert members(one.state.knows_adding[0]) == knows
    repaired = growing("4.1", EQUAL_PARTITION_EPOCH_REPLACES=0, EQUAL_PARTITION_EPOCH_ASSIGNS=1).do(*heard)
    assert members(repaired.do("broker_applies_metadata 0 of partition epoch 2").state.knows_adding[0]) == set()


def test_a_cancelled_reassignment_removes_what_it_added_in_a_new_leader_epoch():
    """PartitionReassignmentRevert."""
    one = growing("3.7").do("controller_handles_alter_partition of 0")
    assert not one.can("controller_cancels_reassignment")
    one = growing("3.7").do("controller_cancels_reassignment")
    assert replicas_of(one) == ({0}, set(), set())
    assert one.state.controller_epoch == 1
    one.do("broker_applies_metadata 1 of partition epoch 2")
    assert one.state.leader[1] == NONE


def test_a_change_that_removes_the_leader_elects_another_member():
    one = cluster("4.1", (0,), start_assignment=1, reassignments=1)
    one.do("controller_begins_reassignment to {1}", "broker_applies_metadata 0 of partition epoch 1")
    assert replicas_of(one) == ({0, 1}, {1}, {0})
    one.do("broker_applies_metadata 1 of partition epoch 1", "leader_handles_fetch 0 from 1")
    assert not one.can("controller_handles_alter_partition of 0")
    one.do("controller_completes_reassignment of 0 and elects 1")
    assert (replicas_of(one), one.state.controller_leader) == (({1}, set(), set()), 1)
    one.do("broker_applies_metadata 0 of partition epoch 2")
    assert one.state.leader[0] == NONE


@pytest.mark.parametrize(("protocol", "isr", "replicas"), [("4.1", {0, 3}, {0, 1, 2, 3}), ("4.3", {3}, {1, 2, 3})])
def test_since_4_3_only_the_added_replicas_have_to_be_in_the_isr(protocol, isr, replicas):
    """KAFKA-19975: 3 replaces 0, while 1 and 2 are out of the ISR."""
    one = cluster(protocol, (0,), 4, start_assignment=7, reassignments=1, min_insync_replicas=1)
    one.do("controller_begins_reassignment to {1,2,3}", "broker_applies_metadata 0 of partition epoch 1")
    one.do("broker_applies_metadata 3 of partition epoch 1", "leader_handles_fetch 0 from 3")
    completes = "controller_completes_reassignment of 0 and elects 3"
    assert one.can(completes) == (protocol == "4.3")
    one.do(completes if protocol == "4.3" else "controller_handles_alter_partition of 0")
    assert (members(one.state.controller_isr, 4), members(one.state.is_assigned, 4)) == (isr, replicas)


@pytest.mark.parametrize(("within", "eligible"), [(0, {1, 2}), (1, set())])
def test_kafka_does_not_cut_the_elr_to_the_replicas(within, eligible):
    """PartitionChangeBuilder.maybePopulateTargetElr: the minimum is that of the replicas before the change."""
    one = cluster("4.3", (0, 1, 2), reassignments=1, ELR_WITHIN_REPLICAS=within)
    one.do("controller_begins_reassignment to {0}")
    assert (members(one.state.is_assigned), members(one.state.eligible_leader_replicas)) == ({0}, eligible)


def leaderless(**values):
    """The ISR is empty, brokers 0 and 1 are in the ELR, and broker 0 led last."""
    one = cluster("4.1", (0, 1), fencings=2, min_isr_changes=1, **values)
    return one.do("controller_fences_broker 1", "controller_fences_last_leader 0")


@pytest.mark.parametrize(
    ("erased", "eligible", "last"),
    [
        (ErasedByMinIsr.ELR_AND_LAST_KNOWN_LEADER, set(), NONE),
        (ErasedByMinIsr.NOTHING_WHILE_LEADERLESS, {0, 1}, 0),
        (ErasedByMinIsr.ELR, set(), 0),
    ],
)
def test_a_changed_minimum_makes_forgotten_who_may_lead(erased, eligible, last):
    """ClearElrRecord (KAFKA-16540): ReplicationControlManager.replay."""
    one = leaderless(CHANGED_MIN_ISR_ERASES=erased)
    assert (members(one.state.eligible_leader_replicas), one.state.last_known_leader) == ({0, 1}, 0)
    one.do("operator_changes_min_insync_replicas to 1")
    assert (members(one.state.eligible_leader_replicas), one.state.last_known_leader) == (eligible, last)


def test_a_broker_counts_the_new_minimum_once_it_has_read_the_record():
    """BrokerMetadataPublisher.onMetadataUpdate: topics first, then configurations, in one delta."""
    one = cluster("3.7", (0, 1), min_isr_changes=1, fencings=1).do("operator_changes_min_insync_replicas to 1")
    assert one.state.min_isr_changes_read[0] == 0
    assert one.do("broker_reads_configuration 0").state.min_isr_changes_read[0] == 1
    later = cluster("3.7", (0, 1), min_isr_changes=1, fencings=1).do("controller_fences_broker 1")
    later.do("operator_changes_min_insync_replicas to 1")
    assert not later.can("broker_reads_configuration 0")
    later.do("broker_applies_metadata 0 of partition epoch 1")
    assert later.can("broker_reads_configuration 0")


@pytest.mark.parametrize(("leaves", "eligible"), [(0, {1}), (1, set())])
def test_the_elr_keeps_a_broker_that_is_unregistered(leaves, eligible):
    """ReplicationControlManager.handleBrokerUnregistered removes it from the ISR only."""
    one = cluster("4.3", (0, 1), unregistrations=1, UNREGISTERED_LEAVES_ELR=leaves)
    one.do("broker_crashes 1", "controller_fences_broker 1", "controller_unregisters_broker 1")
    assert members(one.state.eligible_leader_replicas) == eligible
    assert not any(one.can(f"broker_restarts 1 checkpoint {offset}") for offset in (0, 1))


@pytest.mark.parametrize(("protocol", "eligible"), [("4.1", set()), ("4.3", {1})])
def test_up_to_4_2_a_report_of_a_directory_empties_the_elr(protocol, eligible):
    """ReplicationControlManager.handleAssignReplicasToDirs."""
    one = cluster(protocol, (0, 1), fencings=1, directory_reports=1).do("controller_fences_broker 1")
    report = "broker_reports_directory 2"
    assert one.can(report) == (protocol == "4.1")
    if one.can(report):
        one.do(report)
    assert members(one.state.eligible_leader_replicas) == eligible


@pytest.mark.parametrize(("unclean", "stop"), [(0, Stop.SHUTDOWN), (1, Stop.LOSS)])
def test_a_shutdown_stays_clean_if_the_folder_of_the_replica_is_deleted(unclean, stop):
    """CleanShutdownFileHandler: the file names no logs."""
    one = cluster("4.3", (0, 1), shutdowns=1, folder_deletions=1, common_records=1, DELETED_FOLDER_IS_UNCLEAN=unclean)
    assert not one.can("operator_deletes_replica_folder of 1")
    heard = [f"broker_applies_metadata {r} of partition epoch 1" for r in (0, 2)]
    one.do("broker_asks_to_shut_down 1", *heard, "broker_shuts_down 1", "operator_deletes_replica_folder of 1")
    assert (one.state.log_end_offset[1], one.state.stopped_by[1]) == (0, stop)
    one.do("broker_restarts 1 checkpoint 0")
    assert members(one.state.eligible_leader_replicas) == (set() if unclean else {1})


@pytest.mark.parametrize(("protocol", "leader"), [("4.0", 0), ("4.1", NONE)])
def test_4_0_elects_a_last_known_leader_that_is_down(protocol, leader):
    """KAFKA-19522: once broker 1 has come back after an unclean shutdown, nobody else is left."""
    one = cluster(protocol, (0, 1), crashes=2, ELR=1)
    one.do("broker_crashes 1", "controller_fences_broker 1", "broker_crashes 0", "controller_fences_last_leader 0")
    elected = set()
    for checkpoint in (0, 1):
        cells = one.after(f"broker_restarts 1 checkpoint {checkpoint}")
        if cells is not None:
            elected.add(State(one.instance, cells).controller_leader)
    assert elected == {NONE}
    one.do("broker_restarts 0 checkpoint 0")
    assert one.state.controller_leader == NONE
    one.do("broker_restarts 1 checkpoint 0")
    assert (one.state.controller_leader, bool(one.state.is_fenced[0])) == (leader, True)


def test_a_member_of_the_elr_that_is_no_replica_is_not_elected():
    """PartitionChangeBuilder.electAnyLeader goes through the target replicas only."""
    one = cluster("4.3", (0, 1), start_assignment=3, reassignments=1, fencings=2)
    one.do("controller_fences_broker 1", "controller_begins_reassignment to {0}", "controller_fences_last_leader 0")
    assert members(one.state.eligible_leader_replicas) == {0, 1}
    one.do("controller_unfences_broker 1")
    assert one.state.controller_leader == NONE
    assert one.do("controller_unfences_broker 0").state.controller_leader == 0
