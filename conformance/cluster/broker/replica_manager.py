"""How one broker answers requests, and its purgatories: waiting produce requests, parked fetches, pending deletions.

A fetch that finds no new records is parked for replica.fetch.wait.max.ms. When records arrive, the fetch does not
complete in the same event, but when its timer is fired: in Kafka another thread completes it, after the append has
released its lock. A DeleteRecords request is answered when every live replica's log start has reached the offset.

Consumers read below the high watermark of the broker from which they fetch; with read_committed, below its last stable
offset. Followers refuse consumers, unless fetching from followers is on (KIP-392): then followers serve them, and a
leader sends a consumer in a follower's rack to that follower.

Source: fact sheet, sections 1.6, 2.2, 2.6, 3, 5.1, 6.4, 7; KIP-107; Kafka: ReplicaManager (fetchMessages,
findPreferredReadReplica), DelayedFetch, DelayedProduce, DelayedDeleteRecords, RackAwareReplicaSelector,
Partition.deleteRecordsOnLeader and fetchOffsetForTimestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.fetcher import FetcherManager
from isrcheck.conformance.cluster.broker.part import Part
from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches, Truncation
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ConsumerListOffsetsRequest,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DivergingEpoch,
    Errors,
    FetchRequest,
    FetchResponse,
    Isolation,
    LeaderAndIsr,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetKind,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    Payload,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET

TO_HIGH_WATERMARK = -1


class DeleteRecordsPurgatory:
    """The DeleteRecords requests that one leader has accepted and not answered yet."""

    def __init__(
        self, partition: Partition, reply: Callable[[Message, Payload], None], live: Callable[[], frozenset[int]]
    ) -> None:
        self._partition = partition
        self._reply = reply
        self._live = live
        self._waiting: list[tuple[Message, DeleteRecordsRequest, int]] = []

    @property
    def waiting(self) -> tuple[Message, ...]:
        """The requests that wait for the low watermark, which is the smallest log start of the live replicas."""
        return tuple(message for message, _, _ in self._waiting)

    def handle(self, message: Message, request: DeleteRecordsRequest) -> None:
        """Move the log start up to the requested offset (-1: to the high watermark), and let the request wait for the
        low watermark. Refuse it if this broker does not lead, or the offset is not between 0 and the high watermark."""
        log = self._partition.log
        offset = log.high_watermark if request.before_offset == TO_HIGH_WATERMARK else request.before_offset
        error = self._partition.error_for_epoch(None)
        if error is Errors.NONE and not 0 <= offset <= min(log.high_watermark, log.log_end_offset):
            error = Errors.OFFSET_OUT_OF_RANGE
        if error is not Errors.NONE:
            self._reply(message, DeleteRecordsResponse(request.send, error))
            return
        log.increment_log_start(offset)
        self._waiting.append((message, request, offset))
        self.try_complete()

    def try_complete(self) -> None:
        """Answer the requests whose offset the low watermark has reached; answer all, with an error, if this broker no
        longer leads."""
        still: list[tuple[Message, DeleteRecordsRequest, int]] = []
        for message, request, offset in self._waiting:
            error = self._partition.error_for_epoch(None)
            low = self._partition.low_watermark(self._live()) if error is Errors.NONE else -1
            if error is Errors.NONE and low < offset:
                still.append((message, request, offset))
            else:
                self._reply(message, DeleteRecordsResponse(request.send, error, low))
        self._waiting = still


@dataclass(eq=False)
class ConsumerRequests:
    """The requests of consumers that one broker answers."""

    _partition: Partition
    _reply: Callable[[Message, Payload], None]
    _settings: Settings
    _switches: Switches
    _bug: Bug | None

    def handle_fetch(self, message: Message, request: ConsumerFetchRequest) -> None:
        """Answer with the records that the consumer may read from its position on, at most `request.most`; or, if the
        consumer is to read from a follower instead, only with that follower's number."""
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
        """Answer with the log start or, for LATEST, the offset below which the requested isolation level reads. Since
        2.2 a leader refuses LATEST until its high watermark reaches the start of its own leader epoch (KAFKA-2334).
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
        """Whether the consumer is to read from the follower in its rack. This requires that fetching from followers is
        on, that the follower's log holds `position` as far as this leader knows, and, with READ_REPLICA_IN_ISR, that
        the follower is in the ISR. (Left out: Kafka's leader avoids brokers that it believes dead.)"""
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


Reply = Callable[[Message, Payload], None]


@dataclass(frozen=True)
class DelayedProduce:
    """An acks=all request that waits for the high watermark to reach `required_offset`, until `deadline` (in ms)."""

    request: Message
    send: int
    offset: int
    required_offset: int
    deadline: int


@dataclass(frozen=True)
class ParkedFetch:
    """A follower's fetch that found no new records; its wait ends at `deadline`, in ms. Kafka: DelayedFetch."""

    request: Message
    asked: FetchRequest
    deadline: int


@dataclass(eq=False)
class ReplicaManager(Part):
    """Answers the requests to one broker process."""

    _partition: Partition
    _fetchers: FetcherManager
    _reply: Reply

    def __post_init__(self) -> None:
        self._produces: list[DelayedProduce] = []
        self._fetches: dict[int, ParkedFetch] = {}

    @property
    def known_leader(self) -> tuple[int | None, int]:
        """The leader and its epoch, as this process reports them to clients."""
        return self._partition.leader, self._partition.leader_epoch

    @property
    def metadata_offset(self) -> int:
        """The offset of the last metadata record that the broker has applied; -1 before the first, or without KRaft."""
        return -1

    @property
    def delayed_produces(self) -> tuple[DelayedProduce, ...]:
        """Requests that wait for the high watermark, in order of arrival."""
        return tuple(self._produces)

    @property
    def parked_fetches(self) -> Mapping[int, ParkedFetch]:
        """Parked fetches by follower."""
        return dict(self._fetches)

    def become_leader_or_follower(self, announced: LeaderAndIsr) -> None:
        """Apply the announcement if its leader epoch is above this broker's. Kafka: becomeLeaderOrFollower."""
        if announced.leader_epoch > self._partition.leader_epoch or self._bug is Bug.STALE_METADATA_APPLIED:
            self._enter_epoch(announced)

    def _enter_epoch(self, announced: LeaderAndIsr) -> None:
        partition = self._partition
        if announced.leader == self._fetchers.broker:
            self._fetchers.remove_fetcher()
            partition.make_leader(announced)
            self.complete_delayed_produces()
        elif not partition.make_follower(announced):
            self._fetchers.go_on(announced.leader_epoch)
        elif announced.leader is None:
            self._fetchers.remove_fetcher()
        else:
            self._fetchers.start_over(announced.leader, announced.leader_epoch)
        self._give_up_what_waits()

    def _give_up_what_waits(self) -> None:
        """Refuse the parked fetches that `Partition.error_for_epoch` refuses now; if this broker does not lead, also
        refuse the produce requests that wait for the high watermark."""
        for follower in list(self._fetches):
            if self._error_of(self._fetches[follower]) is not Errors.NONE:
                self._complete_fetch(follower)
        if not self._partition.is_leader:
            failed, self._produces = self._produces, []
            for each in failed:
                self._reply(each.request, ProduceResponse(each.send, Errors.NOT_LEADER_OR_FOLLOWER))

    def handle_produce(self, message: Message, request: ProduceRequest) -> None:
        """Append the batch; answer as `request.acks` demands. Kafka: ReplicaManager.appendRecords; sheet 5.1, 5.3."""
        partition, producers = self._partition, self._partition.log.producers
        if not partition.is_leader:
            self._answer_produce(message, request, Errors.NOT_LEADER_OR_FOLLOWER)
            return
        if request.acks is Acks.ALL and partition.is_under_min_isr:
            self._answer_produce(message, request, Errors.NOT_ENOUGH_REPLICAS)
            return
        offset = producers.duplicate_of(request.stamp, request.records) if request.stamp else None
        if offset is None or self._bug is Bug.DUPLICATE_APPENDED:
            refusal = producers.refusal_of(request.stamp) if request.stamp else Errors.NONE
            if refusal is not Errors.NONE:
                self._answer_produce(message, request, refusal, log_start_offset=partition.log.log_start_offset)
                return
            offset = partition.append_as_leader(request.payload, request.stamp, records=request.records).offset
        if request.acks is Acks.ALL and self._bug is not Bug.ACK_BEFORE_ISR:
            self._wait_for_high_watermark(message, request.send, offset, request.records)
        else:
            self._answer_produce(message, request, Errors.NONE, offset)
        self.complete_delayed_produces()

    def handle_write_marker(self, message: Message, request: WriteTxnMarkersRequest) -> None:
        """Append a transaction marker with acks=all. Kafka: handleWriteTxnMarkersRequest; fact sheet 6.2."""
        partition = self._partition
        error = Errors.NONE
        if not partition.is_leader:
            error = Errors.NOT_LEADER_OR_FOLLOWER
        elif partition.is_under_min_isr:
            error = Errors.NOT_ENOUGH_REPLICAS
        else:
            error = partition.log.producers.refusal_of_marker(request.stamp, request.coordinator_epoch)
        if error is not Errors.NONE:
            self._reply(message, ProduceResponse(request.send, error))
            return
        fields = (request.control.value, request.stamp, request.control, 1, request.coordinator_epoch)
        offset = partition.append_as_leader(*fields).offset
        self._wait_for_high_watermark(message, request.send, offset)
        self.complete_delayed_produces()

    def handle_fetch(self, message: Message, request: FetchRequest) -> None:
        """Handle a follower's fetch: read records, update what is known of the follower, then answer or park the fetch.

        The response carries the high watermark from before this update. Kafka: fetchMessages; fact sheet 2.2. A fetch
        out of range or from a log that diverges updates nothing. (Before 2.4 a fetch out of range set the follower's
        offset on the leader to unknown, KAFKA-8400; this is not implemented.)
        """
        follower = self._follower(message)
        response = self._read(request)
        diverges = response.diverging_epoch is not None
        counts = self._switches.DIVERGING_RESP_UPDATES_STATE or self._bug is Bug.DIVERGING_FETCH_COUNTS
        if response.error is Errors.NONE and (not diverges or counts):
            state = (request.fetch_offset, request.log_start_offset, message.source_process)
            self._partition.update_follower_fetch_state(follower, *state)
            self.complete_delayed_produces()
            if self._bug is Bug.RESPONSE_HW_AFTER_FETCH:
                response = self._read(request)
            if not response.records and not diverges:
                wait = self._clock.now + self._settings.replica_fetch_wait_max_ms
                self._fetches[follower] = ParkedFetch(message, request, wait)
                return
        self._fetches.pop(follower, None)  # one fetch per connection: an earlier one was given up
        self._reply(message, response)

    def try_complete_fetch(self, follower: int) -> bool:
        """Complete a follower's parked fetch if there are records or its wait is over; returns whether it completed.
        The log is read again; the follower's state is not updated again. Kafka: DelayedFetch; fact sheet 2.6.
        """
        if follower not in self._fetches:
            return False
        fetch = self._fetches[follower]
        end = self._partition.log.log_end_offset
        news = self._error_of(fetch) is not Errors.NONE or end != fetch.asked.fetch_offset
        if not news and self._clock.now < fetch.deadline:
            return False
        self._complete_fetch(follower)
        return True

    def handle_offsets_for_leader_epoch(self, message: Message, request: OffsetsForLeaderEpochRequest) -> None:
        """Answer with the end of the requested epoch in this log. Kafka: lastOffsetForLeaderEpoch; fact sheet 3.4."""
        error = self._partition.error_for_epoch(request.current_leader_epoch)
        if error is not Errors.NONE:
            self._reply(message, OffsetsForLeaderEpochResponse(error))
            return
        end = self._partition.log.end_offset_for(request.leader_epoch)
        epoch = end.leader_epoch if self._switches.TRUNC >= Truncation.KIP279 else -1
        self._reply(message, OffsetsForLeaderEpochResponse(error, epoch, end.end_offset))

    def handle_list_offsets(self, message: Message, request: ListOffsetsRequest) -> None:
        """Answer with the log's end or start, as asked; a follower asks when its fetch was out of range. Sheet 2.5."""
        error = self._partition.error_for_epoch(request.current_leader_epoch)
        log = self._partition.log
        offset = log.log_end_offset if request.kind is OffsetKind.LATEST else log.log_start_offset
        self._reply(message, ListOffsetsResponse(error, request.kind, -1 if error is not Errors.NONE else offset))

    def shrink_isr(self) -> frozenset[int]:
        """Run the ISR shrink check; return the removed followers. Kafka: ReplicaManager.maybeShrinkIsr."""
        removed = self._partition.maybe_shrink_isr()
        self.complete_delayed_produces()
        return removed

    def expire_produces(self) -> int:
        """Answer REQUEST_TIMED_OUT to produce requests that waited too long; return how many. Their records stay."""
        expired = [each for each in self._produces if self._clock.now >= each.deadline]
        self._produces = [each for each in self._produces if self._clock.now < each.deadline]
        for each in expired:
            self._reply(each.request, ProduceResponse(each.send, Errors.REQUEST_TIMED_OUT))
        return len(expired)

    def _wait_for_high_watermark(self, message: Message, send: int, offset: int, records: int = 1) -> None:
        deadline = self._clock.now + self._settings.request_timeout_ms
        self._produces.append(DelayedProduce(message, send, offset, offset + records, deadline))

    def complete_delayed_produces(self) -> None:
        """Answer the produce requests whose offset the high watermark has reached, with an error if the ISR is too
        small now. Kafka: checkEnoughReplicasReachOffset."""
        high_watermark = self._partition.log.high_watermark
        is_too_small = self._partition.is_under_min_isr_after_append
        error = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND if is_too_small else Errors.NONE
        for each in [each for each in self._produces if high_watermark >= each.required_offset]:
            self._produces.remove(each)
            self._reply(
                each.request, ProduceResponse(each.send, error, -1 if error is not Errors.NONE else each.offset)
            )

    def _answer_produce(
        self, message: Message, request: ProduceRequest, error: Errors, offset: int = -1, log_start_offset: int = -1
    ) -> None:
        if request.acks is not Acks.NONE:
            self._reply(message, ProduceResponse(request.send, error, offset, log_start_offset))

    def _read(self, request: FetchRequest) -> FetchResponse:
        """The response to a follower's fetch. Kafka: Partition.readRecords; fact sheet 2.2, steps 1 to 6."""
        log, fetch_offset = self._partition.log, request.fetch_offset
        error = self._partition.error_for_epoch(request.current_leader_epoch)
        if error is not Errors.NONE:
            return FetchResponse(error, fetch_offset)
        offsets = (log.high_watermark, log.log_start_offset)
        if fetch_offset >= log.log_start_offset and request.last_fetched_epoch is not None:
            end = log.end_offset_for(request.last_fetched_epoch)
            if end.end_offset == UNDEFINED_OFFSET:
                return FetchResponse(Errors.OFFSET_OUT_OF_RANGE, fetch_offset)
            diverges = end.leader_epoch < request.last_fetched_epoch or end.end_offset < fetch_offset
            if diverges and self._bug is not Bug.DIVERGENCE_NOT_SEEN:
                divergence = DivergingEpoch(end.leader_epoch, end.end_offset)
                return FetchResponse(error, fetch_offset, (), *offsets, divergence)
        if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
            return FetchResponse(Errors.OFFSET_OUT_OF_RANGE, fetch_offset)
        records = log.read(fetch_offset, fetch_offset + self._settings.replica_fetch_max_records)
        return FetchResponse(error, fetch_offset, records, *offsets)

    def _error_of(self, fetch: ParkedFetch) -> Errors:
        return self._partition.error_for_epoch(fetch.asked.current_leader_epoch)

    def _complete_fetch(self, follower: int) -> None:
        fetch = self._fetches.pop(follower)
        response = self._read(fetch.asked)
        if self._bug is Bug.PARKED_FETCH_UPDATES and response.error is Errors.NONE:
            self._partition.update_follower_fetch_state(follower, self._partition.log.log_end_offset, 0)
            self.complete_delayed_produces()
        self._reply(fetch.request, response)

    @staticmethod
    def _follower(message: Message) -> int:
        assert isinstance(message.source, int), (
            f"{message} is a fetch that no broker sent: this is a defect of the cluster"
        )
        return message.source
