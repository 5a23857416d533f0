"""Roles of brokers: who leads, who follows, and what a broker forgets when a role ends."""

from isrcheck.models.kafka.state.broker.caught_up import stop_waiting
from isrcheck.models.kafka.state.broker.epochs import assign_epoch
from isrcheck.models.kafka.state.values import BrokerEpoch, Controller, Fetch, IsrChannel, Truncation
from isrcheck.models.language import NONE


def presumes_leadership(s, r):
    """The broker runs and believes that it is the leader, rightly or as a zombie."""
    return s.leader[r] == r


def is_live(s, r):
    """The replica runs and, with KRaft, is not fenced."""
    return s.is_up[r] and (s.CONTROLLER == Controller.ZOOKEEPER or not s.is_fenced[r])


def follows(s, follower, leader):
    return s.leader[follower] == leader


def is_of_another_epoch(s, follower, leader):
    """KIP-320: the leader refuses a request from another leader epoch (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH)."""
    return s.TRUNC >= Truncation.KIP320 and s.leader_epoch[follower] != s.leader_epoch[leader]


def can_ask(s, follower, leader):
    """The follower's request reaches a broker that presumes leadership, and is not refused."""
    return (
        presumes_leadership(s, leader) and follows(s, follower, leader) and not is_of_another_epoch(s, follower, leader)
    )


def may_fetch(s, follower, leader):
    """The follower has reconciled its log with the leader's, and has no outstanding fetch at the leader."""
    return (
        leader != follower
        and can_ask(s, follower, leader)
        and is_known_replica(s, leader, follower)
        and not s.is_truncating[follower]
        and s.fetch[follower][leader] == Fetch.NONE
    )


def is_controllers_leader(s, r):
    """The broker presumes leadership in the controller's own epoch: only then can its conditional write of the ISR
    succeed."""
    return presumes_leadership(s, r) and s.controller_leader == r and s.leader_epoch[r] == s.controller_epoch


def isr_size(s, leader):
    return sum(1 for r in range(s.replicas) if s.isr[leader][r])


def clear_fetch(s, follower, leader):
    s.fetch[follower][leader] = Fetch.NONE
    s.fetch_offset[follower][leader] = 0
    s.response_high_watermark[follower][leader] = 0
    s.response_log_start_offset[follower][leader] = 0
    for offset in range(s.log_size):
        s.response_record[follower][leader][offset] = NONE
        s.response_epoch[follower][leader][offset] = NONE
        if s.enable_idempotence:
            s.response_producer_epoch[follower][leader][offset] = 0
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.diverging_epoch[follower][leader] = 0
        s.diverging_end_offset[follower][leader] = 0


def forget_own_fetches(s, follower):
    """The follower's fetchers stop: outstanding responses are never applied (AbstractFetcherManager.removeFetcher...).

    Not modelled: in 0.10 the response to a fetch of an earlier assignment to the same leader is applied if it fits.
    """
    for leader in range(s.replicas):
        clear_fetch(s, follower, leader)


def stop_fetching(s, follower):
    """The follower no longer fetches in this leader epoch.

    With truncation on fetch (2.7), an outstanding response is still applied if the follower comes back to the same
    leader with the same log end, until responses carry the epoch that asked for them (KAFKA-18991).
    """
    if s.TRUNC != Truncation.ON_FETCH or s.RESPONSE_EPOCH_MATCHED:
        forget_own_fetches(s, follower)
    elif s.is_truncating[follower]:  # the response was taken, and what was left to do is not done any more
        for leader in range(s.replicas):
            if follows(s, follower, leader):
                clear_fetch(s, follower, leader)


def drop_parked_fetches(s, leader):
    """Fetches parked at a leader end with it, or are answered with an error when it applies newer metadata.

    Not modelled: before 2.1 parked fetches carry no epoch, and a re-elected, undemoted leader still serves them.
    """
    for follower in range(s.replicas):
        if s.fetch[follower][leader] == Fetch.PARKED:
            clear_fetch(s, follower, leader)


def forget_late_fetches(s, leader):
    """A fetch of another leader epoch is refused (FENCED_LEADER_EPOCH)."""
    if s.CONTROLLER == Controller.KRAFT and s.late_fetches > 0:
        for r in range(s.replicas):
            s.late_fetch_offset[leader][r] = NONE


