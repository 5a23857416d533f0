"""Kafka's promises about delivery; and properties that it does not promise, whose failure is permitted."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.exactly_once.actions import (
    application_resends,
    broker_recognises_duplicate,
    producer_receives_success,
)
from isrcheck.models.exactly_once.state import (
    BatchState,
    Request,
    Resend,
    Retries,
    is_delivered,
    is_idempotent,
    is_left_alone,
)
from isrcheck.models.language import NONE, always, sometimes


def data_was_given_up(s):
    """A partition has lost a record, which with acks=all happens only in an unclean election."""
    return s.lossy_failovers_left < s.lossy_failovers


def nothing_was_promised(s):
    """The producer asked for at most the leader's acknowledgement, or a partition has lost a record."""
    return s.acks != Acks.ALL or data_was_given_up(s)


def application_may_give_up(s):
    """Nothing was promised, or the application never resends a record, even if the record may be undelivered."""
    return nothing_was_promised(s) or s.application_resends == Resend.NEVER


def duplicates_are_not_recognised(s):
    """A retry may be appended again: always without idempotence; with idempotence, once a partition has lost a record,
    or has forgotten its producers."""
    return not is_idempotent(s) or data_was_given_up(s) or s.forgotten_producers_left < s.forgotten_producers


def order_is_not_kept(s):
    """A partition has lost a record or forgotten its producers; or, without idempotence, a batch may be appended after
    later batches, because several requests are in flight, or because a late request is no longer retried."""
    return (
        data_was_given_up(s)
        or s.forgotten_producers_left < s.forgotten_producers
        or (
            not is_idempotent(s)
            and (
                s.max_in_flight_requests_per_connection > 1
                or s.retries == Retries.NONE
                or s.acks == Acks.ZERO
                or s.delivery_timeouts_left < s.delivery_timeouts
            )
        )
    )


def never_promised(s):
    """Always true: without transactions, Kafka promises the property in no configuration."""
    return True


def copies(s, record):
    """The number of copies of the record in the logs of all partitions."""
    return sum(
        1
        for partition in range(s.partitions)
        for offset in range(s.log_size)
        if s.log_record[partition][offset] == record
    )


def is_on_its_way(s, record):
    """A request with the record is on its way, on a connection that has not broken."""
    return any(s.batch_record[b] == record and s.request[b] == Request.ON_ITS_WAY for b in range(s.batches))


@always(permitted=nothing_was_promised)
def acked_not_lost(s):
    """Every record that the producer has reported as delivered is in a log (with acks=0: or on its way)."""
    return all(
        copies(s, record) > 0 or is_on_its_way(s, record) for record in range(s.records) if is_delivered(s, record)
    )


@always(permitted=application_may_give_up)
def delivered_at_least_once(s):
    """Every record is in a log, or its delivery is not over: it is pending, or the application will send it again."""
    return all(
        copies(s, record) > 0 or is_on_its_way(s, record) for record in range(s.records) if is_left_alone(s, record)
    )


@always(permitted=duplicates_are_not_recognised)
def no_duplicates(s):
    """No batch is twice in the log of its partition: what one call of send() wrote is there once, despite retries."""
    return not any(
        s.log_batch[partition][offset] != NONE and s.log_batch[partition][offset] == s.log_batch[partition][later]
        for partition in range(s.partitions)
        for offset in range(s.log_size)
        for later in range(s.log_size)
        if offset < later
    )


@always(permitted=never_promised)
def delivered_at_most_once(s):
    """No record is in the logs twice, even if the application sent it again. Never promised without transactions."""
    return all(copies(s, record) <= 1 for record in range(s.records))


def session_of(s, partition, offset):
    return s.batch_session[s.log_batch[partition][offset]] if s.log_batch[partition][offset] != NONE else NONE


@always(permitted=never_promised)
def no_duplicates_across_sessions(s):
    """No record was written by two sessions of the producer. Never promised: a new session has a new producer id."""
    return not any(
        s.log_record[one][offset] == s.log_record[other][later]
        and s.log_record[one][offset] != NONE
        and session_of(s, one, offset) < session_of(s, other, later)
        for one in range(s.partitions)
        for offset in range(s.log_size)
        for other in range(s.partitions)
        for later in range(s.log_size)
    )


