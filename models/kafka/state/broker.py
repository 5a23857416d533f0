"""A broker as a leader or a follower: what it knows of others, what it commits, and what it forgets."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.clients import cut_producer_state, expose, hear_of_offset
from isrcheck.models.kafka.state.log import assign_epoch, begin_to_follow, clamp_high_watermark, drop_epochs_from
from isrcheck.models.kafka.state.values import (
    AlterPartition,
    BrokerEpoch,
    Controller,
    Fetch,
    HighWatermarkWait,
    IsrChannel,
    MaximalIsr,
    PositionCheck,
    Stop,
    Truncation,
)
from isrcheck.models.language import NONE

# ---------------------------------------------------------------------------------------------------- who has caught up
#
# Which followers have caught up, as the leader sees it: a small model of replica.lag.time.max.ms, used with HW_WAIT.
#
# A follower has caught up at a fetch that asks for the leader's log end, or for what was its log end at the fetch
# before. It stays so for replica.lag.time.max.ms: without a clock, until a step says that the time is over. Kafka:
# Replica.updateFetchStateOrThrow, ReplicaState.isCaughtUp.


def note_progress(s, leader, follower):
    """Note the leader's log end and whether the follower has caught up, before the leader notes the fetch's offset."""
    if s.HW_WAIT == HighWatermarkWait.CAUGHT_UP:
        if s.log_end_offset[follower] >= s.log_end_offset[leader] or (
            s.log_end_offset_at_fetch[leader][follower] != NONE
            and s.log_end_offset[follower] >= s.log_end_offset_at_fetch[leader][follower]
        ):
            s.is_caught_up[leader][follower] = True
        s.log_end_offset_at_fetch[leader][follower] = s.log_end_offset[leader]


def begin_to_wait(s, leader):
    """A new leader regards the members of its ISR as caught up, and nobody else. Kafka: Partition.makeLeader."""
    if s.HW_WAIT == HighWatermarkWait.CAUGHT_UP:
        for r in range(s.replicas):
            s.is_caught_up[leader][r] = s.isr[leader][r] and r != leader
            s.log_end_offset_at_fetch[leader][r] = NONE


def stop_waiting(s, leader):
    if s.HW_WAIT == HighWatermarkWait.CAUGHT_UP:
        for r in range(s.replicas):
            s.is_caught_up[leader][r] = False
            s.log_end_offset_at_fetch[leader][r] = NONE


def holds_back(s, leader, r):
    """The replica counts as caught up: it is not dropped from the ISR, and the high watermark waits for it."""
    return s.HW_WAIT == HighWatermarkWait.CAUGHT_UP and (
        s.is_caught_up[leader][r] or s.remote_log_end_offset[leader][r] == s.log_end_offset[leader]
    )


# -------------------------------------------------------------------------------------------------- min.insync.replicas
#
# min.insync.replicas: a record of the metadata log, which the controller counts at once, and each broker once it has
# read it. Both limit it by a number of replicas.


def min_insync_replicas_after(s, changes):
    """The value of min.insync.replicas after this number of changes."""
    minimum = s.min_insync_replicas
    if s.min_isr_changes > 0:
        for change in range(s.min_isr_changes):
            if change < changes:
                minimum = s.changed_min_isr[change]
    return minimum


def known_min_insync_replicas(s, broker):
    """The value of min.insync.replicas in that part of the metadata log which the broker has read."""
    return (
        min_insync_replicas_after(s, s.min_isr_changes_read[broker]) if s.min_isr_changes > 0 else s.min_insync_replicas
    )


def known_replicas(s, leader):
    """The number of replicas that the leader knows of, including those that are being added or removed."""
    return sum(1 for r in range(s.replicas) if s.knows_assigned[leader][r]) if s.reassignments > 0 else s.replicas


def effective_min_insync_replicas(s, leader):
    """The min.insync.replicas that the leader applies: before 3.7, the configured number; since then, at most the
    number of replicas. Kafka: Partition.effectiveMinIsr."""
    known = known_min_insync_replicas(s, leader)
    return min(known, known_replicas(s, leader)) if s.HW_MINISR_GATE else known


def present_min_insync_replicas(s):
    """The value of min.insync.replicas at the end of the metadata log. With RAISED_MIN_ISR_AWAITS_BROKERS, this value
    or, if lower, the smallest value that a running broker knows."""
    present = min_insync_replicas_after(s, s.min_isr_changes - s.min_isr_changes_left)
    if s.RAISED_MIN_ISR_AWAITS_BROKERS:
        for r in range(s.replicas):
            if s.is_up[r]:
                present = min(present, known_min_insync_replicas(s, r))
    return present


def counted_replicas(s):
    """The upper limit of the controller on min.insync.replicas: the number of replicas of the topic's partition 0 or,
    with MIN_ISR_OF_OWN_REPLICAS, of this partition. Replicas that a reassignment adds or removes count, too. Kafka:
    ReplicationControlManager.getTopicEffectiveMinIsr."""
    if s.replicas_of_partition_0 > 0 and not s.MIN_ISR_OF_OWN_REPLICAS:
        return s.replicas_of_partition_0
    return sum(1 for r in range(s.replicas) if s.is_assigned[r]) if s.reassignments > 0 else s.replicas


def controllers_min_insync_replicas(s):
    return min(present_min_insync_replicas(s), counted_replicas(s))


# -------------------------------------------- roles: who leads, who follows, and what a broker forgets when a role ends


def presumes_leadership(s, r):
    """The broker runs and believes that it is the leader, rightly or as a zombie."""
    return s.leader[r] == r


def is_live(s, r):
    """The replica runs and, with KRaft, is not fenced."""
    return s.is_up[r] and (s.CONTROLLER == Controller.ZOOKEEPER or not s.is_fenced[r])


def follows(s, follower, leader):
    return s.leader[follower] == leader


def is_of_another_epoch(s, follower, leader):
    """KIP-320: the leader refuses the follower, whose epoch differs (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH)."""
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
    """The broker leads in the controller's own epoch: only then can its conditional write of the ISR succeed."""
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

    Not modelled: in 0.10, a follower that returns to its leader applies a fitting response to an earlier fetch.
    """
    for leader in range(s.replicas):
        clear_fetch(s, follower, leader)


def stop_fetching(s, follower):
    """The follower no longer fetches in this leader epoch.

    With truncation on fetch (2.7), an outstanding response is still applied if the follower comes back to the same
    leader with the same log end; the repair of KAFKA-18991 compares the epoch of the fetch.
    """
    if s.TRUNC != Truncation.ON_FETCH or s.RESPONSE_EPOCH_MATCHED:
        forget_own_fetches(s, follower)
    elif s.is_truncating[follower]:  # the response was taken, and the remaining work on it is dropped
        for leader in range(s.replicas):
            if follows(s, follower, leader):
                clear_fetch(s, follower, leader)


def drop_parked_fetches(s, leader):
    """Fetches parked at a leader end with its leadership, or get an error when the leader applies newer metadata.

    Not modelled: before 2.1 parked fetches carry no epoch, and a re-elected, undemoted leader still serves them.
    """
    for follower in range(s.replicas):
        if s.fetch[follower][leader] == Fetch.PARKED:
            clear_fetch(s, follower, leader)


def forget_late_fetches(s, leader):
    """Late fetches of the leader's earlier epoch are forgotten, because they would be refused (FENCED_LEADER_EPOCH)."""
    if s.CONTROLLER == Controller.KRAFT and s.late_fetches > 0:
        for r in range(s.replicas):
            s.late_fetch_offset[leader][r] = NONE


