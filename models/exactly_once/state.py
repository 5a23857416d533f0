"""Delivery semantics, seen from the client: producer sessions, batches, requests, and the log of each partition.

An application hands records to a producer. Each call of `send()` is a batch of one record: its partition is chosen
once, and its retries go to the same partition (RecordAccumulator keeps a queue of batches for each partition). A record
that the application hands over again is a new batch. A producer that restarts is a new session, with a new producer
id: there is no transactional.id.

Requests of one connection are handled, and answered, in their order; each partition has a leader, and a connection, of
its own. If a connection breaks, its requests are late or lost; if a batch is sent again, its late request is lost.

Left out: replication, which `kafka` models (here, a fault with a budget removes the last record of a partition; with
acks=all, only an unclean election does so); transactions; batches of several records; partitions that are added; errors
that are not retried; a finite number of retries; a batch that times out while its request is in flight (only the reuse
of its buffer is modelled), and the late answer to that request; several batches whose deadline has passed when the loss
of their connection is handled. What the client does after a sequence error follows TransactionManager.canRetry,
bumpIdempotentProducerEpoch and Sender.completeBatch.
"""

from enum import IntEnum

from isrcheck.models.client_settings import Acks, Spelled, Truth
from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    optional,
    setting,
    switch,
    terminal,
)

# --------------------------------------------------------------------------------------------------------------- values


class Retries(IntEnum):
    """`retries`: none (the default up to 2.0), or as many as fit into delivery.timeout.ms (2147483647, since 2.1).

    With a finite number (left out), a failed batch's sequence number is neither reused nor marked as unresolved.
    """

    NONE = 0
    MOST = 1

    @property
    def spelling(self):
        return "0" if self is Retries.NONE else "2147483647"


class Partitioner(Spelled):
    """How the partition of a batch is chosen, once for each call of send().

    STICKY is the default for records without a key since 2.4: any partition, since the application does not control
    when it changes (KIP-480, KIP-794). BY_KEY: any partition, but always the same for a record.
    """

    STICKY = 0
    ROUND_ROBIN = 1
    BY_KEY = 2


class Resend(Spelled):
    """Which records the application sends again: none, or those that it does not know to be delivered."""

    NEVER = 0
    UNKNOWN = 1


class UnknownProducer(IntEnum):
    """UNKNOWN_PID_POLICY: which sequence number a partition accepts from a producer that it does not know.

    OUT_OF_ORDER (0.11) and REJECT (1.0): only 0; the errors are OUT_OF_ORDER_SEQUENCE_NUMBER and UNKNOWN_PRODUCER_ID.
    ACCEPT (2.5, KIP-360): any. ACCEPT_UNLESS_EMPTY (4.5, KAFKA-15591): any, but only 0 in an empty log.
    """

    OUT_OF_ORDER = 0
    REJECT = 1
    ACCEPT = 2
    ACCEPT_UNLESS_EMPTY = 3


class BatchState(IntEnum):
    """A batch, as the producer sees it: not sent yet, a request is under way, waiting to be sent again, or done.

    DELIVERED: the callback reported success, or acks=0. FAILED: the callback reported a time-out or an error, or the
    producer restarted; the application does not know what became of the record. REFUSED: the callback reported a
    sequence error (OutOfOrderSequenceException, or UnknownProducerIdException, which extends it).
    """

    NEW = 0
    IN_FLIGHT = 1
    WAITING = 2
    DELIVERED = 3
    FAILED = 4
    REFUSED = 5


class Request(IntEnum):
    """The request of a batch: none, on its way, late, or answered with success or an error that is on its way back.

    LATE: left behind on a connection that the producer has closed; it arrives late, or never, and requests of later
    connections overtake it.
    """

    NONE = 0
    ON_ITS_WAY = 1
    LATE = 2
    SUCCESS = 3
    NOT_LEADER = 4
    OUT_OF_ORDER_SEQUENCE = 5
    UNKNOWN_PRODUCER_ID = 6


# ---------------------------------------------------------------------------------------------- configuration and state


