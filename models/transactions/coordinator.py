"""The transaction coordinator: it handles requests of producers, ends transactions, writes their markers to the
partitions, and moves to another broker."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.transactions.log import (
    answer_new_producer,
    apply_pending,
    begin_write,
    decided_request,
    epoch_at_end,
    first_epoch_of_next_id,
    forget_next_id,
    forget_pending,
    is_exhausted,
    is_highest,
    is_idle,
    is_open,
    is_over,
    is_prepared,
)
from isrcheck.models.transactions.partition import append
from isrcheck.models.transactions.state import Partition, Producer, SurvivingAnswer
from isrcheck.models.transactions.values import (
    Entry,
    LateAnswer,
    Marker,
    Phase,
    Request,
    TransactionState,
    Verification,
)

# ------------------------------------------------------------------------------------------------------------- requests
#
# The transaction coordinator: it handles requests of producers, ends transactions, and moves to another broker.
#
# Kafka: TransactionCoordinator, TransactionStateManager, TransactionMetadata. Left out: failed appends to its log
# without a fail-over, the expiry of a transactional.id (Dead).
#
# A producer id has 32,767 epochs for producers (0 to Short.MAX_VALUE - 1), and one more with which the coordinator can
# fence the last of them. Here, the first id has as many as `producer_epochs` says. The epochs of the id that follows
# come after that one more, those of an id that InitProducerId takes one later: to a partition, both a later epoch and
# another id are something new.


@action
def transaction_log_is_replicated(s):
    """The pending transition is durable: it takes effect, and its requester is answered."""
    require(not is_idle(s))
    apply_pending(s)
    answer_new_producer(s)
    forget_pending(s)


@action(shows="of producer {producer}")
def coordinator_handles_init_producer_id(s, producer: Producer):
    """InitProducerId: the instance gets the next epoch, which fences every older instance of the producer.

    An ongoing transaction is aborted first, with the epoch of the fence (PrepareEpochFence, which is never durable,
    then PrepareAbort). The instance then repeats its request, and gets the next epoch after the abort's. An instance
    that already has an epoch gets a new one only if its epoch is the current one (KIP-360). But while a transaction is
    ongoing, the coordinator does not compare the epochs, so a fenced instance aborts the transaction of its successor
    (prepareInitProducerIdTransit). Left out: requests that a producer repeats because the answer is lost.
    """
    require(s.phase[producer] == Phase.INITIALISING)
    require(not is_over(s) or s.epoch[producer] == NONE or s.epoch[producer] == s.producer_epoch)
    require(is_idle(s) and not is_prepared(s))
    require(is_over(s) or can_fence(s))
    if is_over(s):
        begin_write(s, TransactionState.EMPTY, next_epoch(s))
        s.pending_producer = producer
    else:
        fence(s)


def next_epoch(s):
    """Return the epoch of the next instance; if the producer id is exhausted, the first epoch of a new producer id.

    The number of this first epoch is `first_epoch_of_next_id` + 1: the end of a transaction can take a different new
    id, whose first epoch is `first_epoch_of_next_id`. Kafka: prepareIncrementProducerEpoch, prepareProducerIdRotation.
    """
    return first_epoch_of_next_id(s) + 1 if is_exhausted(s, s.producer_epoch) else s.producer_epoch + 1


def can_fence(s):
    """The coordinator can fence the producer: an epoch is left for the fence, or, since 4.3, the fence may keep the
    highest epoch (KAFKA-20090). Otherwise, the coordinator throws an exception, and the transaction stays as it is."""
    return (
        s.producer_epochs == 0
        or s.producer_epoch > s.producer_epochs
        or epoch_of_fence(s) <= s.producer_epochs
        or s.FENCE_TAKES_NEXT_ID
    )


def fence(s):
    """Abort the transaction with a later epoch than that of the instance that began the transaction; since 4.3, if the
    producer id is exhausted, this abort takes the next producer id."""
    if s.producer_epochs > 0:
        s.knows_other_id[0] = s.FENCE_TAKES_NEXT_ID and is_exhausted(s, s.producer_epoch)
    begin_write(
        s,
        TransactionState.PREPARE_ABORT,
        s.producer_epoch if is_highest(s, s.producer_epoch) else epoch_of_fence(s),
    )


def epoch_of_fence(s):
    """Return the epoch with which a fence aborts a transaction: its epoch + 1; in 4.0.0 with TV2, + 2 (KAFKA-19367).

    With TV2, the producer's own abort also raises the epoch by one. So, since the repair of KAFKA-19367, a fenced
    producer that requests an abort gets the answer that its own abort succeeded. Kafka: prepareFenceProducerEpoch,
    prepareAbortOrCommit.
    """
    return s.producer_epoch + 2 if s.FENCE_RAISES_EPOCH_TWICE else s.producer_epoch + 1


def epoch_after_end(s):
    """The epoch with which a transaction ends, and which its markers carry: with TV2, the next epoch (but the highest
    epoch is kept); otherwise the transaction's own epoch."""
    return (
        s.producer_epoch + 1
        if s.TXN_VERIFY == Verification.TV2 and not is_highest(s, s.producer_epoch)
        else s.producer_epoch
    )


