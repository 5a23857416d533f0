"""What a follower does: it applies responses, loses some, and finds itself beyond its leader's log."""

from models.kafka.faults import stop_broker
from models.kafka.log import truncate_log
from models.kafka.roles import clear_fetch, follows, presumes_leadership
from models.kafka.state import Fetch, Replica
from models.language import NONE, action, require
from models.log import append_entry


@action(shows="{follower} from {leader}")
def follower_applies_response(s, follower: Replica, leader: Replica):
    """The follower appends what it was sent, and takes over the high watermark as far as its log reaches.

    Only the offset is compared, not the epoch; and the high watermark can go down here.
    Kafka: ReplicaFetcherThread.processPartitionData.
    """
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.ANSWERED)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    for offset in range(s.log_size):
        if s.response_record[follower][leader][offset] != NONE:
            append_entry(
                s, follower, s.response_record[follower][leader][offset], s.response_epoch[follower][leader][offset]
            )
    s.high_watermark[follower] = min(s.response_high_watermark[follower][leader], s.log_end_offset[follower])
    clear_fetch(s, follower, leader)


@action(shows="to {follower} from {leader}")
def response_is_lost(s, follower: Replica, leader: Replica):
    """The connection breaks, or the response no longer fits the follower's log; it will fetch again."""
    require(s.fetch[follower][leader] == Fetch.ANSWERED)
    clear_fetch(s, follower, leader)


@action(shows="{follower} at {leader}")
def follower_is_out_of_range(s, follower: Replica, leader: Replica):
    """The follower's log is longer than its leader's: OFFSET_OUT_OF_RANGE.

    It truncates to the leader's log end offset; up to 2.0, where unclean election is off, the broker halts instead.
    Kafka: ReplicaFetcherThread.handleOffsetOutOfRange.
    """
    require(leader != follower)
    require(follows(s, follower, leader))
    require(presumes_leadership(s, leader))
    require(s.fetch[follower][leader] == Fetch.NONE)
    require(s.log_end_offset[follower] > s.log_end_offset[leader])
    if s.unclean_elections == 0:
        stop_broker(s, follower)
    else:
        truncate_log(s, follower, s.log_end_offset[leader])
