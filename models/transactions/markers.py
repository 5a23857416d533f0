"""Markers: the coordinator tells each partition of a transaction how it ended (WriteTxnMarkers).

A marker that is lost is sent again, which is the same as one that takes longer. A copy that was sent by an older
coordinator, or before the marker was sent again, can arrive at any later time. A marker that finds no open transaction
takes an offset in Kafka; here, only its effect on the producer's state is kept.
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.transactions.coordinator import leave_copy_of_marker, requested_end
from isrcheck.models.transactions.fields import Partition, Producer
from isrcheck.models.transactions.partition import append
from isrcheck.models.transactions.readers import is_open
from isrcheck.models.transactions.transaction_log import decided_request, is_highest, is_idle, is_prepared
from isrcheck.models.transactions.values import Entry, Marker, Request


def is_accepted(s, p, epoch, coordinator_epoch):
    """Refused: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.

    Since 4.2, a marker of TV2 needs an epoch above every one that the partition has seen (KIP-1228); since 4.3, the
    highest one suffices (KAFKA-20090).
    """
    return coordinator_epoch >= s.known_coordinator_epoch[p] and (
        epoch > s.known_epoch[p]
        or (
            epoch == s.known_epoch[p]
            and (not s.MARKER_EPOCH_STRICT or (s.FENCE_TAKES_NEXT_ID and is_highest(s, epoch)))
        )
    )


def is_acknowledged_as_retry(s, p, epoch, coordinator_epoch):
    """The fix of KAFKA-19999: the same epoch again, and no open transaction, is a marker that was appended before."""
    return (
        s.EQUAL_MARKER_EPOCH_IS_RETRY
        and coordinator_epoch >= s.known_coordinator_epoch[p]
        and epoch == s.known_epoch[p]
        and not is_open(s, p)
    )


def append_marker(s, p, request, epoch, coordinator_epoch):
    """Kafka: ProducerAppendInfo.appendEndTxnMarker."""
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
    """The coordinator's marker arrives; it is answered once it is replicated."""
    require(s.marker[partition] == Marker.SENT)
    require(
        is_accepted(s, partition, s.producer_epoch, s.coordinator_epoch)
        or is_acknowledged_as_retry(s, partition, s.producer_epoch, s.coordinator_epoch)
    )
    append_marker(s, partition, decided_request(s), s.producer_epoch, s.coordinator_epoch)
    s.marker[partition] = Marker.APPENDED


@action(shows="{partition}")
def leader_refuses_marker(s, partition: Partition):
    """The partition refuses the coordinator's marker, which cancels all markers of the transaction that are not sent.

    Kafka: TransactionMarkerRequestCompletionHandler. Only another coordinator sends them again.
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
    """A late copy of a marker arrives. Nobody waits for the answer; the partition cannot tell it from a retry."""
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
    """A marker is not answered in time, and sent again; one of the copies takes longer."""
    require(s.late_requests_left > 0)
    require(s.marker[partition] == Marker.SENT)
    s.late_requests_left -= 1
    leave_copy_of_marker(s, partition)


@action(shows="of producer {producer}")
def end_txn_is_sent_again(s, producer: Producer):
    """EndTxn is not answered in time, and sent again; one of the copies takes longer."""
    require(s.late_requests_left > 0)
    require(requested_end(s, producer) != Request.NOTHING)
    s.late_requests_left -= 1
    s.late_end_txn = requested_end(s, producer)
    s.late_end_txn_epoch = s.epoch[producer]
