"""The group coordinator of one broker: active while the broker leads; it has a group in memory and an open batch.

In:  the metadata that the broker has applied; write operations; a driver's choice of the next event.
Out: records in the log of the partition that the broker leads; answers.

Loading and unloading are events in a queue, handled in order. While these events wait, the coordinator may still handle
earlier writes, a flush, and the high watermark (an event that Kafka puts at the front of the queue). A write changes
the state in memory at once, and its record joins the open batch. A flush appends the batch to the log; the writes in
the batch are answered once the high watermark has reached the end of the batch. A group that uses the protocol of
KIP-848 is a consumer group; when its last member with that protocol has left, the group becomes a classic group.

Source: fact sheet, A.9, D4 and D13; Kafka: CoordinatorRuntime (CoordinatorContext), SnapshottableCoordinator,
CoordinatorPartitionWriter, CoordinatorLoaderImpl, GroupCoordinatorService.onElection and onResignation,
BrokerMetadataPublisher.updateCoordinator, GroupMetadataManager, OffsetMetadataManager.

Left out: transactional writes, reads, timers, a full batch. The records of a batch are separate entries in the log; in
Kafka, a batch is fetched as a whole. Loading is one event; in Kafka, another thread reads the log while events go on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from isrcheck.conformance.cluster.broker.partition import NO_EPOCH, Partition
from isrcheck.conformance.cluster.configuration.bugs import CoordinatorBug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import Errors


@dataclass(frozen=True)
class CoordinatorView:
    """What can be observed of an active group coordinator."""

    epoch: int
    """The leader epoch that it was loaded in."""
    group: Group
    """The state in memory."""
    batch: tuple[str, ...]
    """The names of the writes in the open batch."""
    deferred: tuple[tuple[str, int], ...]
    """The writes that wait for the high watermark, each with the offset that it awaits."""
    last_written_offset: int
    """The end of the log, as far as it has written it."""
    unload_is_queued: bool
    """Whether an event that unloads it waits."""
    is_listening: bool
    """Whether it listens to the high watermark."""
    noted_high_watermark: int | None
    """The last high watermark that it has heard and not handled; None if it has handled all."""


class RecordKind(Enum):
    """What a record says: an offset is committed, a consumer has joined, the group becomes a classic group."""

    COMMIT = "commit"
    MEMBER = "member"
    CLASSIC = "classic"


class InvalidRecordError(Exception):
    """Raised if a record of the log contradicts the group's state. Kafka: IllegalStateException."""


@dataclass(frozen=True)
class GroupRecord:
    """A record of the group in the log; `name` is the name of the write operation that wrote the record."""

    kind: RecordKind
    name: str

    @classmethod
    def of(cls, payload: str) -> GroupRecord:
        """The record with this payload."""
        kind, name = payload.split()
        return cls(RecordKind(kind), name)

    @property
    def payload(self) -> str:
        """The record as text in the log: its kind and its name."""
        return f"{self.kind.value} {self.name}"


@dataclass(frozen=True)
class Group:
    """A group in memory: the names of the writes that committed offsets, added members, or made the group classic."""

    commits: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    converted_by: str | None = None

    @property
    def is_classic(self) -> bool:
        """Whether the group has become a classic group."""
        return self.converted_by is not None

    def replayed(self, record: GroupRecord) -> Group:
        """The group after a record. Raises InvalidRecordError if the group is classic already and the record adds a
        member or converts the group. Kafka: getOrMaybeCreatePersistedConsumerGroup.
        """
        if record.kind is RecordKind.COMMIT:
            return replace(self, commits=self.commits | {record.name})
        if self.is_classic:
            raise InvalidRecordError(f"record {record.payload}: the group is not a consumer group")
        if record.kind is RecordKind.CLASSIC:
            return replace(self, converted_by=record.name)
        return replace(self, members=self.members | {record.name})


NOT_WRITTEN = -1

Respond = Callable[[Errors], None]


class OutOfSyncError(Exception):
    """The log does not end where the coordinator expected, so the coordinator has to be loaded again."""


@dataclass(frozen=True)
class Write:
    """An unanswered write: in the open batch, or in the log until the high watermark reaches `awaited_offset`."""

    record: GroupRecord
    respond: Respond
    awaited_offset: int = NOT_WRITTEN


class HighWatermarkListener:
    """Listens to the partition's high watermark. `noted`: the newest high watermark that is not handled yet, or None.

    With LISTENS_AS_FOLLOWER (until KAFKA-20634 is repaired), the listener also listens while its broker follows.
    """

    def __init__(self, switches: Switches) -> None:
        self._goes_on = switches.LISTENS_AS_FOLLOWER
        self.is_listening = True
        self.noted: int | None = None

    def on_high_watermark_updated(self, offset: int) -> None:
        """Note that the high watermark of the broker's log has gone up."""
        if self.is_listening:
            self.noted = offset

    def on_becoming_follower(self) -> None:
        """Stop listening, unless LISTENS_AS_FOLLOWER is on. Kafka: CoordinatorPartitionWriter.ListenerAdapter."""
        self.is_listening &= self._goes_on


