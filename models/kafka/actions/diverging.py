"""Truncation on fetch, since 2.8: a follower reacts to a response that says where the logs diverge.

Before 3.5 it first takes the high watermark of that response (KAFKA-14704), although its log may hold other records
below it; until it has truncated, it may crash, be elected, or serve readers.
"""

from isrcheck.models.kafka.state.broker.epochs import end_offset_for, epoch_for, is_answered
from isrcheck.models.kafka.state.broker.log import clamp_high_watermark, truncate_log
from isrcheck.models.kafka.state.broker.roles import clear_fetch, follows
from isrcheck.models.kafka.state.fields import Replica
from isrcheck.models.kafka.state.values import Fetch
from isrcheck.models.language import action, require


def shared_end_offset(s, follower, leader):
    """Where, by the leader's diverging response, the part of the log ends that both share.

    If the follower does not have the answered epoch, it is where its previous one ends. Kafka:
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
    """The follower truncates to where the answered epoch ends in both logs, and fetches again.

    Kafka: AbstractFetcherThread.truncateOnFetchResponse.
    """
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.DIVERGING)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    require(s.is_truncating[follower] or not s.HW_FROM_DIVERGING_RESP)
    truncate_log(s, follower, shared_end_offset(s, follower, leader))
    s.is_truncating[follower] = False
    clear_fetch(s, follower, leader)
