"""Delivery semantics, seen from the client: producer sessions, batches, requests, and the log of each partition.

An application hands records to a producer. Each call of `send()` is a batch of one record: its partition is chosen
once, and its retries go to the same partition (RecordAccumulator keeps a queue of batches for each partition). A record
that the application hands over again is a new batch. A producer that restarts is a new session, with a new producer
id: there is no transactional.id.

Requests of one connection are handled, and answered, in their order; each partition has a leader, and a connection, of
its own. A request on a connection that breaks is late or lost, but lost if the batch is sent again.

Left out: replication (`kafka` models it: here one fault, with a budget, takes the last record of a partition away, with
acks=all only in an unclean election); transactions; batches of several records; partitions that are added; errors that
are not retried; a finite number of retries; a batch that times out while its request is in flight (no error has come),
and the late answer to it; several batches whose deadline has passed when the loss of their connection is handled. What
the client does after a sequence error follows TransactionManager.canRetry, bumpIdempotentProducerEpoch and
Sender.completeBatch.
"""

from isrcheck.models.client_settings import Acks
from isrcheck.models.exactly_once.values import (
    BatchState,
    Partitioner,
    Request,
    Resend,
    Retries,
    Truth,
    UnknownProducer,
)
from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    between,
    bound,
    budget,
    field,
    initial,
    optional,
    setting,
    switch,
    terminal,
)


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
    """A block of producer ids that begins with the last id of the block before."""


class FreedBatch(Domain, size=lambda c: c.batches if c.deadlines_in_flight > 0 else 0):
    """A batch whose buffer can be freed while its request is being sent."""


class InFlightDeadline(Domain, size=lambda configuration: 1 if configuration.deadlines_in_flight > 0 else 0):
    """The deadline of a batch whose request is being sent."""


def up_to_budget(name):
    """The values of a budget's remaining amount. Budgets up to three share a state layout, and thus a kernel."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


class State:
    # Each partition: its log. What a leader knows of producers follows from it (producers.py), as far as the leader has
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


BUDGETS = (
    "epoch_bumps",
    "lost_connections",
    "rejections",
    "delivery_timeouts",
    "lossy_failovers",
    "forgotten_producers",
    "reloaded_producers",
)

RARE_BUDGETS = ("overlapping_blocks", "deadlines_in_flight")
"""These have no cell if they are 0."""


@initial
def nothing_sent(configuration):
    """Empty logs, a producer with its first id, and the whole budgets."""
    yield {f"{name}_left": getattr(configuration, name) for name in BUDGETS} | {
        f"{name}_left": [getattr(configuration, name)] * (getattr(configuration, name) > 0) for name in RARE_BUDGETS
    }


@terminal
def work_is_done(s):
    """Records, calls of send() and faults are numbered, so that every behaviour ends. What must be true at its end is a
    property of its own."""
    return True