class CoordinatorContext:
    """The coordinator on one broker, loaded from the log of the partition in a leader epoch."""

    def __init__(self, partition: Partition, epoch: int, switches: Switches, bug: CoordinatorBug | None) -> None:
        """Load the whole log; listen to the high watermark. Raises InvalidRecordError for a contradictory record."""
        self._partition = partition
        self._switches = switches
        self._bug = bug
        self.epoch = epoch
        self._group = Group()
        log = partition.log
        end = log.high_watermark if bug is CoordinatorBug.LOADED_TO_HIGH_WATERMARK else log.log_end_offset
        for record in log.read(log.log_start_offset, end):
            self._group = self._group.replayed(GroupRecord.of(record.payload))
        self._written = self._group
        self._last_written_offset = log.log_end_offset
        self._batch: list[Write] = []
        self._deferred: list[Write] = []
        self.listener = HighWatermarkListener(switches)
        self.listener.is_listening = bug is not CoordinatorBug.LOADED_WITHOUT_LISTENER
        log.high_watermark_listeners.append(self.listener.on_high_watermark_updated)

    def observe(self, *, unload_is_queued: bool) -> CoordinatorView:
        """The state of this coordinator. Changes nothing."""
        return CoordinatorView(
            epoch=self.epoch,
            group=self._group,
            batch=tuple(write.record.name for write in self._batch),
            deferred=tuple((write.record.name, write.awaited_offset) for write in self._deferred),
            last_written_offset=self._last_written_offset,
            unload_is_queued=unload_is_queued,
            is_listening=self.listener.is_listening,
            noted_high_watermark=self.listener.noted,
        )

    def write(self, record: GroupRecord, respond: Respond) -> None:
        """Handle a write operation; refuse it if it needs a consumer group and the group is a classic group.

        A conversion to a classic group first changes the state, then puts its records, which are large, into a batch of
        their own. With the defect KAFKA-20845, the coordinator flushes this batch while it is empty; the flush fails,
        and so reverts the state. Kafka: CoordinatorWriteEvent.run, append; GroupMetadataManager.convertToClassicGroup.
        Errors: `ClusterError` for a conversion while a batch is open.
        """
        if record.kind is not RecordKind.COMMIT and self._group.is_classic:
            respond(Errors.GROUP_ID_NOT_FOUND)
            return
        if record.kind is RecordKind.CLASSIC and self._batch:
            raise ClusterError("the records of a conversion need a batch of their own; flush the open one first")
        self._group = self._group.replayed(record)
        if record.kind is RecordKind.CLASSIC and self._switches.FLUSHES_EMPTY_BATCH:
            self._fail_batch(Errors.UNKNOWN_SERVER_ERROR)
        self._batch.append(Write(record, respond))

    def flush(self) -> None:
        """Append the open batch; if the broker does not lead, answer the writes of the batch with an error. Raises
        OutOfSyncError if the log then ends at an unexpected offset. Errors: `ClusterError` if there is no open batch.
        Kafka: flushCurrentBatch."""
        if not self._batch:
            raise ClusterError("the coordinator has no open batch to flush")
        partition = self._partition
        is_fenced = self._switches.APPENDS_IN_ITS_EPOCH and partition.leader_epoch != self.epoch
        if not partition.is_leader or is_fenced:
            self._fail_batch(Errors.NOT_LEADER_OR_FOLLOWER)
            return
        expected = self._last_written_offset + len(self._batch)
        for write in self._batch:
            partition.append_as_leader(write.record.payload)
        offset = partition.log.log_end_offset
        if offset != expected and self._bug is not CoordinatorBug.OUT_OF_SYNC_NOT_NOTICED:
            raise OutOfSyncError
        self._last_written_offset, self._written = offset, self._group
        self._deferred += [replace(write, awaited_offset=offset) for write in self._batch]
        self._batch = []
        if self._bug is CoordinatorBug.WRITTEN_TAKEN_FOR_COMMITTED:
            self._complete_up_to(offset)

    def _fail_batch(self, error: Errors) -> None:
        """Revert the state to before the open batch; answer the writes in it with `error`. Kafka: failCurrentBatch."""
        if self._bug is not CoordinatorBug.FAILED_FLUSH_KEEPS_STATE:
            self._group = self._written
        failed, self._batch = self._batch, []
        for write in failed:
            write.respond(error)

    def handle_high_watermark(self) -> None:
        """Answer the writes below the high watermark that the listener noted. A high watermark beyond the last record
        that this coordinator wrote is ignored. Kafka: HighWatermarkUpdate, updateLastCommittedOffset. Errors:
        `ClusterError` if no high watermark is noted."""
        offset, self.listener.noted = self.listener.noted, None
        if offset is None:
            raise ClusterError("the coordinator has no new high watermark to handle")
        if offset <= self._last_written_offset or self._bug is CoordinatorBug.BEYOND_WRITTEN_ACCEPTED:
            self._complete_up_to(offset + (self._bug is CoordinatorBug.ANSWERED_ONE_RECORD_EARLY))

    def _complete_up_to(self, offset: int) -> None:
        """Answer the writes that wait for this offset or an earlier one. Kafka: DeferredEventQueue.completeUpTo."""
        due = [write for write in self._deferred if write.awaited_offset <= offset]
        self._deferred = [write for write in self._deferred if write.awaited_offset > offset]
        for write in due:
            write.respond(Errors.NONE)

    def close(self) -> None:
        """Stop listening; answer all unanswered writes with NOT_COORDINATOR. Kafka: CoordinatorContext.unload."""
        self._partition.log.high_watermark_listeners.remove(self.listener.on_high_watermark_updated)
        waiting, self._deferred, self._batch = [*self._deferred, *self._batch], [], []
        for write in waiting if self._bug is not CoordinatorBug.UNLOADING_FORGETS_WRITES else ():
            write.respond(Errors.NOT_COORDINATOR)


