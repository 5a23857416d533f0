"""How the ISR changes since 2.8: the leader proposes, the controller decides, and the leader hears of it (KIP-497).

While a change is pending, the leader's high watermark waits for the members of both the committed and the proposed ISR,
because either may be the controller's ISR. Not modelled: the leader's own view of which brokers are fenced; a stale
view only delays proposals. Since the same release, followers truncate on fetch.
"""

from isrcheck.models.kafka.actions.leader import may_be_dropped, send_response
from isrcheck.models.kafka.state.broker import (
    advance_high_watermark,
    clear_fetch,
    clear_request,
    follows,
    forget_proposal,
    is_pending,
    may_fetch,
    may_propose,
    note_progress,
    propose_expansion,
    send_proposal,
)
from isrcheck.models.kafka.state.controller import (
    announce_record,
    bumps_leader_epoch,
    drops_a_member,
    has_ineligible_member,
    is_answered_at_once,
    is_made_already,
    is_refused,
    may_change_leader,
    may_change_record,
    may_lose_member,
    removes_a_replica,
    removes_by_request,
    take_requested_isr,
)
from isrcheck.models.kafka.state.fields import AlteringReplica, Replica, ReplicaSet
from isrcheck.models.kafka.state.log import (
    clamp_high_watermark,
    end_offset_for,
    epoch_for,
    is_answered,
    latest_epoch,
    truncate_log,
)
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Controller, Fetch
from isrcheck.models.language import NONE, action, require


def diverges(s, leader, follower, epoch):
    """The follower's latest epoch, `epoch`, is unknown to the leader, or ends earlier in the leader's log."""
    return epoch != NONE and (
        epoch_for(s, leader, epoch) < epoch or end_offset_for(s, leader, epoch) < s.log_end_offset[follower]
    )


def holds_log_start(s, leader, follower):
    """The follower's log start is not below the leader's; always true without the repair EXPAND_LOG_START (in no
    release). The follower's present log start counts, even if it is newer than the fetch."""
    return not s.EXPAND_LOG_START or s.log_start_offset[follower] >= s.log_start_offset[leader]


def may_join_isr(s, leader, follower):
    """The leader may propose the follower for the ISR: the follower's log reaches the leader's high watermark and the
    start of the leader's epoch. Kafka: Partition.needsExpandIsr."""
    return (
        may_propose(s, leader)
        and not s.isr[leader][follower]
        and s.log_end_offset[follower] >= s.high_watermark[leader]
        and (not s.EXPAND_EPOCH_START or s.log_end_offset[follower] >= s.epoch_start_offset[leader])
        and holds_log_start(s, leader, follower)
    )


def note_fetch(s, leader, follower):
    """The leader learns the follower's log end, and with KRaft its broker epoch; the follower may join the ISR."""
    note_progress(s, leader, follower)
    s.remote_log_end_offset[leader][follower] = s.log_end_offset[follower]
    if s.CONTROLLER == Controller.KRAFT:
        s.remote_broker_epoch[leader][follower] = BrokerEpoch.REGISTERED
    if may_join_isr(s, leader, follower):
        propose_expansion(s, leader, follower)
    advance_high_watermark(s, leader)


@action(shows="{leader} from {follower}")
def leader_handles_fetch(s, leader: Replica, follower: Replica):
    """The leader serves one fetch: it learns the follower's log end, or says where their logs diverge.

    The fetch names the latest epoch in the follower's log. If the leader does not know this epoch, or the epoch ends
    earlier in the leader's log, the response has an epoch and its end instead of records, and the fetch counts as no
    progress (it counted before the repair of KAFKA-13141). Otherwise the response has the high watermark from before
    this fetch. A fetch without new records is parked. Kafka: Partition.fetchRecords, Replica.updateFetchStateOrThrow.
    """
    require(may_fetch(s, follower, leader))
    require(s.log_start_offset[leader] <= s.log_end_offset[follower])
    epoch = latest_epoch(s, follower)
    require(epoch == NONE or is_answered(s, leader, epoch))
    is_diverging = diverges(s, leader, follower, epoch)
    require(is_diverging or s.log_end_offset[follower] <= s.log_end_offset[leader])
    s.fetch_offset[follower][leader] = s.log_end_offset[follower]
    high_watermark_before = s.high_watermark[leader]
    if is_diverging:
        s.fetch[follower][leader] = Fetch.DIVERGING
        s.diverging_epoch[follower][leader] = epoch_for(s, leader, epoch)
        s.diverging_end_offset[follower][leader] = end_offset_for(s, leader, epoch)
        if s.HW_FROM_DIVERGING_RESP:
            s.response_high_watermark[follower][leader] = high_watermark_before
        if s.DIVERGING_RESP_UPDATES_STATE:
            note_fetch(s, leader, follower)
    else:
        note_fetch(s, leader, follower)
        if s.log_end_offset[follower] < s.log_end_offset[leader]:
            send_response(s, leader, follower, high_watermark_before)
        else:
            s.fetch[follower][leader] = Fetch.PARKED


@action(shows="{leader} by {removed}")
def leader_shrinks_isr(s, leader: Replica, removed: ReplicaSet):
    """The leader proposes an ISR without some followers; until the controller answers, these followers still count.

    Kafka: Partition.maybeShrinkIsr, prepareIsrShrink. The leader itself always stays.
    """
    require(may_propose(s, leader))
    require(not removed[leader])
    require(any(removed[r] for r in range(s.replicas)))
    require(all(may_be_dropped(s, leader, r) for r in range(s.replicas) if removed[r]))
    for r in range(s.replicas):
        s.proposed_isr[leader][r] = s.isr[leader][r] and not removed[r]
    send_proposal(s, leader)
    advance_high_watermark(s, leader)