class Configuration:
    partitions = bound(2, "partitions of the topic", least=1, option="--partitions")
    records = bound(2, "records that the application has", least=1, option="--records")
    batches = bound(3, "calls of send(): a record that is sent again by the application counts again", least=1)
    log_size = bound(4, "records that the log of a partition can hold", least=1, option="--log-size")
    restarts = budget(1, "restarts of the producer", shapes=True, option="--restarts")
    epoch_bumps = budget(1, "producer epochs (up to 2.4: producer ids) after errors", shapes=True)
    lost_connections = budget(1, "connections that break, with the requests and answers on them")
    rejections = budget(1, "requests that a broker rejects, and that can be retried (NOT_LEADER_OR_FOLLOWER)")
    delivery_timeouts = budget(1, "batches that exceed delivery.timeout.ms (up to 2.0: wait for request.timeout.ms)")
    lossy_failovers = budget(
        1, "fail-overs that lose the last record: with acks=all, unclean ones", option="--lossy-failovers"
    )
    forgotten_producers = budget(0, "partitions that forget their producers (producer.id.expiration.ms; retention)")
    reloaded_producers = budget(0, "partitions that know only the last batch of each producer (snapshot)")
    overlapping_blocks = budget(
        0, "blocks of producer ids that begin with the last id of the block before", shapes=True
    )
    deadlines_in_flight = budget(
        0, "batches that exceed delivery.timeout.ms while their request is being sent", shapes=True
    )
    acks = setting(Acks.ALL, "when a producer regards a record as written", values=Acks, option="--acks")
    enable_idempotence = setting(Truth.TRUE, "enable.idempotence", values=Truth, option="--enable-idempotence")
    retries = setting(Retries.MOST, "retries: none, or as many as it takes", values=Retries, option="--retries")
    max_in_flight_requests_per_connection = setting(
        2, "requests of a connection without an answer", least=1, most=5, option="--max-in-flight-requests"
    )
    idempotent_cache = setting(
        2, "batches of a producer that a partition remembers (5 in Kafka since 1.0)", least=1, most=5
    )
    partitioner = setting(Partitioner.STICKY, "which partition a batch goes to", values=Partitioner)
    application_resends = setting(
        Resend.UNKNOWN, "which records the application sends again: those not known to be delivered", values=Resend
    )
    unclean_leader_election_enable = setting(Truth.FALSE, "unclean.leader.election.enable", values=Truth)
    UNKNOWN_PID_POLICY = switch(UnknownProducer.ACCEPT, "which sequence number is accepted from an unknown producer")
    OVERDUE_ERROR_RENUMBERS = switch(True, "an error after delivery.timeout.ms renumbers batches (KAFKA-14397)")
    OVERLAPPING_BLOCK_TAKEN = switch(False, "a broker takes such a block of producer ids (KAFKA-20031)")
    BUFFER_FREED_IN_FLIGHT = switch(False, "the buffer of such a batch goes back to the pool at once (KAFKA-19012)")
    EPOCH_BUMP = switch(True, "after a gap in the sequence, a new epoch of the same producer id (KIP-360)")


class Partition(Domain, size="partitions"):
    pass


class Record(Domain, size="records", letters=True):
    pass


class Batch(Domain, size="batches"):
    pass


class Offset(Domain, size="log_size"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.log_size + 1):
    pass


class Session(Domain, size=lambda configuration: configuration.restarts + 1):
    pass


class ProducerId(Domain, size=lambda configuration: configuration.restarts + configuration.epoch_bumps + 1):
    pass


class Epoch(Domain, size=lambda configuration: configuration.epoch_bumps + 1):
    pass


class Sequence(Domain, size="batches"):
    pass


class NextSequence(Domain, size=lambda configuration: configuration.batches + 1):
    pass


class OverlappingBlock(Domain, size=lambda configuration: 1 if configuration.overlapping_blocks > 0 else 0):
    """A block of producer ids that begins with the last id of the previous block."""


class FreedBatch(Domain, size=lambda c: c.batches if c.deadlines_in_flight > 0 else 0):
    """A batch whose buffer can be freed while its request is being sent."""


class InFlightDeadline(Domain, size=lambda configuration: 1 if configuration.deadlines_in_flight > 0 else 0):
    """The deadline of a batch whose request is being sent."""