def forget_admitted_fetches(s, leader):
    if s.CONTROLLER == Controller.KRAFT and s.FETCH_IS_SPLIT:
        for r in range(s.replicas):
            s.admitted_offset[leader][r] = NONE
            s.is_of_former_state[leader][r] = False


def leave_admitted_fetches_behind(s, leader):
    """Mark the fetches that the leader has checked as fetches of its old `Replica` objects; it creates new objects."""
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
    """The leader drops its pending change of the ISR. A request that was sent may still reach the controller."""
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
    (KAFKA-2334); the cache entry is needed for the followers' reconciliation (KAFKA-7415; in older versions, the first
    append makes it). What a version does not need is not recorded.
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
    """Drop every announcement that all running brokers have heard, so that states with equal futures are equal."""
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


# ------------------------------------------------------------------------------------------------ service for consumers


def is_not_fenced(s, consumer, broker):
    """The broker does not refuse the consumer's fetch because of the leader epoch. A consumer that checks its position
    (since 2.3, here since 2.4) sends the leader epoch that it knows (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH)."""
    return s.POSITION_CHECK == PositionCheck.NONE or s.leader_epoch[broker] == s.consumer_leader_epoch[consumer]


def reads_from(s, consumer, broker):
    """The consumer regards the broker as the leader, or the leader has sent the consumer to this broker."""
    if s.follower_fetching and s.preferred_read_replica[consumer] != NONE:
        return s.preferred_read_replica[consumer] == broker and s.leader[broker] != NONE
    return presumes_leadership(s, broker)


