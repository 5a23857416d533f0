"""Positions of consumers: whether a leader has them, and where a consumer continues if it does not."""

from isrcheck.models.kafka.state.broker.epochs import end_offset_for, epoch_for, is_answered
from isrcheck.models.kafka.state.clients.readers import readable_end_offset
from isrcheck.models.kafka.state.values import AutoOffsetReset, PositionCheck
from isrcheck.models.language import NONE


def is_in_range(s, consumer, r):
    return s.log_start_offset[r] <= s.position[consumer] <= s.log_end_offset[r]


def reset_position(s, consumer, leader):
    """Continue at the beginning or at the end, as auto.offset.reset says. Kafka: OffsetFetcher, ListOffsets.

    The leader epoch at the new position is taken as unknown until the next record, although ListOffsets tells it. Not
    modelled: since 2.2, a new leader answers latest only once its high watermark has reached the start of its epoch
    (OFFSET_NOT_AVAILABLE, KAFKA-2334); here it may answer with an earlier offset.
    """
    if s.auto_offset_reset == AutoOffsetReset.EARLIEST:
        s.position[consumer] = s.log_start_offset[leader]
    else:
        s.position[consumer] = readable_end_offset(s, leader)
        s.has_skipped[consumer] = True
    s.known_end_offset[consumer] = readable_end_offset(s, leader)
    s.consumed_epoch[consumer] = NONE


def is_truncated(s, consumer, leader):
    """By the leader's answer, its log does not hold the last record that the consumer has read."""
    epoch = s.consumed_epoch[consumer]
    return epoch != NONE and (
        not is_answered(s, leader, epoch)
        or end_offset_for(s, leader, epoch) < s.position[consumer]
        or is_of_earlier_epoch(s, leader, epoch)
    )


def is_of_earlier_epoch(s, leader, epoch):
    """The leader does not know the epoch, and answers for an earlier one: Kafka's consumer does not look at that."""
    return s.POSITION_CHECK == PositionCheck.END_OFFSET_AND_EPOCH and epoch_for(s, leader, epoch) != epoch


def return_to_common_prefix(s, consumer, leader):
    """Continue where the leader's log and what the consumer has read diverge; without an answer, reset the position.

    Kafka: SubscriptionState.maybeCompleteValidation.
    """
    epoch = s.consumed_epoch[consumer]
    if is_answered(s, leader, epoch) and end_offset_for(s, leader, epoch) < s.position[consumer]:
        s.position[consumer] = end_offset_for(s, leader, epoch)
        s.consumed_epoch[consumer] = epoch_for(s, leader, epoch)
    else:
        reset_position(s, consumer, leader)