def up_to_budget(name):
    """The range of a field for what is left of the budget `name`: from 0 to the budget, or to 3 if the budget is
    smaller, so that configurations with small budgets share one compiled kernel."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


class State:
    # Each partition: its log. What a leader knows of producers follows from it (see below), as far as the leader has
    # not forgotten it: nothing from before `forgotten_before`, and only the last batch of each producer from before
    # `reloaded_before`.
    log_record = field(Partition, Offset, values=optional(Record), initially=NONE)
    log_batch = field(Partition, Offset, values=optional(Batch), initially=NONE)
    log_producer_id = field(Partition, Offset, values=optional(ProducerId), initially=NONE)
    log_epoch = field(Partition, Offset, values=optional(Epoch), initially=NONE)
    log_sequence = field(Partition, Offset, values=optional(Sequence), initially=NONE)
    log_end_offset = field(Partition, values=EndOffset)
    forgotten_before = field(Partition, values=EndOffset)
    reloaded_before = field(Partition, values=EndOffset)

    # What the producer keeps for each partition: its epoch there, sequence numbers, and the number after a batch whose
    # fate is unknown (an unresolved sequence).
    partition_epoch = field(Partition, values=Epoch)
    next_sequence = field(Partition, values=NextSequence)
    last_acked_sequence = field(Partition, values=optional(Sequence), initially=NONE)
    unresolved_sequence = field(Partition, values=optional(NextSequence), initially=NONE)

    # Each batch, in the order in which the application sent them, and its request, which may carry older numbers.
    batch_record = field(Batch, values=optional(Record), initially=NONE)
    batch_session = field(Batch, values=Session)
    batch_partition = field(Batch, values=Partition)
    batch_state = field(Batch, values=BatchState)
    batch_producer_id = field(Batch, values=ProducerId)
    batch_epoch = field(Batch, values=Epoch)
    batch_sequence = field(Batch, values=Sequence)
    request = field(Batch, values=Request)
    request_epoch = field(Batch, values=Epoch)
    request_sequence = field(Batch, values=Sequence)
    # Whether the buffer that a request is sent from is in the pool, and the batch that was written into it since.
    is_freed = field(FreedBatch, values=Flag)
    overwritten_by = field(FreedBatch, values=optional(Batch), initially=NONE)

    # The application and its producer.
    next_record = field(values=between(0, "records"))
    next_batch = field(values=between(0, "batches"))
    session = field(values=Session)
    producer_id = field(values=ProducerId)
    producer_epoch = field(values=Epoch)
    next_partition = field(values=Partition)

    # The remaining budgets.
    epoch_bumps_left = field(values=between(0, "epoch_bumps"))
    lost_connections_left = field(values=up_to_budget("lost_connections"))
    rejections_left = field(values=up_to_budget("rejections"))
    delivery_timeouts_left = field(values=up_to_budget("delivery_timeouts"))
    lossy_failovers_left = field(values=up_to_budget("lossy_failovers"))
    forgotten_producers_left = field(values=up_to_budget("forgotten_producers"))
    reloaded_producers_left = field(values=up_to_budget("reloaded_producers"))
    overlapping_blocks_left = field(OverlappingBlock, values=between(0, "overlapping_blocks"))
    deadlines_in_flight_left = field(InFlightDeadline, values=between(0, "deadlines_in_flight"))


RARE_BUDGETS = ("overlapping_blocks_left", "deadlines_in_flight_left")
"""The budgets that have no cell in the state if they are 0."""


@initial
def nothing_sent(configuration):
    """The initial state: empty logs, a producer with its first id, and no budget used."""
    budgets = [name for name in vars(State) if name.endswith("_left")]
    left = {name: getattr(configuration, name.removesuffix("_left")) for name in budgets}
    yield left | {name: [left[name]] * (left[name] > 0) for name in RARE_BUDGETS}


@terminal
def work_is_done(s):
    """Every state may be the last one: records, calls of send() and faults are limited, so every behaviour ends. What
    must be true at the end is a property of its own."""
    return True


# --------------------------------------------------------------------------- configurations that Kafka's client refuses


@contradiction
def idempotence_without_acks_all(configuration):
    """Kafka's client refuses to start: idempotence needs acks=all; set --acks all, or --enable-idempotence false."""
    return configuration.enable_idempotence == Truth.TRUE and configuration.acks != Acks.ALL


@contradiction
def idempotence_without_retries(configuration):
    """Kafka's client refuses to start: idempotence needs retries; set --retries 2147483647, or
    --enable-idempotence false."""
    return configuration.enable_idempotence == Truth.TRUE and configuration.retries == Retries.NONE


@contradiction
def more_in_flight_than_remembered(configuration):
    """Kafka's client refuses to start: idempotence allows at most as many requests in flight as brokers remember
    batches; lower --max-in-flight-requests, or set --enable-idempotence false."""
    return (
        configuration.enable_idempotence == Truth.TRUE
        and configuration.max_in_flight_requests_per_connection > configuration.idempotent_cache
    )


# ------------------------------------------------------ what the producer knows of its batches, and how it numbers them


def is_idempotent(s):
    return s.enable_idempotence == Truth.TRUE


def is_unfinished(s, batch):
    """The producer has not reported the batch to the application yet."""
    return s.batch_state[batch] == BatchState.IN_FLIGHT or s.batch_state[batch] == BatchState.WAITING