# ----------------------------------------------------------------------------------------- commits and acknowledgements


def has_enough_replicas(s, leader):
    """The leader's committed ISR has at least min.insync.replicas members."""
    return isr_size(s, leader) >= effective_min_insync_replicas(s, leader)


def has_proposed(s, leader):
    """The leader has proposed a change of the ISR that is pending."""
    return s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION and any(s.proposed_isr[leader][r] for r in range(s.replicas))


def is_in_maximal_isr(s, leader, r):
    """The replica is in the committed ISR or, while a change is pending, in the proposed one: it may be elected."""
    if s.ISR_CHANNEL == IsrChannel.ZK or s.MAXIMAL_ISR == MaximalIsr.COMMITTED:
        return s.isr[leader][r]
    if s.MAXIMAL_ISR == MaximalIsr.PROPOSED and has_proposed(s, leader):
        return s.proposed_isr[leader][r]
    return s.isr[leader][r] or s.proposed_isr[leader][r]


def has_enough_counted_replicas(s, leader):
    """The leader's maximal ISR has at least min.insync.replicas members."""
    return sum(1 for r in range(s.replicas) if is_in_maximal_isr(s, leader, r)) >= effective_min_insync_replicas(
        s, leader
    )


def waits_for_more(s, leader, record):
    """The record, or a copy of it that was sent again, is not yet below the leader's high watermark."""
    return any(
        s.log_record[leader][offset] == record for offset in range(s.log_size) if offset >= s.high_watermark[leader]
    )


def answer_producers(s, leader):
    """The leader answers producers of records below its high watermark: success or NOT_ENOUGH_REPLICAS_AFTER_APPEND."""
    for record in range(s.records):
        if s.pending[record] == leader and not waits_for_more(s, leader, record):
            s.pending[record] = NONE
            if has_enough_counted_replicas(s, leader):
                s.acknowledged[record] = True
                hear_of_offset(s, leader, record)


def advance_high_watermark(s, leader):
    """The high watermark rises to the offset that every member of the leader's maximal ISR is known to have reached; it
    never falls.

    Since 3.7 it waits until the committed ISR has min.insync.replicas members. Kafka: Partition.maybeIncrementLeaderHW.
    With HW_WAIT, it also waits for caught-up replicas outside the ISR; without HW_WAIT, it never does, because any of
    these replicas may be slow. It does not rise while the offset of a replica for which it waits is unknown (-1).
    """
    held_by_all = s.log_end_offset[leader]
    for r in range(s.replicas):
        if r != leader and (is_in_maximal_isr(s, leader, r) or holds_back(s, leader, r)):
            held_by_all = min(held_by_all, s.remote_log_end_offset[leader][r])
    if held_by_all > s.high_watermark[leader] and (not s.HW_MINISR_GATE or has_enough_replicas(s, leader)):
        s.high_watermark[leader] = held_by_all
        expose(s, leader)
        answer_producers(s, leader)


def begin_to_lead(s, leader):
    """A leader enters its epoch with its own high watermark or, if that is outside its log, with its log start offset.

    Records below the high watermark can be read; the high watermark advances at once if the leader is alone in the ISR.
    Kafka: Partition.makeLeader, Replica.convertHWToLocalOffsetMetadata.
    """
    if not s.log_start_offset[leader] <= s.high_watermark[leader] <= s.log_end_offset[leader]:
        s.high_watermark[leader] = s.log_start_offset[leader]
    enter_epoch(s, leader)
    begin_to_wait(s, leader)
    expose(s, leader)
    advance_high_watermark(s, leader)


def note_append(s, leader, record):
    """After an append, the producer waits for the high watermark (acks=all); otherwise, the record is acknowledged."""
    if s.acks == Acks.ALL:
        s.pending[record] = leader
    else:
        s.acknowledged[record] = True


# ------------------------------------------------------------------------------------------------------------ proposals
#
# A leader's change of the ISR since 2.8: proposed to the controller, and pending until it is answered (KIP-497).


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
    """The leader has proposed a change of the ISR, and does not know the outcome."""
    return any(s.proposed_isr[leader][r] for r in range(s.replicas))


