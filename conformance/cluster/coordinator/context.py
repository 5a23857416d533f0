"""An active coordinator: its state in memory, its open batch, and the writes that wait for the high watermark.

In:  write operations; the high watermark, which a listener notes; the events that flush the batch and take the noted
     high watermark.
Out: records in the log of the partition that the broker leads; answers.

A write changes the state at once, and its record joins the open batch. A flush appends the batch; the writes are
answered once the high watermark has reached the offset behind it. Source: fact sheet, A.9, D4 and D13; Kafka:
CoordinatorRuntime.CoordinatorContext, SnapshottableCoordinator, CoordinatorPartitionWriter, CoordinatorLoaderImpl.

Left out: transactional writes, reads, timers, a batch that is full. The records of a batch are entries of their own in
the log; in Kafka, a batch is fetched as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.configuration.bugs import CoordinatorBug
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.coordinator.group import Group, GroupRecord, RecordKind
from isrcheck.conformance.cluster.coordinator.views import CoordinatorView
from isrcheck.conformance.cluster.network.messages import Errors

NOT_WRITTEN = -1

Respond = Callable[[Errors], None]


class OutOfSyncError(Exception):
    """The log ends elsewhere than the coordinator expected, so that it has to be loaded again."""


@dataclass(frozen=True)
class Write:
    """A write operation whose record is in the open batch, or in the log: then it awaits an offset."""

    record: GroupRecord
    respond: Respond
    awaited_offset: int = NOT_WRITTEN


class HighWatermarkListener:
    """Notes the last high watermark of the partition that was not handled yet; None if there is none.

    Up to KAFKA-20634 it goes on while its broker follows.
    """

    def __init__(self, switches: Switches) -> None:
        self._goes_on = switches.LISTENS_AS_FOLLOWER
        self.is_listening = True
        self.noted: int | None = None

    def on_high_watermark_updated(self, offset: int) -> None:
        """The high watermark of the broker's log has gone up."""
        if self.is_listening:
            self.noted = offset

    def on_becoming_follower(self) -> None:
        """The broker follows from now on. Kafka: CoordinatorPartitionWriter.ListenerAdapter."""
        self.is_listening &= self._goes_on


class CoordinatorContext:
    """The coordinator on one broker, loaded from the log of the partition in a leader epoch."""

    def __init__(self, partition: Partition, epoch: int, switches: Switches, bug: CoordinatorBug | None) -> None:
        """Load the whole log, and listen. Raises InvalidRecordError if a record contradicts those before it."""
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

    @property
    def has_open_batch(self) -> bool:
        """Whether records wait to be appended."""
        return bool(self._batch)

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
        """Handle a write operation, unless it needs a consumer group and the group is a classic group.

        A conversion changes the state itself, before its records, which are large, get a batch of their own; the
        records are not replayed. With KAFKA-20845 the empty batch that is allocated for them is flushed, which fails.
        Kafka: CoordinatorWriteEvent.run, append; GroupMetadataManager.convertToClassicGroup. Errors: `ClusterError` for
        a conversion while a batch is open.
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
        """Append the open batch, unless the broker does not lead; then fail it. Raises OutOfSyncError. Kafka:
        flushCurrentBatch.
        """
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
        """Revert the state to what was written before the batch, and answer its writes. Kafka: failCurrentBatch."""
        if self._bug is not CoordinatorBug.FAILED_FLUSH_KEEPS_STATE:
            self._group = self._written
        failed, self._batch = self._batch, []
        for write in failed:
            write.respond(error)

    def handle_high_watermark(self) -> None:
        """Take the noted high watermark; one above what this coordinator has written is refused. Kafka:
        HighWatermarkUpdate, updateLastCommittedOffset.
        """
        offset, self.listener.noted = self.listener.noted, None
        is_known = offset is not None and offset <= self._last_written_offset
        if offset is not None and (is_known or self._bug is CoordinatorBug.BEYOND_WRITTEN_ACCEPTED):
            self._complete_up_to(offset + (self._bug is CoordinatorBug.ANSWERED_ONE_RECORD_EARLY))

    def _complete_up_to(self, offset: int) -> None:
        """Answer the writes that await no later offset. Kafka: DeferredEventQueue.completeUpTo."""
        waiting, self._deferred = self._deferred, []
        for write in waiting:
            if write.awaited_offset <= offset:
                write.respond(Errors.NONE)
            else:
                self._deferred.append(write)

    def close(self) -> None:
        """Give up the state; whatever waits fails. Kafka: CoordinatorContext.unload."""
        self._partition.log.high_watermark_listeners.remove(self.listener.on_high_watermark_updated)
        waiting, self._deferred, self._batch = [*self._deferred, *self._batch], [], []
        for write in waiting if self._bug is not CoordinatorBug.UNLOADING_FORGETS_WRITES else ():
            write.respond(Errors.NOT_COORDINATOR)
