"""A leader's change of the ISR since 2.8: proposed to the controller, and pending until it is answered (KIP-497)."""

from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Controller


def clear_request(s, leader):
    s.alter_partition[leader] = AlterPartition.NONE
    s.requested_leader_epoch[leader] = 0
    s.requested_partition_epoch[leader] = 0
    for r in range(s.replicas):
        s.requested_isr[leader][r] = False
    if s.CONTROLLER == Controller.KRAFT:
        for r in range(s.replicas):
            s.requested_broker_epoch[leader][r] = BrokerEpoch.UNKNOWN


def is_pending(s, leader):
    """A change of the ISR is proposed, and the leader does not know whether it was made."""
    return any(s.proposed_isr[leader][r] for r in range(s.replicas))


def may_propose(s, leader):
    """No change is pending, and no request is outstanding, which may belong to a change that was dropped since."""
    return (
        presumes_leadership(s, leader)
        and not is_pending(s, leader)
        and s.alter_partition[leader] == AlterPartition.NONE
    )


def send_proposal(s, leader):
    """The leader asks the controller for its proposed ISR. Kafka: Partition.submitAlterPartition.

    The request names leader epoch, partition epoch and, for every member, the broker epoch of its last fetch in this
    leadership, as far as there was one (KIP-903).
    """
    s.alter_partition[leader] = AlterPartition.REQUESTED
    s.requested_leader_epoch[leader] = s.leader_epoch[leader]
    s.requested_partition_epoch[leader] = s.partition_epoch[leader]
    for r in range(s.replicas):
        s.requested_isr[leader][r] = s.proposed_isr[leader][r]
    if s.CONTROLLER == Controller.KRAFT:
        for r in range(s.replicas):
            if s.proposed_isr[leader][r] and r != leader:
                s.requested_broker_epoch[leader][r] = s.remote_broker_epoch[leader][r]


def propose_expansion(s, leader, follower):
    for r in range(s.replicas):
        s.proposed_isr[leader][r] = s.isr[leader][r] or r == follower
    send_proposal(s, leader)
