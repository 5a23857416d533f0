"""The instances of the application's producer: a loop that consumes an input, processes it and produces the output.

A transaction processes one input. It writes a record to each partition: the output, and the offset after the input to
`__consumer_offsets`, which is the last partition. After a start and after an abort, the loop goes on from the committed
offset. A record can arrive at any later time, also after its producer was fenced. Requests of a fenced producer to the
coordinator are refused (PRODUCER_FENCED) and change nothing; they are left out, except InitProducerId.
"""

from isrcheck.models.language import action, require
from isrcheck.models.transactions.log import (
    begin_write,
    committed_offset,
    epoch_at_end,
    first_epoch_of_next_id,
    is_appended_and_replicated,
    is_exhausted,
    is_highest,
    is_idle,
    is_over,
    is_prepared,
)
from isrcheck.models.transactions.state import Partition, Producer
from isrcheck.models.transactions.values import Outcome, Phase, TransactionState, Verification


def is_latest_of(s, transaction, producer):
    """`transaction` is the last one that `producer` has begun."""
    return s.begun_by[transaction] == producer and not any(
        s.begun_by[later] == producer for later in range(s.transactions) if transaction < later
    )


def gave_up_on_a_request(s, producer):
    """The producer's last transaction was aborted although a request had not been answered."""
    return any(
        s.was_sent[p][transaction] and not is_appended_and_replicated(s, p, transaction)
        for transaction in range(s.transactions)
        if is_latest_of(s, transaction, producer) and s.begun_with_epoch[transaction] == s.epoch[producer]
        for p in range(s.partitions)
    )


@action(shows="{producer}")
def producer_starts(s, producer: Producer):
    """Another instance with the same transactional.id starts, after the previous one: it sends InitProducerId.

    The previous instance is gone, or it is a zombie: it was only slow, and goes on.
    """
    require(s.phase[producer] == Phase.NOT_STARTED)
    require(all(s.phase[i] > Phase.INITIALISING for i in range(s.producers) if i < producer))
    s.phase[producer] = Phase.INITIALISING


@action(shows="{producer}")
def producer_asks_for_new_epoch(s, producer: Producer):
    """Since 2.5, a producer that gave up on a request can take a new epoch before it goes on (KIP-360).

    A producer does not take a new epoch if the request failed while the producer was committing. Kafka:
    TransactionManager.maybeTransitionToErrorState.
    """
    require(s.EPOCH_BUMP_BY_PRODUCER)
    require(s.phase[producer] == Phase.READY)
    require(s.epoch[producer] == s.producer_epoch)
    require(gave_up_on_a_request(s, producer))
    s.phase[producer] = Phase.INITIALISING


@action(shows="{producer}")
def producer_begins_transaction(s, producer: Producer):
    """The application reads the input at its position, and begins a transaction to process it.

    Left out: a fenced producer before TV2, because it learns that it is fenced before it sends a record.
    """
    require(s.phase[producer] == Phase.READY)
    require(s.TXN_VERIFY == Verification.TV2 or s.epoch[producer] == s.producer_epoch)
    require(s.next_transaction < s.transactions)
    require(s.position[producer] < s.transactions)
    s.begun_by[s.next_transaction] = producer
    s.begun_with_epoch[s.next_transaction] = s.epoch[producer]
    s.processed_input[s.next_transaction] = s.position[producer]
    s.phase[producer] = Phase.IN_TRANSACTION
    s.next_transaction += 1


@action(shows="{producer} adds {partition}")
def producer_adds_partition(s, producer: Producer, partition: Partition):
    """AddPartitionsToTxn, or AddOffsetsToTxn for `__consumer_offsets`: the coordinator adds the partition."""
    require(s.TXN_VERIFY != Verification.TV2)
    require(s.phase[producer] == Phase.IN_TRANSACTION)
    require(s.epoch[producer] == s.producer_epoch)
    require(is_idle(s) and not is_prepared(s))
    require(is_over(s) or not s.in_transaction[partition])
    begin_write(s, TransactionState.ONGOING, s.producer_epoch)
    s.pending_partition = partition


def knows_partition_as_added(s, producer, partition):
    """The producer knows that the coordinator has added the partition to its ongoing transaction. A record that is sent
    after the end of the transaction is modelled as a record that was sent before the end and arrives late."""
    return (
        s.epoch[producer] == s.producer_epoch
        and s.transaction_state == TransactionState.ONGOING
        and s.in_transaction[partition]
    )


@action(shows="{producer} to {partition}")
def producer_sends_record(s, producer: Producer, partition: Partition):
    """The producer sends Produce, or TxnOffsetCommit for offsets; before TV2, the partition must have been added."""
    require(s.phase[producer] == Phase.IN_TRANSACTION)
    require(s.TXN_VERIFY == Verification.TV2 or knows_partition_as_added(s, producer, partition))
    require(
        any(
            is_latest_of(s, transaction, producer) and not s.was_sent[partition][transaction]
            for transaction in range(s.transactions)
        )
    )
    for transaction in range(s.transactions):
        if is_latest_of(s, transaction, producer):
            s.was_sent[partition][transaction] = True


