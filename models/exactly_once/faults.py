"""Faults: a connection breaks, a partition loses its last record, or what it knows of producers."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.exactly_once.batches import after_error, can_be_overdue, fail_overdue, leave_behind, leaves_gap
from isrcheck.models.exactly_once.state import Batch, Partition
from isrcheck.models.exactly_once.values import BatchState, Request, Truth
from isrcheck.models.language import NONE, action, require


def is_on_connection(s, batch, partition):
    """A request or an answer of this batch is on the producer's connection to the leader."""
    return (
        s.batch_partition[batch] == partition and s.request[batch] != Request.NONE and s.request[batch] != Request.LATE
    )


def lose_connection(s, partition):
    """Answers on the connection are lost, and requests are late, or lost; the producer retries their batches."""
    s.lost_connections_left -= 1
    for b in range(s.batches):
        if is_on_connection(s, b, partition):
            leave_behind(s, b)
            if s.batch_state[b] == BatchState.IN_FLIGHT:
                s.batch_state[b] = after_error(s, b)


@action(shows="to {partition}")
def connection_is_lost(s, partition: Partition):
    """A connection breaks, or request.timeout.ms is over."""
    require(s.lost_connections_left > 0)
    require(any(is_on_connection(s, b, partition) for b in range(s.batches)))
    lose_connection(s, partition)


@action(shows="batch {batch}")
def connection_is_lost_past_deadline(s, batch: Batch):
    """The producer handles the loss of a connection after delivery.timeout.ms of the earliest batch on it.

    The other batches on the connection still have time.
    """
    require(s.lost_connections_left > 0)
    require(s.batch_state[batch] == BatchState.IN_FLIGHT)
    require(can_be_overdue(s, batch))
    require(not leaves_gap(s, batch, False) or s.epoch_bumps_left > 0)
    lose_connection(s, s.batch_partition[batch])
    fail_overdue(s, batch, False)


@action(shows="of {partition}")
def last_record_is_lost(s, partition: Partition):
    """A fail-over to a replica that lacks the last record: of acks=0 or 1, or an unclean election.

    What the new leader knows of producers follows from its log.
    """
    require(s.lossy_failovers_left > 0)
    require(s.acks != Acks.ALL or s.unclean_leader_election_enable == Truth.TRUE)
    require(s.log_end_offset[partition] > 0)
    s.lossy_failovers_left -= 1
    s.log_end_offset[partition] -= 1
    offset = s.log_end_offset[partition]
    s.log_record[partition][offset] = NONE
    s.log_batch[partition][offset] = NONE
    s.log_producer_id[partition][offset] = NONE
    s.log_epoch[partition][offset] = NONE
    s.log_sequence[partition][offset] = NONE
    s.forgotten_before[partition] = min(s.forgotten_before[partition], s.log_end_offset[partition])
    s.reloaded_before[partition] = min(s.reloaded_before[partition], s.log_end_offset[partition])


@action(shows="of {partition}")
def producers_are_forgotten(s, partition: Partition):
    """producer.id.expiration.ms is over. Up to 2.4, also: retention has deleted the records (KAFKA-7190).

    Deleted records stay in the model's log: a reader may have read them.
    """
    require(s.forgotten_producers_left > 0)
    require(s.forgotten_before[partition] < s.log_end_offset[partition])
    s.forgotten_producers_left -= 1
    s.forgotten_before[partition] = s.log_end_offset[partition]


@action(shows="of {partition}")
def producers_are_reloaded(s, partition: Partition):
    """The partition is led by a broker that has restarted: its snapshot has only the last batch of each producer."""
    require(s.reloaded_producers_left > 0)
    require(s.reloaded_before[partition] < s.log_end_offset[partition])
    s.reloaded_producers_left -= 1
    s.reloaded_before[partition] = s.log_end_offset[partition]