class EventKind(Enum):
    """The kinds of events in a coordinator's queue."""

    LOAD = "load"
    UNLOAD = "unload"


@dataclass(frozen=True)
class Event:
    """An event in the queue: load or unload the coordinator in this leader epoch."""

    kind: EventKind
    epoch: int


class CoordinatorRuntime:
    """The coordinator in one process of one broker. `context`: the coordinator's state while active, otherwise None."""

    def __init__(self, partition: Partition, switches: Switches, bug: CoordinatorBug | None) -> None:
        self._partition = partition
        self._switches = switches
        self._bug = bug
        self._queue: deque[Event] = deque()
        self._epoch = NO_EPOCH
        self.context: CoordinatorContext | None = None
        self.metadata_applied()

    @property
    def queue(self) -> tuple[Event, ...]:
        """The events that wait, in order."""
        return tuple(self._queue)

    def observe(self) -> CoordinatorView | None:
        """The state of the coordinator; None unless it is active."""
        if self.context is None:
            return None
        return self.context.observe(unload_is_queued=any(each.kind is EventKind.UNLOAD for each in self._queue))

    def metadata_applied(self) -> None:
        """Note that the broker has applied metadata: in a new leader epoch, queue the loading or unloading of the
        coordinator."""
        partition = self._partition
        if partition.leader_epoch == self._epoch:
            return
        self._epoch = partition.leader_epoch
        if partition.is_leader:
            self._queue.append(Event(EventKind.LOAD, partition.leader_epoch))
            return
        if self.context is not None:
            self.context.listener.on_becoming_follower()
        if self._bug is not CoordinatorBug.FOLLOWER_NOT_UNLOADED:
            self._queue.append(Event(EventKind.UNLOAD, partition.leader_epoch))

    def handle_event(self) -> None:
        """Handle the next event of the queue. Errors: `ClusterError` if the queue is empty."""
        if not self._queue:
            raise ClusterError("no event waits in the queue of the coordinator")
        event = self._queue.popleft()
        if event.kind is EventKind.LOAD:
            self._load(event.epoch)
        elif self.context is not None and self.context.epoch < event.epoch:
            self._close()

    def write(self, record: GroupRecord, respond: Respond) -> None:
        """Handle a write operation of a client. A coordinator that is not active refuses it."""
        if self.context is None:
            respond(Errors.NOT_COORDINATOR)
        else:
            self.context.write(record, respond)

    def flush(self) -> None:
        """Append the open batch, because its linger time is over. A coordinator that is out of sync with its log is
        loaded again. Errors: `ClusterError` if there is no open batch."""
        context = self._active()
        try:
            context.flush()
        except OutOfSyncError:
            self._close()
            self._queue.append(Event(EventKind.LOAD, context.epoch))

    def handle_high_watermark(self) -> None:
        """Handle the high watermark that the coordinator has noted. Errors: `ClusterError` if it noted nothing."""
        self._active().handle_high_watermark()

    def _load(self, epoch: int) -> None:
        """Load the coordinator, if the broker leads and the log is valid; an active coordinator only adopts the epoch.
        Kafka: scheduleLoadOperation.
        """
        if self.context is not None:
            if self.context.epoch < epoch and self._bug is not CoordinatorBug.EPOCH_KEPT_BY_ACTIVE:
                self.context.epoch = epoch
        elif self._partition.is_leader:
            try:
                self.context = CoordinatorContext(self._partition, epoch, self._switches, self._bug)
            except InvalidRecordError:
                return  # the load has failed, until the broker leads in another epoch

    def _close(self) -> None:
        self._active().close()
        self.context = None

    def _active(self) -> CoordinatorContext:
        if self.context is None:
            raise ClusterError("the coordinator of this broker is not active")
        return self.context