def can_end(s, request):
    """EndTxn needs an ongoing transaction; with TV2, an abort is accepted even if no partition was added.

    A producer with the highest epoch cannot end a transaction (the next epoch would overflow); since 4.3, it can abort
    the transaction (KAFKA-20090).
    """
    return (
        s.transaction_state == TransactionState.ONGOING
        or (s.TXN_VERIFY == Verification.TV2 and request == Request.ABORT and is_over(s))
    ) and (not is_highest(s, s.producer_epoch) or (s.FENCE_TAKES_NEXT_ID and request == Request.ABORT))


def prepare(s, request):
    """Begin to append PrepareCommit or PrepareAbort. With TV2, a transaction that ends in the last epoch of a
    producer id also reserves the next producer id, which the producer receives in the answer."""
    if s.producer_epochs > 0:
        s.knows_other_id[0] = (s.TXN_VERIFY == Verification.TV2 and is_exhausted(s, s.producer_epoch)) or (
            s.knows_other_id[0] and is_over(s)
        )
    begin_write(
        s,
        TransactionState.PREPARE_COMMIT if request == Request.COMMIT else TransactionState.PREPARE_ABORT,
        epoch_after_end(s),
    )


def requested_end(s, producer):
    """The outcome that the outstanding EndTxn of a producer requests; NOTHING if no EndTxn is outstanding."""
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
    """The late copy of an EndTxn arrives, and can end a later transaction: the coordinator only compares the epochs."""
    require(s.late_end_txn != Request.NOTHING)
    require(s.late_end_txn_epoch == s.producer_epoch)
    require(is_idle(s))
    require(can_end(s, s.late_end_txn))
    prepare(s, s.late_end_txn)
    s.late_end_txn = Request.NOTHING
    s.late_end_txn_epoch = 0


@action
def coordinator_times_out_transaction(s):
    """A transaction that takes longer than transaction.timeout.ms is aborted, and its producer is fenced.

    Unless the application has stopped, this uses the budget `timeouts`. An instance whose transaction has timed out
    does not recover (KIP-588 is left out).
    """
    require(s.transaction_state == TransactionState.ONGOING)
    require(is_idle(s))
    require(s.timeouts_left > 0 or s.phase[0] == Phase.STOPPED)
    require(can_fence(s))
    if s.phase[0] != Phase.STOPPED:
        s.timeouts_left -= 1
    fence(s)


def knows_what_is_prepared(s):
    """The coordinator's table of transactions with pending markers still contains the prepared transaction.

    Kafka: TransactionMarkerChannelManager.transactionsWithPendingMarkers.
    """
    return s.late_answers == 0 or s.late_answer[0] != LateAnswer.REMOVED_ENTRY


@action
def coordinator_completes_transaction(s):
    """All partitions of the transaction have their markers: CompleteCommit or CompleteAbort is written."""
    require(is_prepared(s))
    require(is_idle(s))
    require(knows_what_is_prepared(s))
    require(all(not s.in_transaction[p] or s.marker[p] == Marker.ANSWERED for p in range(s.partitions)))
    begin_write(
        s,
        TransactionState.COMPLETE_COMMIT
        if s.transaction_state == TransactionState.PREPARE_COMMIT
        else TransactionState.COMPLETE_ABORT,
        epoch_at_end(s),
    )


# ------------------------------------------------------------------------------------------------------------ fail-over


def leave_copy_of_marker(s, p):
    """A copy of the coordinator's marker is on its way to partition `p`: it may arrive at any time, or never."""
    s.late_marker[p] = decided_request(s)
    s.late_marker_epoch[p] = s.producer_epoch
    s.late_marker_coordinator_epoch[p] = s.coordinator_epoch