@always(permitted=never_promised)
def no_duplicates_across_partitions(s):
    """No record is in two partitions. Never promised: each partition recognises only its own duplicates."""
    return not any(
        s.log_record[one][offset] == s.log_record[other][later] and s.log_record[one][offset] != NONE
        for one in range(s.partitions)
        for other in range(s.partitions)
        if one < other
        for offset in range(s.log_size)
        for later in range(s.log_size)
    )


@always(applies=lambda configuration: configuration.deadlines_in_flight > 0)
def records_stay_in_their_partition(s):
    """A record is in a log only if a batch with it was sent to that partition."""
    return not any(
        s.log_batch[partition][offset] != NONE and s.batch_partition[s.log_batch[partition][offset]] != partition
        for partition in range(s.partitions)
        for offset in range(s.log_size)
    )


def is_written(s, batch):
    return any(s.log_batch[s.batch_partition[batch]][offset] == batch for offset in range(s.log_size))


def is_first_copy(s, partition, offset):
    return s.log_batch[partition][offset] != NONE and not any(
        s.log_batch[partition][earlier] == s.log_batch[partition][offset]
        for earlier in range(s.log_size)
        if earlier < offset
    )


@always(permitted=order_is_not_kept)
def order_preserved(s):
    """In each partition, the first copies of the batches of one session are in the order in which they were sent."""
    return not any(
        s.log_batch[partition][later] < s.log_batch[partition][offset]
        and session_of(s, partition, later) == session_of(s, partition, offset)
        for partition in range(s.partitions)
        for offset in range(s.log_size)
        for later in range(s.log_size)
        if offset < later and is_first_copy(s, partition, offset) and is_first_copy(s, partition, later)
    )


@always(permitted=never_promised)
def order_across_partitions(s):
    """A batch is in its partition's log only if all batches that were sent earlier to other partitions are in the logs
    of those partitions. Never promised: each partition has its own leader."""
    return not any(
        is_written(s, batch) and not is_written(s, earlier) and s.batch_partition[earlier] != s.batch_partition[batch]
        for batch in range(s.batches)
        for earlier in range(s.batches)
        if earlier < batch
    )


@always(permitted=data_was_given_up, applies=lambda configuration: configuration.enable_idempotence > 0)
def sequence_errors_mean_loss(s):
    """The producer reports a sequence error only if a partition has lost records (KIP-192)."""
    return not any(s.batch_state[b] == BatchState.REFUSED for b in range(s.batches))


@sometimes(applies=lambda configuration: configuration.acks != Acks.ZERO)
def a_batch_is_acknowledged(before, after, taken):
    return taken == producer_receives_success


@sometimes
def every_record_is_delivered(s):
    return all(is_delivered(s, record) for record in range(s.records))


@sometimes(applies=lambda c: c.enable_idempotence > 0 and c.lost_connections > 0 and c.retries != Retries.NONE)
def a_duplicate_is_recognised(before, after, taken):
    return taken == broker_recognises_duplicate


@sometimes(
    applies=lambda c: (
        c.application_resends == Resend.UNKNOWN
        and c.acks != Acks.ZERO
        and c.lost_connections > 0
        and c.delivery_timeouts > 0
        and c.batches > 1
    )
)
def an_application_resends(before, after, taken):
    return taken == application_resends


@sometimes(applies=lambda c: c.restarts > 0)
def a_request_outlives_its_session(before, after):
    """A leader appends a request of an earlier session of the producer."""
    return any(
        before.request[b] == Request.LATE
        and before.batch_session[b] < before.session
        and after.request[b] == Request.NONE
        and any(after.log_batch[p][o] == b for p in range(after.partitions) for o in range(after.log_size))
        for b in range(before.batches)
    )


@sometimes(
    applies=lambda c: (
        c.EPOCH_BUMP
        and c.enable_idempotence > 0
        and c.epoch_bumps > 0
        and c.delivery_timeouts > 0
        and c.lost_connections > 0
    )
)
def an_epoch_is_bumped(s):
    return s.producer_epoch > 0
