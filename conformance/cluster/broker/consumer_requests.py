"""The requests of consumers to one broker, which the leader answers at once.

In:  requests (`Message`).
Out: responses in the network.

Consumers read below the high watermark, with read_committed below the last stable offset, of the broker that they ask.
Followers refuse them, unless fetching from followers is on (KIP-392): then they serve them, and a leader sends a
consumer in a follower's rack there. Source: fact sheet, sections 6.4 and 7; Kafka: ReplicaManager.fetchMessages,
findPreferredReadReplica, RackAwareReplicaSelector, Partition.fetchOffsetForTimestamp.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.network.messages import (
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ConsumerListOffsetsRequest,
    Errors,
    Isolation,
    ListOffsetsResponse,
    OffsetKind,
    Payload,
)
from isrcheck.conformance.cluster.network.network import Message


class ConsumerRequests:
    """What one broker answers to consumers."""

    def __init__(
        self,
        partition: Partition,
        reply: Callable[[Message, Payload], None],
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        self._partition = partition
        self._reply = reply
        self._settings = settings
        self._switches = switches
        self._bug = bug

    def handle_fetch(self, message: Message, request: ConsumerFetchRequest) -> None:
        """Answer with the records from the position on that the consumer may read, however many there are; or with the
        follower that is to serve it.
        """
        position, log = request.position, self._partition.log
        error = self._error_for(request.current_leader_epoch)
        is_follower = error is Errors.NOT_LEADER_OR_FOLLOWER and self._partition.leader is not None
        if is_follower and self._settings.follower_fetching:
            error = Errors.NONE
        elif error is Errors.NONE and self._is_served_by(request.rack, position):
            self._reply(message, ConsumerFetchResponse(error, position, preferred_read_replica=request.rack))
            return
        if error is Errors.NONE and not log.log_start_offset <= position <= log.log_end_offset:
            error = Errors.OFFSET_OUT_OF_RANGE
        if error is not Errors.NONE:
            self._reply(message, ConsumerFetchResponse(error, position))
            return
        begin = position - sum(each.position for each in log.read(position, position + 1))  # whole batches, as in Kafka
        records = log.read(begin, self._end_for(request.isolation))[: request.most]
        committed = request.isolation is Isolation.READ_COMMITTED
        aborted = log.aborted_transactions(begin, begin + len(records)) if committed else ()
        ends = (self._end_for(Isolation.READ_UNCOMMITTED), self._end_for(Isolation.READ_COMMITTED))
        offsets = (*ends, log.log_start_offset)
        self._reply(message, ConsumerFetchResponse(error, position, records, aborted, *offsets))

    def handle_list_offsets(self, message: Message, request: ConsumerListOffsetsRequest) -> None:
        """Answer with the log start, or with the end for this isolation level.

        Since 2.2 a leader does not tell the end before its high watermark has reached the start of its epoch
        (KAFKA-2334).
        """
        partition, log = self._partition, self._partition.log
        error = self._error_for(request.current_leader_epoch)
        is_latest = request.kind is OffsetKind.LATEST
        if error is Errors.NONE and is_latest and self._switches.LATEST_OFFSET_AWAITS_EPOCH_START:
            behind = log.high_watermark < partition.leader_epoch_start_offset
            error = Errors.OFFSET_NOT_AVAILABLE if behind else error
        offset = self._end_for(request.isolation) if is_latest else log.log_start_offset
        self._reply(message, ListOffsetsResponse(error, request.kind, -1 if error is not Errors.NONE else offset))

    def _is_served_by(self, rack: int | None, position: int) -> bool:
        """Whether the follower in this rack has the position, as far as this leader knows.

        Left out: a leader names no broker that it takes to be dead.
        """
        follower = self._partition.remote.get(rack) if rack is not None and self._settings.follower_fetching else None
        if follower is None or follower.log_end_offset is None:
            return False
        if self._switches.READ_REPLICA_IN_ISR and rack not in self._partition.isr_state.isr:
            return False
        return follower.log_start_offset <= position <= follower.log_end_offset

    def _end_for(self, isolation: Isolation) -> int:
        log = self._partition.log
        if self._bug is Bug.FOLLOWER_SHOWS_LOG_END and not self._partition.is_leader:
            return log.log_end_offset
        return log.last_stable_offset if isolation is Isolation.READ_COMMITTED else log.high_watermark

    def _error_for(self, current_leader_epoch: int | None) -> Errors:
        return self._partition.error_for_epoch(current_leader_epoch if self._switches.fences_epochs else None)
