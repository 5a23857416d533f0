"""The actions of a leader: it serves fetches, answers parked fetches, drops followers from the ISR, and deletes
records.
"""

from isrcheck.models.kafka.state.broker import (
    advance_high_watermark,
    clear_fetch,
    holds_back,
    is_controllers_leader,
    is_in_maximal_isr,
    is_known_replica,
    is_live,
    may_fetch,
    note_progress,
    presumes_leadership,
)
from isrcheck.models.kafka.state.clients import expose
from isrcheck.models.kafka.state.fields import EndOffset, Replica, ReplicaSet, WaitReplica
from isrcheck.models.kafka.state.log import raise_log_start
from isrcheck.models.kafka.state.values import Controller, Fetch, ShrinkRule
from isrcheck.models.language import NONE, action, require
from isrcheck.models.log import has_entry


def send_response(s, leader, follower, high_watermark):
    """Answer the follower's fetch with everything from its offset to the log end, and with this high watermark."""
    s.fetch[follower][leader] = Fetch.ANSWERED
    s.response_high_watermark[follower][leader] = high_watermark
    s.response_log_start_offset[follower][leader] = s.log_start_offset[leader]
    for offset in range(s.log_size):
        if offset >= s.fetch_offset[follower][leader] and has_entry(s, leader, offset):
            s.response_record[follower][leader][offset] = s.log_record[leader][offset]
            s.response_epoch[follower][leader][offset] = s.log_epoch[leader][offset]
            if s.enable_idempotence:
                s.response_producer_epoch[follower][leader][offset] = s.log_producer_epoch[leader][offset]


def may_join_isr(s, leader, follower):
    """The leader may add the follower to the ISR: its log reaches the high watermark, and the ISR write would succeed.

    Since 2.1 (KAFKA-7128) the log must also reach the start of the leader's epoch, because the high watermark may lag.
    Kafka: Partition.maybeExpandIsr.
    """
    return (
        is_controllers_leader(s, leader)
        and not s.isr[leader][follower]
        and s.log_end_offset[follower] >= s.high_watermark[leader]
        and (not s.EXPAND_EPOCH_START or s.log_end_offset[follower] >= s.epoch_start_offset[leader])
    )


def write_isr(s, leader, r, is_member):
    """A conditional write adds or removes `r` in the leader's ISR and in the controller's; the leader epoch stays."""
    s.isr[leader][r] = is_member
    s.controller_isr[r] = is_member


@action(shows="{leader} from {follower}")
def leader_handles_fetch(s, leader: Replica, follower: Replica):
    """The leader serves one fetch: it answers with its records, and learns the follower's log end.

    The response carries the high watermark from before this fetch took effect, which is why followers lag by one fetch.
    A fetch without new records is parked. Before 2.1 the leader does not compare epochs, so a fetch from an earlier
    epoch counts as well. A truncating follower does not fetch; an offset outside the leader's log gets
    OFFSET_OUT_OF_RANGE (follower.py). Kafka: ReplicaManager.fetchMessages, Partition.updateReplicaLogReadResult,
    maybeExpandIsr, maybeIncrementLeaderHW.
    """
    require(may_fetch(s, follower, leader))
    require(s.log_start_offset[leader] <= s.log_end_offset[follower] <= s.log_end_offset[leader])
    high_watermark_before = s.high_watermark[leader]
    s.fetch_offset[follower][leader] = s.log_end_offset[follower]
    note_progress(s, leader, follower)
    s.remote_log_end_offset[leader][follower] = s.log_end_offset[follower]
    if may_join_isr(s, leader, follower):
        write_isr(s, leader, follower, True)
    advance_high_watermark(s, leader)
    if s.log_end_offset[follower] < s.log_end_offset[leader]:
        send_response(s, leader, follower, high_watermark_before)
    else:
        s.fetch[follower][leader] = Fetch.PARKED


@action(shows="{leader} to {follower}")
def leader_answers_parked_fetch(s, leader: Replica, follower: Replica):
    """The leader answers a parked fetch with its current records and high watermark.

    The leader's knowledge of the follower does not change. If the log start has moved above the fetch offset meanwhile,
    the answer is an error. Kafka: DelayedFetch.onComplete.
    """
    require(presumes_leadership(s, leader))
    require(s.fetch[follower][leader] == Fetch.PARKED)
    if s.fetch_offset[follower][leader] < s.log_start_offset[leader]:
        clear_fetch(s, follower, leader)
    else:
        send_response(s, leader, follower, s.high_watermark[leader])


