"""A request to change the ISR at the controller: whether it is refused, and what it changes (AlterPartition)."""

from isrcheck.models.kafka.state.broker.assignment import (
    is_complete_with_request,
    remove_replicas,
    removes_by_request,
)
from isrcheck.models.kafka.state.broker.record import is_active, keep_eligible, keep_members_out_of_elr
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, BrokerStateCheck, Controller


def is_made_already(s, leader):
    """The proposed ISR is the ISR of record: the request comes again, because the answer to it was lost.

    The controller with ZooKeeper compares the ISR before it compares partition epochs. Within a leader epoch, only
    the leader changes the ISR there, so the ISR of record is the one of its request. Kafka:
    KafkaController.processAlterIsr, LeaderAndIsr.equalsIgnoreZk.
    """
    return (
        s.CONTROLLER == Controller.ZOOKEEPER
        and s.controller_leader == leader
        and s.requested_leader_epoch[leader] == s.controller_epoch
        and all(s.controller_isr[r] == s.requested_isr[leader][r] for r in range(s.replicas))
    )


def is_refused(s, leader):
    """The sender is not the leader of record, or has not seen the last change (FENCED_LEADER_EPOCH,
    INVALID_UPDATE_VERSION), or names a broker that is no replica.
    """
    return not is_made_already(s, leader) and (
        s.controller_leader != leader
        or s.requested_leader_epoch[leader] < s.controller_epoch
        or s.requested_partition_epoch[leader] < s.controller_partition_epoch
        or names_no_replica(s, leader)
    )


def names_no_replica(s, leader):
    """The ISR that is asked for has a member to which the partition is not assigned (INVALID_REQUEST)."""
    return s.reassignments > 0 and any(s.requested_isr[leader][r] and not s.is_assigned[r] for r in range(s.replicas))


def is_ineligible(s, leader, r):
    """A proposed member that is fenced or shutting down (KIP-841), or whose process is another one than the one that
    fetched (KIP-903).
    """
    return s.requested_isr[leader][r] and (
        (s.BROKER_STATE_CHECK >= BrokerStateCheck.FENCED and not is_active(s, r))
        or (
            s.BROKER_STATE_CHECK == BrokerStateCheck.BROKER_EPOCH
            and s.requested_broker_epoch[leader][r] == BrokerEpoch.EARLIER
        )
    )


def has_ineligible_member(s, leader):
    return s.CONTROLLER == Controller.KRAFT and any(is_ineligible(s, leader, r) for r in range(s.replicas))


def drops_a_member(s, leader):
    return any(s.controller_isr[r] and not s.requested_isr[leader][r] for r in range(s.replicas))


def removes_a_replica(s, leader):
    """The change completes a reassignment that removes replicas: a new leader epoch begins."""
    return s.reassignments > 0 and any(removes_by_request(s, leader, r) for r in range(s.replicas))


def bumps_leader_epoch(s, leader):
    return (s.EPOCH_BUMP_ON_SHRINK and drops_a_member(s, leader)) or removes_a_replica(s, leader)


def is_answered_at_once(s, leader):
    """The request does not change the record."""
    return is_made_already(s, leader) or is_refused(s, leader) or has_ineligible_member(s, leader)


def may_be_granted(s, leader):
    return s.alter_partition[leader] == AlterPartition.REQUESTED and not is_answered_at_once(s, leader)


def take_requested_isr(s, leader):
    """The ISR becomes the one that is asked for, without replicas that a completed reassignment removes. Kafka:
    PartitionChangeBuilder.build."""
    is_ended = is_complete_with_request(s, leader)
    members = sum(1 for r in range(s.replicas) if s.requested_isr[leader][r] and not removes_by_request(s, leader, r))
    keep_eligible(s, members)
    for r in range(s.replicas):
        s.controller_isr[r] = s.requested_isr[leader][r]
    if is_ended:
        remove_replicas(s)
    keep_members_out_of_elr(s)
