"""The actions of a follower: it reconciles its log with its leader's, applies responses, and handles
OFFSET_OUT_OF_RANGE.
"""

from isrcheck.models.kafka.actions.faults import stop_broker
from isrcheck.models.kafka.state.epochs import end_offset_for, epoch_for, is_answered, latest_epoch
from isrcheck.models.kafka.state.fields import Fetch, Replica, Truncation
from isrcheck.models.kafka.state.log import (
    append_to_log,
    clamp_high_watermark,
    raise_log_start,
    start_log_at,
    truncate_log,
)
from isrcheck.models.kafka.state.roles import can_ask, clear_fetch, follows, may_fetch
from isrcheck.models.language import NONE, action, require


@action(shows="{follower} with {leader}")
def follower_reconciles(s, follower: Replica, leader: Replica):
    """The follower asks where its latest epoch ends in the leader's log (OffsetsForLeaderEpoch), and truncates.

    Without a usable answer, it truncates to its own high watermark. KIP-101 (0.11): it truncates to the leader's
    answer. KIP-279 (2.0): the answer names an epoch that the leader has; the follower truncates to where that epoch
    ends in both logs, and if it does not have the epoch, it goes back to its previous epoch and asks again. KIP-320
    (2.1): the leader refuses a follower of another epoch. Request and answer are one step; an answer that arrives in
    another epoch is dropped only since 2.1.1 (KAFKA-7786). Kafka: AbstractFetcherThread.maybeTruncate.
    """
    require(s.is_truncating[follower])
    require(can_ask(s, follower, leader))
    epoch = latest_epoch(s, follower)
    if not is_answered(s, leader, epoch):
        truncate_log(s, follower, s.high_watermark[follower])
        s.is_truncating[follower] = False
    else:
        end_offset = end_offset_for(s, leader, epoch)
        known_epoch = epoch_for(s, leader, epoch)
        if s.TRUNC == Truncation.KIP101 or not is_answered(s, follower, known_epoch):
            truncate_log(s, follower, end_offset)
            s.is_truncating[follower] = False
        elif epoch_for(s, follower, known_epoch) != known_epoch:
            truncate_log(s, follower, end_offset_for(s, follower, known_epoch))
        else:
            truncate_log(s, follower, min(end_offset, end_offset_for(s, follower, known_epoch)))
            s.is_truncating[follower] = False


@action(shows="{follower} from {leader}")
def follower_applies_response(s, follower: Replica, leader: Replica):
    """The follower appends the received entries, and adopts the leader's high watermark as far as its own log reaches.

    Only the offset is compared, not the epoch; and the high watermark can fall here. Then the log start follows the
    leader's. Kafka: ReplicaFetcherThread.processPartitionData.
    """
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.ANSWERED)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    for offset in range(s.log_size):
        if s.response_record[follower][leader][offset] != NONE:
            append_to_log(
                s, follower, s.response_record[follower][leader][offset], s.response_epoch[follower][leader][offset]
            )
    s.high_watermark[follower] = min(s.response_high_watermark[follower][leader], s.log_end_offset[follower])
    raise_log_start(s, follower, s.response_log_start_offset[follower][leader])
    clamp_high_watermark(s, follower)
    clear_fetch(s, follower, leader)


@action(shows="to {follower} from {leader}")
def response_is_lost(s, follower: Replica, leader: Replica):
    """The connection breaks, or the response no longer fits the follower's log; the follower will fetch again."""
    require(s.fetch[follower][leader] == Fetch.ANSWERED)
    clear_fetch(s, follower, leader)


@action(shows="{follower} at {leader}")
def follower_is_out_of_range(s, follower: Replica, leader: Replica):
    """The follower's log is longer than its leader's: OFFSET_OUT_OF_RANGE.

    It truncates to the leader's log end offset; up to 2.0, if unclean election is off, the broker halts instead
    (KAFKA-7414). Kafka: ReplicaFetcherThread.handleOffsetOutOfRange.
    """
    require(may_fetch(s, follower, leader))
    require(s.log_end_offset[follower] > s.log_end_offset[leader])
    if s.OUT_OF_RANGE_HALTS and s.unclean_elections == 0:
        stop_broker(s, follower)
    else:
        truncate_log(s, follower, s.log_end_offset[leader])


@action(shows="{follower} at {leader}")
def follower_starts_over(s, follower: Replica, leader: Replica):
    """The follower's next offset was deleted at the leader: it drops its log and restarts at the leader's log start.

    Kafka: ReplicaFetcherThread.handleOffsetOutOfRange, truncateFullyAndStartAt.
    """
    require(may_fetch(s, follower, leader))
    require(s.log_end_offset[follower] < s.log_start_offset[leader])
    start_log_at(s, follower, s.log_start_offset[leader])
