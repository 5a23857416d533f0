"""The coordinator's own log: every transition is appended to it, and takes effect once the append is replicated.

`__transaction_state` is replicated like every partition (the model `kafka`); here, an append succeeds in one step, or
the coordinator moves before. While one is pending, other requests are answered with CONCURRENT_TRANSACTIONS.
"""

from isrcheck.models.language import NONE
from isrcheck.models.transactions.readers import committed_offset
from isrcheck.models.transactions.values import Marker, Outcome, Phase, Request, TransactionState


def is_idle(s):
    """No transition is pending."""
    return s.pending_state == TransactionState.NOTHING


def is_prepared(s):
    """The outcome is decided, and the partitions have yet to be told."""
    return (
        s.transaction_state == TransactionState.PREPARE_COMMIT or s.transaction_state == TransactionState.PREPARE_ABORT
    )


def decided_request(s):
    """What a marker of the prepared transaction asks for."""
    return Request.COMMIT if s.transaction_state == TransactionState.PREPARE_COMMIT else Request.ABORT


def is_over(s):
    """There is no transaction: a new one, or a new instance of the producer, can begin."""
    return (
        s.transaction_state == TransactionState.EMPTY
        or s.transaction_state == TransactionState.COMPLETE_COMMIT
        or s.transaction_state == TransactionState.COMPLETE_ABORT
    )


def is_exhausted(s, epoch):
    """The producer id has no further epoch for a producer. Kafka: TransactionMetadata.isEpochExhausted."""
    return s.producer_epochs > 0 and s.producer_epochs - 1 <= epoch and epoch <= s.producer_epochs


def is_highest(s, epoch):
    """The epoch of the first producer id that is left to fence the last one of a producer: Short.MAX_VALUE."""
    return s.producer_epochs > 0 and epoch == s.producer_epochs


def first_epoch_of_next_id(s):
    """Epoch 0 of the next producer id, numbered after the highest epoch of the first one."""
    return s.producer_epochs + 1


def epoch_at_end(s):
    """The epoch with which a prepared transaction will be complete. Kafka: TransactionMetadata.prepareComplete."""
    if s.producer_epochs > 0 and is_prepared(s) and s.knows_other_id[0]:
        return first_epoch_of_next_id(s)
    return s.producer_epoch


def forget_next_id(s):
    """A new coordinator knows what the log says: up to 4.3, nothing of another producer id (KAFKA-20310)."""
    if s.producer_epochs > 0:
        s.knows_other_id[0] = s.knows_other_id[0] and s.NEXT_ID_IS_LOGGED and changes_id(s)


def changes_id(s):
    """The end of a transaction brings the next producer id: when it is complete, or it has just done so."""
    return (is_prepared(s) and is_highest(s, s.producer_epoch)) or (
        (
            s.transaction_state == TransactionState.COMPLETE_COMMIT
            or s.transaction_state == TransactionState.COMPLETE_ABORT
        )
        and s.producer_epoch == first_epoch_of_next_id(s)
    )


def begin_write(s, state, epoch):
    s.pending_state = state
    s.pending_epoch = epoch


def last_begun_with(s, epoch):
    """The last transaction that was begun with this epoch, or NONE."""
    for back in range(s.transactions):
        if s.begun_with_epoch[s.transactions - 1 - back] == epoch:
            return s.transactions - 1 - back
    return NONE


def decide(s, decided):
    """Note what was decided, for the transaction that is ongoing at the coordinator."""
    ongoing = last_begun_with(s, s.producer_epoch)
    for transaction in range(s.transactions):
        if transaction == ongoing:
            s.outcome[transaction] = decided


def forget_pending(s):
    s.pending_state = TransactionState.NOTHING
    s.pending_epoch = 0
    s.pending_partition = NONE
    s.pending_producer = NONE


def apply_pending(s):
    """The pending transition becomes the coordinator's state."""
    if s.pending_state == TransactionState.PREPARE_COMMIT:
        decide(s, Outcome.COMMITTED)
    if s.pending_state == TransactionState.PREPARE_ABORT:
        decide(s, Outcome.ABORTED)
    for p in range(s.partitions):
        if s.pending_state == TransactionState.ONGOING:
            s.in_transaction[p] = s.in_transaction[p] or p == s.pending_partition
        if s.pending_state == TransactionState.COMPLETE_COMMIT or s.pending_state == TransactionState.COMPLETE_ABORT:
            s.in_transaction[p] = False
            s.marker[p] = Marker.NOT_SENT
    s.transaction_state = s.pending_state
    s.producer_epoch = s.pending_epoch
    if s.producer_epochs > 0:
        s.knows_other_id[0] = s.knows_other_id[0] and changes_id(s)


def answer_new_producer(s):
    """InitProducerId is answered: the instance has its epoch, and goes on from the committed offset.

    Only the transition that InitProducerId has asked for names a producer.
    """
    for i in range(s.producers):
        if i == s.pending_producer and s.phase[i] == Phase.INITIALISING:
            s.epoch[i] = s.pending_epoch
            s.phase[i] = Phase.READY
            s.position[i] = committed_offset(s)