def has_unfinished(s, partition):
    """The producer has an unfinished batch of `partition` that carries the producer's current id."""
    return any(
        is_unfinished(s, b) and not has_old_id(s, b) and s.batch_partition[b] == partition for b in range(s.batches)
    )


def has_waiting(s, partition):
    return any(s.batch_state[b] == BatchState.WAITING and s.batch_partition[b] == partition for b in range(s.batches))


def in_flight(s, partition):
    """The number of requests in flight on the connection to the leader of this partition."""
    return sum(
        1 for b in range(s.batches) if s.batch_state[b] == BatchState.IN_FLIGHT and s.batch_partition[b] == partition
    )


def travels(s, batch):
    """The request of a batch may still reach the broker."""
    return s.request[batch] == Request.ON_ITS_WAY or s.request[batch] == Request.LATE


def is_of_same_queue(s, one, other):
    """The two batches belong to the same session and go to the same partition."""
    return s.batch_partition[one] == s.batch_partition[other] and s.batch_session[one] == s.batch_session[other]


def leave_behind(s, batch):
    """The connection is closed: a request that is on its way is late, and an answer is lost."""
    s.request[batch] = Request.LATE if travels(s, batch) else Request.NONE


def has_old_id(s, batch):
    """The producer has taken a new id since it numbered the batch, and so has forgotten the batch."""
    return is_idempotent(s) and s.batch_producer_id[batch] != s.producer_id


def after_error(s, batch):
    """The state of a batch after an error: WAITING for a retry; FAILED if `retries` allows none; REFUSED, with
    OutOfOrderSequenceException, if the producer has a new producer id. Kafka: Sender.canRetry, completeBatch."""
    if s.retries == Retries.NONE:
        return BatchState.FAILED
    return BatchState.REFUSED if has_old_id(s, batch) else BatchState.WAITING


def is_first_unfinished(s, batch):
    """No earlier batch of this partition is unfinished."""
    return not any(
        is_unfinished(s, b) and s.batch_partition[b] == s.batch_partition[batch] for b in range(s.batches) if b < batch
    )


def was_sent_to(s, record, partition):
    return any(s.batch_record[b] == record and s.batch_partition[b] == partition for b in range(s.batches))


def is_delivered(s, record):
    """The application knows that the record is delivered."""
    return any(s.batch_record[b] == record and s.batch_state[b] == BatchState.DELIVERED for b in range(s.batches))


def is_pending(s, record):
    """The producer has not reported to the application yet what became of a batch with this record."""
    return any(s.batch_record[b] == record and is_unfinished(s, b) for b in range(s.batches))


def is_left_alone(s, record):
    """The application has sent the record, and will not send it again: it is delivered, or given up."""
    return (
        record < s.next_record
        and not is_pending(s, record)
        and (is_delivered(s, record) or s.application_resends == Resend.NEVER)
    )


def number_from_zero(s, partition):
    """Number the unfinished batches of a partition from 0. Kafka: TransactionManager.startSequencesAtBeginning."""
    s.next_sequence[partition] = 0
    s.last_acked_sequence[partition] = NONE
    for b in range(s.batches):
        if is_unfinished(s, b) and s.batch_partition[b] == partition and not has_old_id(s, b):
            s.batch_epoch[b] = s.producer_epoch
            s.batch_sequence[b] = s.next_sequence[partition]
            s.next_sequence[partition] += 1


def forget_numbers(s):
    """Begin with no epoch and no sequence number for any partition: the producer has a new id."""
    for partition in range(s.partitions):
        s.partition_epoch[partition] = 0
        s.next_sequence[partition] = 0
        s.last_acked_sequence[partition] = NONE
        s.unresolved_sequence[partition] = NONE


def leave_gap(s, partition):
    """Nothing can fill a gap in the sequence: a new epoch begins (KIP-360), or up to 2.4 a new producer id.

    With a new epoch, the unfinished batches of this partition get new numbers; the batches of other partitions keep
    their numbers. A new producer id renumbers nothing. Kafka: bumpIdempotentProducerEpoch, resetProducerId.
    """
    s.epoch_bumps_left -= 1
    if s.EPOCH_BUMP:
        s.producer_epoch += 1
        s.partition_epoch[partition] = s.producer_epoch
        s.unresolved_sequence[partition] = NONE
        number_from_zero(s, partition)
    else:
        s.producer_id += 1
        forget_numbers(s)