@action(shows="of {leader}")
def controller_handles_alter_partition(s, leader: AlteringReplica):
    """The controller makes the proposed ISR the ISR in its record, or refuses the proposal.

    The sender's change stays pending until newer metadata arrives in two cases: the sender is refused because its
    metadata is old, or its change starts a new leader epoch. The answer reports ineligible members. The change can
    complete a reassignment. Kafka: ReplicationControlManager.alterPartition.
    """
    require(s.alter_partition[leader] == AlterPartition.REQUESTED)
    require(is_answered_at_once(s, leader) or may_change_record(s))
    require(is_answered_at_once(s, leader) or not drops_a_member(s, leader) or may_lose_member(s))
    require(is_answered_at_once(s, leader) or not removes_a_replica(s, leader) or may_change_leader(s))
    require(is_answered_at_once(s, leader) or not removes_by_request(s, leader, leader))
    if is_made_already(s, leader):
        s.alter_partition[leader] = AlterPartition.ACCEPTED
    elif is_refused(s, leader):
        clear_request(s, leader)
    elif has_ineligible_member(s, leader):
        s.alter_partition[leader] = AlterPartition.INELIGIBLE
    else:
        is_smaller = drops_a_member(s, leader)
        is_bumped = bumps_leader_epoch(s, leader)
        if removes_a_replica(s, leader):
            s.controller_epoch += 1
        take_requested_isr(s, leader)
        announce_record(s, leader, is_smaller)
        if is_bumped:
            clear_request(s, leader)
        else:
            s.alter_partition[leader] = AlterPartition.ACCEPTED


@action(shows="{leader}")
def leader_hears_answer(s, leader: AlteringReplica):
    """The leader hears the answer to AlterPartition: it commits or drops its pending change; without a pending change,
    it ignores the answer.

    Kafka: Partition.handleAlterPartitionUpdate, handleAlterPartitionError.
    """
    require(
        s.alter_partition[leader] == AlterPartition.ACCEPTED or s.alter_partition[leader] == AlterPartition.INELIGIBLE
    )
    if is_pending(s, leader):
        if s.alter_partition[leader] == AlterPartition.ACCEPTED:
            for r in range(s.replicas):
                s.isr[leader][r] = s.requested_isr[leader][r]
            s.partition_epoch[leader] = s.requested_partition_epoch[leader] + 1
        forget_proposal(s, leader)
        advance_high_watermark(s, leader)
    clear_request(s, leader)


@action(shows="to {leader}")
def answer_to_leader_is_lost(s, leader: AlteringReplica):
    """The answer to AlterPartition is lost, or comes too late: the same request is sent again."""
    require(s.is_up[leader])
    require(
        s.alter_partition[leader] == AlterPartition.ACCEPTED or s.alter_partition[leader] == AlterPartition.INELIGIBLE
    )
    s.alter_partition[leader] = AlterPartition.REQUESTED


# -------------------------------------------------------------------------------------------------- truncation on fetch
#
# A follower reacts to a response that says where the logs diverge. Before 3.5 it first takes the high watermark of that
# response (KAFKA-14704), although its log may hold other records below it; until it has truncated, it may crash, be
# elected, or serve readers.


def shared_end_offset(s, follower, leader):
    """The offset at which the common beginning of both logs ends, according to the leader's diverging response.

    If the follower lacks the epoch in the response, this is the end of the follower's latest earlier epoch. Kafka:
    AbstractFetcherThread.getOffsetTruncationState.
    """
    epoch = s.diverging_epoch[follower][leader]
    end_offset = s.diverging_end_offset[follower][leader]
    if not is_answered(s, follower, epoch):
        return end_offset
    if epoch_for(s, follower, epoch) != epoch:
        return end_offset_for(s, follower, epoch)
    return min(end_offset, end_offset_for(s, follower, epoch))


@action(shows="{follower} from {leader}")
def follower_takes_high_watermark_first(s, follower: Replica, leader: Replica):
    """Before 3.5, the high watermark of a diverging response is taken before the log is truncated.

    Kafka: ReplicaFetcherThread.processPartitionData, before AbstractFetcherThread.truncateOnFetchResponse.
    """
    require(s.HW_FROM_DIVERGING_RESP)
    require(follows(s, follower, leader))
    require(not s.is_truncating[follower])
    require(s.fetch[follower][leader] == Fetch.DIVERGING)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    s.high_watermark[follower] = min(s.response_high_watermark[follower][leader], s.log_end_offset[follower])
    clamp_high_watermark(s, follower)
    s.response_high_watermark[follower][leader] = 0
    s.is_truncating[follower] = True


@action(shows="{follower} from {leader}")
def follower_truncates(s, follower: Replica, leader: Replica):
    """The follower truncates to where the epoch in the diverging response ends in both logs, and fetches again.

    Kafka: AbstractFetcherThread.truncateOnFetchResponse.
    """
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.DIVERGING)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    require(s.is_truncating[follower] or not s.HW_FROM_DIVERGING_RESP)
    truncate_log(s, follower, shared_end_offset(s, follower, leader))
    s.is_truncating[follower] = False
    clear_fetch(s, follower, leader)