def may_propose(s, leader):
    """No change is pending, and no request is outstanding, not even the request of a change that was dropped."""
    return (
        presumes_leadership(s, leader)
        and not is_pending(s, leader)
        and s.alter_partition[leader] == AlterPartition.NONE
    )


def send_proposal(s, leader):
    """The leader sends its proposed ISR to the controller. Kafka: Partition.submitAlterPartition.

    The request names leader epoch, partition epoch and, for every member that has fetched in this leadership, the
    broker epoch of the member's last fetch (KIP-903).
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


# ---------------------------------------- what a broker forgets when its process ends, and what it knows when it starts


def stop_broker(s, broker):
    """The process ends. It forgets leader and epoch; responses and requests that it had sent stay in flight."""
    stop_leading(s, broker)
    forget_own_fetches(s, broker)
    s.is_up[broker] = False
    s.is_truncating[broker] = False
    s.leader[broker] = NONE
    s.leader_epoch[broker] = 0
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.partition_epoch[broker] = 0
        if s.alter_partition[broker] != AlterPartition.REQUESTED:
            clear_request(s, broker)
    if s.CONTROLLER == Controller.KRAFT:
        forget_admitted_fetches(s, broker)
        if s.DIVERGING_ANSWER_IS_SPLIT:
            s.held_epoch[broker] = NONE
            s.held_end_offset[broker] = 0
        s.metadata_position[broker] = 0
        s.stopped_by[broker] = Stop.CRASH
        if s.min_isr_changes > 0:
            s.min_isr_changes_read[broker] = 0
        if s.is_fenced[broker]:
            s.is_shutting_down[broker] = False  # nothing depends on the intention of a process that ended
    forget_heard_metadata(s)


def register_new_process(s, broker):
    """The controller registers the restarted process under a new broker epoch. Fetches and requests with the earlier
    broker epoch are recognised, and requests that the earlier process sent are refused (STALE_BROKER_EPOCH).

    The new process does not shut down, even if the earlier one did. Kafka: ClusterControlManager.registerBroker, whose
    record has neither a controlled shutdown nor an offset to wait for.
    """
    s.is_shutting_down[broker] = False
    s.shutdown_partition_epoch[broker] = 0
    clear_request(s, broker)
    for leader in range(s.replicas):
        if s.FETCH_IS_SPLIT:  # not modelled: that a fetch of the earlier process still counts for that process
            s.admitted_offset[leader][broker] = NONE
            s.is_of_former_state[leader][broker] = False
        if s.remote_broker_epoch[leader][broker] == BrokerEpoch.REGISTERED:
            s.remote_broker_epoch[leader][broker] = BrokerEpoch.EARLIER
        if s.requested_broker_epoch[leader][broker] == BrokerEpoch.REGISTERED:
            s.requested_broker_epoch[leader][broker] = BrokerEpoch.EARLIER


def start_broker(s, broker, checkpoint):
    """The broker's process restarts with a checkpointed high watermark, and receives the controller's current metadata.

    An epoch that starts at the log end is dropped from the cache when the log is loaded. A leader continues in its
    epoch, without its knowledge of its followers; a follower first has to reconcile its log with its leader's.
    """
    s.is_up[broker] = True
    cut_producer_state(s, broker, s.log_end_offset[broker])
    s.high_watermark[broker] = min(checkpoint, s.log_end_offset[broker])
    clamp_high_watermark(s, broker)
    drop_epochs_from(s, broker, s.log_end_offset[broker])
    s.leader[broker] = s.controller_leader
    s.leader_epoch[broker] = s.controller_epoch
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.partition_epoch[broker] = s.controller_partition_epoch
    if s.CONTROLLER == Controller.KRAFT:
        s.metadata_position[broker] = s.controller_partition_epoch
        s.stopped_by[broker] = Stop.CRASH  # without a meaning while the broker runs
        if s.min_isr_changes > 0:
            for change in range(s.min_isr_changes):
                if s.changed_min_isr[change] > 0:
                    s.min_isr_changes_read[broker] = change + 1
    if s.controller_leader == broker:
        adopt_controllers_isr(s, broker)
        begin_to_lead(s, broker)
    else:
        begin_to_follow(s, broker)
    forget_heard_metadata(s)
