"""The transaction coordinator: it handles requests of producers, ends transactions, and moves to another broker.

Kafka: TransactionCoordinator, TransactionStateManager, TransactionMetadata. Left out: failed appends to its log without
a fail-over, the exhaustion of producer epochs, the expiry of a transactional.id (Dead).
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.transactions.fields import Producer
from isrcheck.models.transactions.transaction_log import (
    answer_new_producer,
    apply_pending,
    begin_write,
    decided_request,
    forget_pending,
    is_idle,
    is_over,
    is_prepared,
)
from isrcheck.models.transactions.values import Marker, Phase, Request, TransactionState, Verification


@action
def transaction_log_is_replicated(s):
    """The pending transition is durable: it takes effect, and whoever asked for it is answered."""
    require(not is_idle(s))
    apply_pending(s)
    answer_new_producer(s)
    forget_pending(s)


@action(shows="of producer {producer}")
def coordinator_handles_init_producer_id(s, producer: Producer):
    """InitProducerId: the next epoch fences every older instance of the producer.

    An ongoing transaction is aborted first (PrepareEpochFence, which is never durable, then PrepareAbort with the epoch
    of the fence); the instance asks again, and gets the epoch after that one. An instance that has an epoch already
    must have the current one (KIP-360) to get another. Nobody compares it while a transaction is ongoing: so a fenced
    instance aborts the transaction of its successor (prepareInitProducerIdTransit). Left out: a second request after a
    lost answer gets a new epoch, or is fenced.
    """
    require(s.phase[producer] == Phase.INITIALISING)
    require(not is_over(s) or s.epoch[producer] == NONE or s.epoch[producer] == s.producer_epoch)
    require(is_idle(s) and not is_prepared(s))
    if is_over(s):
        begin_write(s, TransactionState.EMPTY, s.producer_epoch + 1)
        s.pending_producer = producer
    else:
        begin_write(s, TransactionState.PREPARE_ABORT, epoch_of_fence(s))


def epoch_of_fence(s):
    """The epoch after that of the transaction. In 4.0.0, TV2 raised it once more (KAFKA-19367).

    With TV2, the epoch after that is also the one that the producer's own abort gives it: since that repair, a fenced
    producer that asks for the abort takes it for its own. Kafka: prepareFenceProducerEpoch, prepareAbortOrCommit.
    """
    return s.producer_epoch + 2 if s.FENCE_RAISES_EPOCH_TWICE else s.producer_epoch + 1


def epoch_after_end(s):
    """With TV2 every transaction ends with the next epoch, which its markers carry."""
    return s.producer_epoch + 1 if s.TXN_VERIFY == Verification.TV2 else s.producer_epoch


def can_end(s, request):
    """EndTxn needs an ongoing transaction; with TV2, an abort is accepted even if no partition was added."""
    return s.transaction_state == TransactionState.ONGOING or (
        s.TXN_VERIFY == Verification.TV2 and request == Request.ABORT and is_over(s)
    )


def prepare(s, request):
    begin_write(
        s,
        TransactionState.PREPARE_COMMIT if request == Request.COMMIT else TransactionState.PREPARE_ABORT,
        epoch_after_end(s),
    )


def requested_end(s, producer):
    """What the outstanding EndTxn of a producer asks for."""
    if s.phase[producer] == Phase.COMMITTING:
        return Request.COMMIT
    if s.phase[producer] == Phase.ABORTING:
        return Request.ABORT
    return Request.NOTHING


@action(shows="of producer {producer}")
def coordinator_handles_end_txn(s, producer: Producer):
    """EndTxn: the outcome is decided once PrepareCommit or PrepareAbort is durable; then, the producer is answered."""
    require(requested_end(s, producer) != Request.NOTHING)
    require(s.epoch[producer] == s.producer_epoch)
    require(is_idle(s))
    require(can_end(s, requested_end(s, producer)))
    prepare(s, requested_end(s, producer))


@action
def coordinator_handles_late_end_txn(s):
    """The late copy of an EndTxn arrives: an epoch is all by which the coordinator tells transactions apart."""
    require(s.late_end_txn != Request.NOTHING)
    require(s.late_end_txn_epoch == s.producer_epoch)
    require(is_idle(s))
    require(can_end(s, s.late_end_txn))
    prepare(s, s.late_end_txn)
    s.late_end_txn = Request.NOTHING
    s.late_end_txn_epoch = 0


@action
def coordinator_times_out_transaction(s):
    """A transaction that takes longer than transaction.timeout.ms is aborted, and its producer fenced.

    For a producer that lives, this needs a budget. An instance whose transaction has timed out does not recover
    (KIP-588 is left out).
    """
    require(s.transaction_state == TransactionState.ONGOING)
    require(is_idle(s))
    require(s.timeouts_left > 0 or s.phase[0] == Phase.STOPPED)
    if s.phase[0] != Phase.STOPPED:
        s.timeouts_left -= 1
    begin_write(s, TransactionState.PREPARE_ABORT, epoch_of_fence(s))


@action
def coordinator_completes_transaction(s):
    """Every partition of the transaction has its marker: CompleteCommit or CompleteAbort."""
    require(is_prepared(s))
    require(is_idle(s))
    require(all(not s.in_transaction[p] or s.marker[p] == Marker.ANSWERED for p in range(s.partitions)))
    begin_write(
        s,
        TransactionState.COMPLETE_COMMIT
        if s.transaction_state == TransactionState.PREPARE_COMMIT
        else TransactionState.COMPLETE_ABORT,
        s.producer_epoch,
    )


# ------------------------------------------------------------------------------------------------------------ fail-over


def leave_copy_of_marker(s, p):
    """A copy of the marker is on its way: it may arrive at any time, or never."""
    s.late_marker[p] = decided_request(s)
    s.late_marker_epoch[p] = s.producer_epoch
    s.late_marker_coordinator_epoch[p] = s.coordinator_epoch


def move_coordinator(s):
    """The new coordinator reads the log; if that ends with Prepare*, it sends all markers of the transaction again."""
    for p in range(s.partitions):
        if s.marker[p] == Marker.SENT and s.late_markers_left > 0:
            leave_copy_of_marker(s, p)
            s.late_markers_left -= 1
        s.marker[p] = Marker.NOT_SENT
    s.coordinator_epoch += 1


@action
def coordinator_fails_over(s):
    """Another broker becomes the coordinator, with the next coordinator epoch; a pending append is lost.

    Markers that the old one has sent are lost or, within a budget, arrive late.
    """
    require(s.coordinator_epoch < s.failovers)
    move_coordinator(s)
    forget_pending(s)


@action
def coordinator_fails_over_after_append(s):
    """The same, but the pending append had been replicated; whoever asked for it is not answered."""
    require(s.coordinator_epoch < s.failovers)
    require(not is_idle(s))
    move_coordinator(s)
    apply_pending(s)
    forget_pending(s)