def move_coordinator(s):
    """The new coordinator reads the log; if the log ends with Prepare*, it resends all of the transaction's markers."""
    for p in range(s.partitions):
        if s.marker[p] == Marker.SENT and s.late_markers_left > 0:
            leave_copy_of_marker(s, p)
            s.late_markers_left -= 1
    if s.late_answers > 0:
        leave_answer_of_marker(s)
    for p in range(s.partitions):
        s.marker[p] = Marker.NOT_SENT
    s.coordinator_epoch += 1


def leave_answer_of_marker(s):
    """Leave an answer to a marker in flight: it reaches the old coordinator if that broker is coordinator again."""
    if s.late_answer[0] == LateAnswer.REMOVED_ENTRY:
        s.late_answer[0] = LateAnswer.NONE
    if s.late_answers_left[0] > 0 and any(
        s.marker[p] == Marker.SENT or s.marker[p] == Marker.APPENDED for p in range(s.partitions)
    ):
        s.late_answer[0] = LateAnswer.UNDER_WAY
        s.late_answers_left[0] -= 1


@action
def coordinator_fails_over(s):
    """Another broker becomes the coordinator, with the next coordinator epoch; a pending append is lost.

    Markers that the old coordinator has sent are lost or, within a budget, arrive late.
    """
    require(s.coordinator_epoch < s.failovers)
    move_coordinator(s)
    forget_pending(s)
    forget_next_id(s)


@action
def coordinator_fails_over_after_append(s):
    """Another broker becomes the coordinator after the pending append was replicated; the requester gets no answer."""
    require(s.coordinator_epoch < s.failovers)
    require(not is_idle(s))
    move_coordinator(s)
    apply_pending(s)
    forget_pending(s)
    forget_next_id(s)


@action
def coordinator_learns_of_earlier_marker(s, answer: SurvivingAnswer):
    """The answer to a marker of an earlier coordinator epoch arrives at a broker that is the coordinator again.

    The broker sees that the coordinator epoch has changed, and removes its entry for the transaction with pending
    markers. Up to 3.7, it finds the entry by the transactional.id alone, so it removes the entry of the present epoch:
    the markers are written, but nobody completes the transaction (KAFKA-16352). Kafka:
    TransactionMarkerRequestCompletionHandler, TransactionMarkerChannelManager.removeMarkersForTxnId.
    """
    require(s.late_answer[answer] == LateAnswer.UNDER_WAY)
    s.late_answer[answer] = (
        LateAnswer.REMOVED_ENTRY if not s.MARKER_ANSWERS_CHECK_EPOCH and awaits_answers(s) else LateAnswer.NONE
    )


def awaits_answers(s):
    """Some partition of the prepared transaction has not answered the coordinator's marker yet."""
    return (
        is_prepared(s)
        and is_idle(s)
        and any(s.in_transaction[p] and s.marker[p] != Marker.ANSWERED for p in range(s.partitions))
    )


# -------------------------------------------------------------------------------------------------------------- markers
#
# Markers: the coordinator tells each partition of a transaction how it ended (WriteTxnMarkers).
#
# A marker that is lost is sent again, which is the same as one that takes longer. A copy that was sent by an older
# coordinator, or before the marker was sent again, can arrive at any later time. A marker that finds no open
# transaction takes an offset in Kafka; here, only its effect on the producer's state is kept.


def is_accepted(s, p, epoch, coordinator_epoch):
    """The partition accepts a marker with these epochs. A refused marker gets INVALID_PRODUCER_EPOCH or
    TRANSACTION_COORDINATOR_FENCED.

    Since 4.2, a marker of TV2 needs an epoch above every epoch that the partition has seen (KIP-1228); since 4.3, an
    equal epoch suffices if it is the highest epoch of the producer id (KAFKA-20090).
    """
    return coordinator_epoch >= s.known_coordinator_epoch[p] and (
        epoch > s.known_epoch[p]
        or (
            epoch == s.known_epoch[p]
            and (not s.MARKER_EPOCH_STRICT or (s.FENCE_TAKES_NEXT_ID and is_highest(s, epoch)))
        )
    )


def is_acknowledged_as_retry(s, p, epoch, coordinator_epoch):
    """`p` acknowledges a marker with the epoch that `p` knows as a retry (KAFKA-19999), if no transaction is open."""
    return (
        s.EQUAL_MARKER_EPOCH_IS_RETRY
        and coordinator_epoch >= s.known_coordinator_epoch[p]
        and epoch == s.known_epoch[p]
        and not is_open(s, p)
    )


