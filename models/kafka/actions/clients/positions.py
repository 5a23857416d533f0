"""Positions of consumers: whether a leader has them, and where a consumer continues if it does not."""

from isrcheck.models.kafka.state.broker.epochs import end_offset_for, epoch_for, is_answered
from isrcheck.models.kafka.state.clients.readers import readable_end_offset
from isrcheck.models.kafka.state.values import AutoOffsetReset, PositionCheck
from isrcheck.models.language import NONE


def is_in_range(s, consumer, r):
    return s.log_start_offset[r] <= s.position[consumer] <= s.log_end_offset[r]


def can_reset(s, leader):
    """The leader tells where the policy continues, if it is not none.

    Since 2.2 a new leader does not tell the end of its log before its high watermark has reached the start of its epoch
    (OFFSET_NOT_AVAILABLE, KAFKA-2334): until then it does not know what is committed. Kafka:
    Partition.fetchOffsetForTimestamp.
    """
    return s.auto_offset_reset == AutoOffsetReset.EARLIEST or (
        s.auto_offset_reset == AutoOffsetReset.LATEST
        and (not s.LATEST_OFFSET_AWAITS_EPOCH_START or s.high_watermark[leader] >= s.epoch_start_offset[leader])
    )


def reset_position(s, consumer, leader):
    """Continue at the beginning or at the end, as auto.offset.reset says. Kafka: OffsetFetcher, ListOffsets.

    The leader epoch at the new position is taken as unknown until the next record, although ListOffsets tells it. The
    end of the log, from which the lag is computed, is that of the last fetch until the next one.
    """
    if s.auto_offset_reset == AutoOffsetReset.EARLIEST:
        s.position[consumer] = s.log_start_offset[leader]
    else:
        s.position[consumer] = readable_end_offset(s, leader)
        s.has_skipped[consumer] = True
    s.consumed_epoch[consumer] = NONE


def is_truncated(s, consumer, leader):
    """By the leader's answer, its log does not hold the last record that the consumer has read."""
    epoch = s.consumed_epoch[consumer]
    return epoch != NONE and (
        has_common_prefix(s, consumer, leader)
        or not is_answered(s, leader, epoch)
        or is_of_earlier_epoch(s, leader, epoch)
    )


def has_common_prefix(s, consumer, leader):
    """By the leader's answer, the epoch of the last record that the consumer has read ends before its position."""
    epoch = s.consumed_epoch[consumer]
    return epoch != NONE and is_answered(s, leader, epoch) and end_offset_for(s, leader, epoch) < s.position[consumer]


def is_of_earlier_epoch(s, leader, epoch):
    """The leader does not know the epoch, and answers for an earlier one: Kafka's consumer does not look at that."""
    return s.POSITION_CHECK == PositionCheck.END_OFFSET_AND_EPOCH and epoch_for(s, leader, epoch) != epoch


def return_to_common_prefix(s, consumer, leader):
    """Continue where the leader's log and what the consumer has read diverge; without an answer, reset the position.

    Kafka: SubscriptionState.maybeCompleteValidation.
    """
    epoch = s.consumed_epoch[consumer]
    if has_common_prefix(s, consumer, leader):
        s.position[consumer] = end_offset_for(s, leader, epoch)
        s.consumed_epoch[consumer] = epoch_for(s, leader, epoch)
    else:
        reset_position(s, consumer, leader)