def may_be_dropped(s, leader, r):
    """The leader may drop `r`: any follower may be slow (time is not modelled); since 2.1, `r` must also lack entries.

    In 0.8, `r` must have fetched, and lag by more than replica.lag.max.messages; replica.lag.time.max.ms is left out.
    """
    lag = s.log_end_offset[leader] - s.remote_log_end_offset[leader][r]
    if s.SHRINK_RULE == ShrinkRule.LAG_MESSAGES:
        is_slow = s.remote_log_end_offset[leader][r] != NONE and lag > s.replica_lag_max_messages
    else:
        is_slow = s.SHRINK_RULE == ShrinkRule.LAST_CAUGHT_UP or lag > 0
    return s.isr[leader][r] and is_slow and not holds_back(s, leader, r)


@action(shows="{leader} by {removed}")
def leader_shrinks_isr(s, leader: Replica, removed: ReplicaSet):
    """The leader drops followers from the ISR, all at once, and tries to advance its high watermark.

    Kafka: Partition.maybeShrinkIsr. The write is conditional, so a zombie's write fails. The leader always stays.
    """
    require(is_controllers_leader(s, leader))
    require(not removed[leader])
    require(any(removed[r] for r in range(s.replicas)))
    require(all(may_be_dropped(s, leader, r) for r in range(s.replicas) if removed[r]))
    for r in range(s.replicas):
        if removed[r]:
            write_isr(s, leader, r, False)
    advance_high_watermark(s, leader)


@action(shows="at {leader} before {offset}")
def leader_deletes_records(s, leader: Replica, offset: EndOffset):
    """DeleteRecords: the log start moves up, at most to the high watermark; followers learn of it from responses.

    Kafka: Partition.deleteRecordsOnLeader, since 0.11. A deletion belongs to no epoch: a new leader may not know of it.
    """
    require(s.delete_records_left > 0)
    require(presumes_leadership(s, leader))
    require(s.log_start_offset[leader] < offset <= s.high_watermark[leader])
    s.delete_records_left -= 1
    s.deleted_before = max(s.deleted_before, offset)
    raise_log_start(s, leader, offset)
    expose(s, leader)  # a deleted open transaction no longer holds read_committed readers back


def is_eligible(s, r):
    """The replica is in the controller's ELR. Not modelled: the leader may hear of a change of the ELR late."""
    return s.CONTROLLER == Controller.KRAFT and s.eligible_leader_replicas[r]


def delays_deletion(s, leader, r):
    """Whether the low watermark, a minimum of log starts, includes the replica. Kafka includes the live replicas that
    the leader knows (Partition.lowWatermarkIfLeader); DELETION_AWAITS_ELIGIBLE adds the maximal ISR and the ELR."""
    return (is_live(s, r) and is_known_replica(s, leader, r)) or (
        s.DELETION_AWAITS_ELIGIBLE and (is_in_maximal_isr(s, leader, r) or is_eligible(s, r))
    )


@action(shows="at {leader}")
def leader_answers_deletion(s, leader: Replica):
    """DeleteRecords is answered: the low watermark has reached the leader's log start.

    Not modelled: the leader hears of a follower's log start only with the follower's next fetch. Kafka:
    DelayedDeleteRecords, Partition.lowWatermarkIfLeader.
    """
    require(s.DELETION_IS_ANSWERED)
    require(s.delete_records > 0)
    require(presumes_leadership(s, leader))
    require(s.answered_deletion < s.log_start_offset[leader])
    require(
        all(
            s.log_start_offset[leader] <= s.log_start_offset[r]
            for r in range(s.replicas)
            if delays_deletion(s, leader, r)
        )
    )
    s.answered_deletion = s.log_start_offset[leader]


@action(shows="{follower} at {leader}")
def follower_falls_behind(s, leader: WaitReplica, follower: WaitReplica):
    """The follower no longer counts as caught up, because replica.lag.time.max.ms has passed (only with HW_WAIT; Kafka:
    ReplicaState.isCaughtUp)."""
    require(s.is_caught_up[leader][follower])
    require(s.remote_log_end_offset[leader][follower] < s.log_end_offset[leader])
    s.is_caught_up[leader][follower] = False