def append_marker(s, p, request, epoch, coordinator_epoch):
    """The partition appends a marker with these epochs. Kafka: ProducerAppendInfo.appendEndTxnMarker."""
    if is_open(s, p):
        append(s, p, Entry.COMMIT if request == Request.COMMIT else Entry.ABORT)
    s.known_epoch[p] = epoch
    s.known_coordinator_epoch[p] = coordinator_epoch
    s.verified[p] = NONE


@action(shows="to {partition}")
def coordinator_sends_marker(s, partition: Partition):
    """The coordinator sends the marker to a partition of the transaction."""
    require(is_prepared(s) and is_idle(s))
    require(s.in_transaction[partition])
    require(s.marker[partition] == Marker.NOT_SENT)
    s.marker[partition] = Marker.SENT


@action(shows="{partition}")
def leader_appends_marker(s, partition: Partition):
    """The coordinator's marker arrives; the partition appends the marker, and answers once the marker is replicated."""
    require(s.marker[partition] == Marker.SENT)
    require(
        is_accepted(s, partition, s.producer_epoch, s.coordinator_epoch)
        or is_acknowledged_as_retry(s, partition, s.producer_epoch, s.coordinator_epoch)
    )
    append_marker(s, partition, decided_request(s), s.producer_epoch, s.coordinator_epoch)
    s.marker[partition] = Marker.APPENDED


@action(shows="{partition}")
def leader_refuses_marker(s, partition: Partition):
    """The partition refuses a marker; the coordinator then cancels all markers of the transaction that are not sent.

    Kafka: TransactionMarkerRequestCompletionHandler. Only the next coordinator sends these markers again.
    """
    require(s.marker[partition] == Marker.SENT)
    require(not is_accepted(s, partition, s.producer_epoch, s.coordinator_epoch))
    require(not is_acknowledged_as_retry(s, partition, s.producer_epoch, s.coordinator_epoch))
    for p in range(s.partitions):
        if p == partition or s.marker[p] == Marker.NOT_SENT:
            s.marker[p] = Marker.DROPPED


@action(shows="from {partition}")
def coordinator_learns_of_marker(s, partition: Partition):
    """The partition's answer arrives: its marker is below the high watermark."""
    require(s.marker[partition] == Marker.APPENDED)
    require(s.high_watermark[partition] == s.log_end_offset[partition])
    s.marker[partition] = Marker.ANSWERED


@action(shows="from {partition}")
def answer_to_marker_is_lost(s, partition: Partition):
    """The answer does not arrive in time, and the coordinator sends the marker again."""
    require(s.marker[partition] == Marker.APPENDED)
    s.marker[partition] = Marker.SENT


@action(shows="{partition}")
def leader_appends_late_marker(s, partition: Partition):
    """A late copy of a marker arrives, and the partition appends it; the coordinator ignores the partition's answer."""
    require(s.late_marker[partition] != Request.NOTHING)
    require(
        is_accepted(s, partition, s.late_marker_epoch[partition], s.late_marker_coordinator_epoch[partition])
        or is_acknowledged_as_retry(
            s, partition, s.late_marker_epoch[partition], s.late_marker_coordinator_epoch[partition]
        )
    )
    append_marker(
        s,
        partition,
        s.late_marker[partition],
        s.late_marker_epoch[partition],
        s.late_marker_coordinator_epoch[partition],
    )
    s.late_marker[partition] = Request.NOTHING
    s.late_marker_epoch[partition] = 0
    s.late_marker_coordinator_epoch[partition] = 0


# ------------------------------------------------------------------------------------------------- requests sent again


@action(shows="to {partition}")
def marker_is_sent_again(s, partition: Partition):
    """The coordinator sends a marker again, because no answer came in time; one of the two copies arrives late."""
    require(s.late_requests_left > 0)
    require(s.marker[partition] == Marker.SENT)
    s.late_requests_left -= 1
    leave_copy_of_marker(s, partition)


@action(shows="of producer {producer}")
def end_txn_is_sent_again(s, producer: Producer):
    """The producer sends EndTxn again, because no answer came in time; one of the two copies arrives late."""
    require(s.late_requests_left > 0)
    require(requested_end(s, producer) != Request.NOTHING)
    s.late_requests_left -= 1
    s.late_end_txn = requested_end(s, producer)
    s.late_end_txn_epoch = s.epoch[producer]