@action(shows="{producer}")
def producer_commits(s, producer: Producer):
    """EndTxn(commit), once every partition has acknowledged its record."""
    require(s.phase[producer] == Phase.IN_TRANSACTION)
    require(s.epoch[producer] == s.producer_epoch)
    require(
        all(
            is_appended_and_replicated(s, p, transaction)
            for transaction in range(s.transactions)
            if is_latest_of(s, transaction, producer)
            for p in range(s.partitions)
        )
    )
    s.phase[producer] = Phase.COMMITTING
    for transaction in range(s.transactions):
        if is_latest_of(s, transaction, producer):
            s.commit_requested[transaction] = True


def was_decided(s, producer, decided):
    """The producer's last transaction has the outcome `decided`, and the coordinator has the epoch after its EndTxn.

    With TV2, the coordinator answers an EndTxn as already carried out if the coordinator's epoch is the next one after
    that of the request (retryOnEpochBump): it cannot tell whether a different request raised the epoch. After the last
    epoch of a producer id, the coordinator's epoch must be the first epoch of the next id (retryOnOverflow).
    """
    return is_epoch_of_own_end(s, s.epoch[producer]) and any(
        is_latest_of(s, transaction, producer) and s.outcome[transaction] == decided
        for transaction in range(s.transactions)
    )


def is_complete_with_next_id(s):
    """The last transaction is complete, its end took the next producer id, and the coordinator knows the old id."""
    return (
        s.producer_epochs > 0 and s.producer_epoch == first_epoch_of_next_id(s) and is_over(s) and s.knows_other_id[0]
    )


def is_epoch_of_own_end(s, epoch):
    """The coordinator has the epoch in which an EndTxn with `epoch` results: with TV2, the next one; before, the same.

    Left out: since 4.3, a producer that aborts in the highest epoch continues with the next producer id; in the model,
    this producer gets no answer.
    """
    if s.TXN_VERIFY != Verification.TV2:
        return epoch == s.producer_epoch
    return not is_highest(s, epoch) and (
        epoch + 1 == s.producer_epoch or (is_exhausted(s, epoch) and is_complete_with_next_id(s))
    )


@action(shows="{producer}")
def producer_aborts(s, producer: Producer):
    """The producer sends EndTxn(abort), at any time. It gives up its unanswered requests, which may still arrive.

    Left out: the abort of a transaction of which the coordinator knows no partition, before TV2 (no EndTxn is needed),
    or after a fence has raised the epoch, so that the coordinator takes the EndTxn for one that was carried out.
    """
    require(s.phase[producer] == Phase.IN_TRANSACTION)
    require(s.epoch[producer] == s.producer_epoch or was_decided(s, producer, Outcome.ABORTED))
    require(
        any(
            is_latest_of(s, transaction, producer)
            and (s.was_sent[p][transaction] or knows_partition_as_added(s, producer, p))
            for transaction in range(s.transactions)
            for p in range(s.partitions)
        )
    )
    s.phase[producer] = Phase.ABORTING


def is_answered(s):
    """The coordinator can answer EndTxn now. If the transaction ends with the highest epoch (the coordinator has lost
    the next producer id, or a fence took none), the coordinator answers only a repeated EndTxn, after the completion.
    """
    return not is_highest(s, epoch_at_end(s)) or (is_over(s) and is_idle(s))


def take_epoch_of_answer(s, producer):
    """Give the producer the epoch of the answer: with TV2, the next one, or the first of the next producer id."""
    s.epoch[producer] = epoch_at_end(s)
    s.phase[producer] = Phase.READY


@action(shows="{producer}")
def producer_learns_of_commit(s, producer: Producer):
    """EndTxn(commit) is answered, perhaps only after it was sent again. The loop goes on with the next input."""
    require(s.phase[producer] == Phase.COMMITTING)
    require(was_decided(s, producer, Outcome.COMMITTED))
    require(is_answered(s))
    s.position[producer] += 1
    take_epoch_of_answer(s, producer)


@action(shows="{producer}")
def producer_learns_of_abort(s, producer: Producer):
    """EndTxn(abort) is answered. The loop goes back to the committed offset."""
    require(s.phase[producer] == Phase.ABORTING)
    require(was_decided(s, producer, Outcome.ABORTED))
    require(is_answered(s))
    s.position[producer] = committed_offset(s)
    take_epoch_of_answer(s, producer)


@action
def application_stops(s):
    """All instances end, and no new one starts. What they have sent may still arrive."""
    require(s.phase[0] != Phase.STOPPED)
    for i in range(s.producers):
        s.phase[i] = Phase.STOPPED
        s.position[i] = 0