def close_up(s, batch):
    """The sequence number of a failed batch is free again, in the same epoch: the numbers of later unfinished batches
    decrease by one. Kafka up to 2.4: TransactionManager.adjustSequencesDueToFailedBatch.
    """
    partition = s.batch_partition[batch]
    s.next_sequence[partition] -= 1
    for b in range(s.batches):
        if (
            is_unfinished(s, b)
            and s.batch_partition[b] == partition
            and not has_old_id(s, b)
            and s.batch_sequence[b] > s.batch_sequence[batch]
        ):
            s.batch_sequence[b] -= 1


def can_be_overdue(s, batch):
    """delivery.timeout.ms may be over when an error of this batch is handled, so that later batches get new numbers.

    The batch is the earliest unfinished batch of its partition, because later batches have later deadlines. This is
    never true without idempotence, or with KAFKA-14397 repaired: then `producer_gives_up` models the time-out.
    """
    return (
        s.OVERDUE_ERROR_RENUMBERS
        and s.delivery_timeouts_left > 0
        and is_idempotent(s)
        and is_first_unfinished(s, batch)
    )


def leaves_gap(s, batch, is_sequence_error):
    """After an error of an overdue batch, the producer takes a new epoch; up to 2.4, it takes a new id, and only if the
    error is a sequence error."""
    return not has_old_id(s, batch) and (s.EPOCH_BUMP or is_sequence_error)


def fail_overdue(s, batch, is_sequence_error):
    """The producer handles an error, or a disconnect, after delivery.timeout.ms: the batch fails with that error.

    Since retries are left, the client assumes that no leader has written the batch, which it cannot know (KAFKA-14397).
    It does not mark the sequence number as unresolved, and the other unfinished batches of the partition get new
    numbers, since 2.5 in a new epoch. Kafka: Sender.canRetry, completeBatch, handleFailedBatch.
    """
    s.delivery_timeouts_left -= 1
    s.batch_state[batch] = BatchState.REFUSED if is_sequence_error else BatchState.FAILED
    if leaves_gap(s, batch, is_sequence_error):
        leave_gap(s, s.batch_partition[batch])
    elif not has_old_id(s, batch):
        close_up(s, batch)


# -------------------------------------------------------------------------------------------------- what a leader knows
#
# What the leader of a partition knows of producers (ProducerStateManager): it follows from the log.
#
# An entry for each producer id: its last epoch and sequence number, and its last batches, as many as
# `idempotent_cache`. Everything before `forgotten_before` is forgotten. A leader that has loaded a snapshot knows only
# the last batch of each producer from before `reloaded_before`.


def last_offset_of(s, partition, producer_id):
    """The offset of the last batch of `producer_id` that the leader has not forgotten, or NONE."""
    last = NONE
    for offset in range(s.log_size):
        if offset >= s.forgotten_before[partition] and s.log_producer_id[partition][offset] == producer_id:
            last = offset
    return last


def later_batches(s, partition, offset):
    """The number of batches in the partition's log that follow the batch at `offset` and have the same producer id."""
    return sum(
        1
        for later in range(s.log_size)
        if later > offset and s.log_producer_id[partition][later] == s.log_producer_id[partition][offset]
    )


def is_remembered(s, partition, offset):
    """The entry at this offset is among the last batches of its producer that the leader remembers."""
    return (
        offset >= s.forgotten_before[partition]
        and later_batches(s, partition, offset) < s.idempotent_cache
        and not any(
            s.log_producer_id[partition][later] == s.log_producer_id[partition][offset]
            for later in range(s.log_size)
            if offset < later < s.reloaded_before[partition]
        )
        and not any(
            s.log_producer_id[partition][later] == s.log_producer_id[partition][offset]
            and s.log_epoch[partition][later] != s.log_epoch[partition][offset]
            for later in range(s.log_size)
            if later > offset
        )
    )


def is_duplicate(s, partition, producer_id, epoch, sequence):
    """The leader remembers a batch with this id, epoch and sequence. Kafka: ProducerStateEntry.findDuplicateBatch."""
    return any(
        is_remembered(s, partition, offset)
        and s.log_producer_id[partition][offset] == producer_id
        and s.log_epoch[partition][offset] == epoch
        and s.log_sequence[partition][offset] == sequence
        for offset in range(s.log_size)
    )


def follows_last(s, partition, last, epoch, sequence):
    """The sequence number is the next one after the batch at offset `last`, or 0 in a new epoch."""
    return (epoch == s.log_epoch[partition][last] and sequence == s.log_sequence[partition][last] + 1) or (
        epoch > s.log_epoch[partition][last] and sequence == 0
    )
