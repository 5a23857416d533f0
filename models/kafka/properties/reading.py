"""Kafka's promises to a consumer: what it reads, what it skips, and how far it believes to be behind."""

from isrcheck.models.kafka.properties.promises import data_was_given_up
from isrcheck.models.kafka.state.broker.roles import is_controllers_leader
from isrcheck.models.kafka.state.broker.serving import is_not_fenced, reads_from
from isrcheck.models.kafka.state.clients.readers import first_read, is_exposed, is_record, last_stable_offset
from isrcheck.models.kafka.state.values import AutoOffsetReset, IsolationLevel, PositionCheck
from isrcheck.models.language import NONE, always, always_step, sometimes


def has_consumers(configuration):
    return configuration.consumers > 0


def a_position_was_reset(s):
    """A consumer skipped records, because auto.offset.reset is latest."""
    return data_was_given_up(s) or any(s.has_skipped[consumer] for consumer in range(s.consumers))


def data_was_lost_within_an_epoch(s):
    """The path contains a loss of power or of a disk: a leader can restart within its epoch, with less than it had."""
    return s.power_losses_left < s.power_losses or s.disk_losses_left < s.disk_losses


@always(permitted=data_was_given_up, applies=has_consumers)
def consumers_read_what_was_exposed(s):
    """What a consumer has read at an offset, from a leader or from a follower, is what a leader showed there first."""
    return all(
        s.consumed_record[consumer][offset] == first_read(s, offset)
        for consumer in range(s.consumers)
        for offset in range(s.log_size)
        if s.consumed_record[consumer][offset] != NONE and offset >= s.deleted_before
    )


@always(permitted=a_position_was_reset, applies=has_consumers)
def consumers_skip_nothing(s):
    """A consumer has read every readable record below its position, unless the record was deleted."""
    return all(
        s.consumed_record[consumer][offset] != NONE or not is_record(s, first_read(s, offset))
        for consumer in range(s.consumers)
        for offset in range(s.log_size)
        if s.deleted_before <= offset < s.position[consumer]
    )


@always_step(permitted=data_was_given_up, applies=has_consumers)
def lag_matches_isolation(before, after):
    """After a fetch, the lag of a consumer is the number of entries that it can still read at the broker that answered:
    those below the high watermark, with read_committed those below the last stable offset, and none that the log does
    not hold. Where the broker shows less than the consumer has read, it is the negative number of those entries. Kafka:
    SubscriptionState.partitionLag."""
    return all(
        any(
            after.known_end_offset[consumer] - after.position[consumer] == entries_ahead(after, r, consumer)
            for r in range(after.replicas)
            if is_not_fenced(after, consumer, r) and reads_from(after, consumer, r)
        )
        for consumer in range(after.consumers)
        if has_fetched(before, after, consumer)
    )


def has_fetched(before, after, consumer):
    """A broker has answered a fetch of the consumer, with an entry or with another end of the log. A reset makes the
    epoch of the last entry unknown."""
    return after.known_end_offset[consumer] != before.known_end_offset[consumer] or (
        after.position[consumer] > before.position[consumer] and after.consumed_epoch[consumer] != NONE
    )


def entries_ahead(s, r, consumer):
    """The entries from the consumer's position on that this broker shows, less those below that it does not show."""
    return sum(1 for offset in range(s.log_size) if offset >= s.position[consumer] and is_shown(s, r, offset)) - sum(
        1
        for offset in range(s.log_size)
        if s.log_start_offset[r] <= offset < s.position[consumer] and not is_shown(s, r, offset)
    )


def is_shown(s, r, offset):
    """A broker sends the entry to consumers of the configured isolation level."""
    return is_exposed(s, r, offset) and (
        s.isolation_level == IsolationLevel.READ_UNCOMMITTED or offset < last_stable_offset(s, r)
    )


@always_step(
    permitted=data_was_given_up,
    applies=lambda c: c.consumers > 0 and c.auto_offset_reset == AutoOffsetReset.LATEST,
)
def latest_does_not_go_back(before, after):
    """A consumer that is reset to the end of the log does not continue before an end that it knew (KAFKA-2334)."""
    return all(
        before.known_end_offset[consumer] <= after.position[consumer]
        for consumer in range(before.consumers)
        if after.has_skipped[consumer] and not before.has_skipped[consumer]
    )


@always(
    permitted=data_was_lost_within_an_epoch,
    applies=lambda c: c.consumers > 0 and c.POSITION_CHECK != PositionCheck.NONE,
)
def truncation_is_detected(s):
    """A consumer that knows the epoch of the controller's leader has read what the leader's log holds: if records that
    it had read were truncated, it has noticed (KIP-320), and continues at the common prefix or has reset its position.
    """
    return all(
        s.log_record[leader][offset] == s.consumed_record[consumer][offset]
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
        for consumer in range(s.consumers)
        if s.consumer_leader_epoch[consumer] == s.leader_epoch[leader] and not s.has_skipped[consumer]
        for offset in range(s.log_size)
        if s.log_start_offset[leader] <= offset < s.position[consumer]
        if s.consumed_record[consumer][offset] != NONE
    )


@sometimes(applies=has_consumers)
def a_consumer_catches_up(s):
    """A consumer has read everything that it knows of."""
    return any(0 < s.position[consumer] == s.known_end_offset[consumer] for consumer in range(s.consumers))


@sometimes(applies=lambda c: c.consumers > 0 and c.follower_fetching and c.replicas > 1 and c.records > 1)
def a_follower_shows_less_than_its_leader(s):
    """A consumer reads from a follower, whose high watermark lags."""
    return any(
        0 < s.position[consumer] == s.known_end_offset[consumer] < s.high_watermark[leader]
        for consumer in range(s.consumers)
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
    )


@sometimes(applies=lambda c: c.consumers > 0 and c.follower_fetching and c.replicas > 1)
def a_lag_is_negative(s):
    """A consumer has read more than the broker shows from which it has fetched last."""
    return any(s.known_end_offset[consumer] < s.position[consumer] for consumer in range(s.consumers))


@sometimes(applies=lambda c: c.consumers > 0 and c.delete_records > 0)
def a_consumer_is_out_of_range_of_a_log(s):
    """A consumer's position was deleted."""
    return any(
        s.position[consumer] < s.log_start_offset[leader]
        for consumer in range(s.consumers)
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
    )
