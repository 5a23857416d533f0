"""The actions of a follower: it applies responses, and handles OFFSET_OUT_OF_RANGE."""

from isrcheck.models.kafka.state.broker import clear_fetch, follows, may_fetch, stop_broker
from isrcheck.models.kafka.state.fields import Replica
from isrcheck.models.kafka.state.log import (
    append_to_log,
    clamp_high_watermark,
    is_answered,
    latest_epoch,
    raise_log_start,
    start_log_at,
    truncate_log,
)
from isrcheck.models.kafka.state.values import Fetch, Truncation
from isrcheck.models.language import NONE, action, require


@action(shows="{follower} from {leader}")
def follower_applies_response(s, follower: Replica, leader: Replica):
    """The follower appends the received entries, and adopts the leader's high watermark as far as its own log reaches.

    A response fits if it begins at the follower's log end; epochs are not compared. The high watermark can fall here.
    Then the follower adopts the leader's log start. Kafka: ReplicaFetcherThread.processPartitionData.
    """
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.ANSWERED)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    for offset in range(s.log_size):
        if s.response_record[follower][leader][offset] != NONE:
            if s.enable_idempotence:
                s.log_producer_epoch[follower][offset] = s.response_producer_epoch[follower][leader][offset]
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
    require(s.fetch[follower][leader] >= Fetch.ANSWERED)
    require(s.fetch[follower][leader] != Fetch.DIVERGING or not s.is_truncating[follower])
    clear_fetch(s, follower, leader)


@action(shows="{follower} at {leader}")
def follower_is_out_of_range(s, follower: Replica, leader: Replica):
    """The follower's log is longer than its leader's: OFFSET_OUT_OF_RANGE.

    The follower truncates to the leader's log end offset; up to 2.0, if unclean election is off, the broker halts
    instead (KAFKA-7414). Kafka: ReplicaFetcherThread.handleOffsetOutOfRange.
    """
    require(may_fetch(s, follower, leader))
    require(s.log_end_offset[follower] > s.log_end_offset[leader])
    require(s.TRUNC != Truncation.ON_FETCH or not is_answered(s, leader, latest_epoch(s, follower)))
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