def forget_admitted_fetches(s, leader):
    if s.CONTROLLER == Controller.KRAFT and s.FETCH_IS_SPLIT:
        for r in range(s.replicas):
            s.admitted_offset[leader][r] = NONE
            s.is_of_former_state[leader][r] = False


def leave_admitted_fetches_behind(s, leader):
    """The leader makes new objects for its followers; a fetch that it has checked still refers to the old one."""
    if s.CONTROLLER == Controller.KRAFT and s.FETCH_IS_SPLIT:
        for r in range(s.replicas):
            s.is_of_former_state[leader][r] = s.admitted_offset[leader][r] != NONE


def forget_followers(s, leader):
    """The followers' offsets become unknown (Replica.updateFetchState starts from an unknown offset)."""
    for r in range(s.replicas):
        s.remote_log_end_offset[leader][r] = NONE
    if s.CONTROLLER == Controller.KRAFT:
        for r in range(s.replicas):
            s.remote_broker_epoch[leader][r] = BrokerEpoch.UNKNOWN
    forget_late_fetches(s, leader)


def forget_proposal(s, leader):
    """No change of the ISR is pending any more. A request that was sent may still reach the controller."""
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        for r in range(s.replicas):
            s.proposed_isr[leader][r] = False


def forget_replicas(s, leader):
    if s.reassignments > 0:
        for r in range(s.replicas):
            s.knows_assigned[leader][r] = False
            s.knows_adding[leader][r] = False


def is_known_replica(s, leader, r):
    """The leader knows that the partition is assigned to this broker. Kafka: Partition.getReplicaOrException."""
    return s.knows_assigned[leader][r] if s.reassignments > 0 else True


def stop_leading(s, r):
    """The leader's in-memory state is lost; producers that wait at the leader receive NOT_LEADER, or nothing."""
    forget_followers(s, r)
    leave_admitted_fetches_behind(s, r)
    drop_parked_fetches(s, r)
    s.epoch_start_offset[r] = 0
    for member in range(s.replicas):
        s.isr[r][member] = False
    forget_replicas(s, r)
    forget_proposal(s, r)
    stop_waiting(s, r)
    for record in range(s.records):
        if s.pending[record] == r:
            s.pending[record] = NONE


def enter_epoch(s, leader):
    """A leader records the start of its epoch. Kafka: Partition.makeLeader.

    The start offset is needed for joining the ISR (KAFKA-7128) and for telling consumers where the log ends
    (KAFKA-2334), the cache entry for the followers' reconciliation (KAFKA-7415; in older versions, the first append
    makes the entry). What a version does not need is not recorded.
    """
    if s.EXPAND_EPOCH_START or (s.consumers > 0 and s.LATEST_OFFSET_AWAITS_EPOCH_START):
        s.epoch_start_offset[leader] = s.log_end_offset[leader]
    if s.EPOCH_AT_BECOME_LEADER:
        assign_epoch(s, leader, s.leader_epoch[leader], s.log_end_offset[leader])


def adopt_controllers_isr(s, leader):
    for r in range(s.replicas):
        s.isr[leader][r] = s.controller_isr[r]
    if s.reassignments > 0:
        for r in range(s.replicas):
            s.knows_assigned[leader][r] = s.is_assigned[r]
            s.knows_adding[leader][r] = s.is_adding[r]


def forget_announcement(s, number):
    s.metadata_leader[number] = NONE
    for r in range(s.replicas):
        s.metadata_isr[number][r] = False


def forget_heard_metadata(s):
    """Drop an announcement that all running brokers have heard, so that states with equal futures are equal."""
    if s.CONTROLLER == Controller.ZOOKEEPER:
        for epoch in range(s.elections + 1):
            if not any(s.is_up[r] and s.leader_epoch[r] < epoch for r in range(s.replicas)):
                forget_announcement(s, epoch)
                if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
                    s.metadata_partition_epoch[epoch] = 0
    else:
        for partition_epoch in range(s.partition_changes + 1):
            if not any(s.is_up[r] and s.metadata_position[r] < partition_epoch for r in range(s.replicas)):
                forget_announcement(s, partition_epoch)
                s.metadata_leader_epoch[partition_epoch] = 0
                if s.reassignments > 0:
                    for r in range(s.replicas):
                        s.metadata_assigned[partition_epoch][r] = False
                        s.metadata_adding[partition_epoch][r] = False
