"""The coordinator of one broker, which is loaded when the broker leads, and unloaded after it has begun to follow.

In:  the metadata that the broker has applied; write operations; a driver's choice of the next event.
Out: a `CoordinatorContext` while it is active.

Loading and unloading are events in a queue, in order. Writes that came before, a flush, and the high watermark, which
is put at the front of the queue, may be handled while they wait. Source: fact sheet, A.9; Kafka: CoordinatorRuntime,
GroupCoordinatorService.onElection and onResignation, BrokerMetadataPublisher.updateCoordinator.

Loading is one event; in Kafka, another thread reads the log meanwhile.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

from isrcheck.conformance.cluster.broker.partition import NO_EPOCH, Partition
from isrcheck.conformance.cluster.configuration.bugs import CoordinatorBug
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.coordinator.context import CoordinatorContext, OutOfSyncError, Respond
from isrcheck.conformance.cluster.coordinator.group import GroupRecord, InvalidRecordError
from isrcheck.conformance.cluster.coordinator.views import CoordinatorView
from isrcheck.conformance.cluster.network.messages import Errors


class EventKind(Enum):
    """What an event in the queue does."""

    LOAD = "load"
    UNLOAD = "unload"


@dataclass(frozen=True)
class Event:
    """An event in the queue, with the leader epoch that it is about."""

    kind: EventKind
    epoch: int


class CoordinatorRuntime:
    """The coordinator of one process of one broker. `context` is None unless it is active."""

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
        """The broker has applied metadata. In a new leader epoch, the coordinator is to be loaded, or unloaded."""
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

    def handle_event(self) -> Event:
        """Handle the next event of the queue, and return it. Errors: `ClusterError` if the queue is empty."""
        if not self._queue:
            raise ClusterError("no event waits in the queue of the coordinator")
        event = self._queue.popleft()
        if event.kind is EventKind.LOAD:
            self._load(event.epoch)
        elif self.context is not None and self.context.epoch < event.epoch:
            self._close()
        return event

    def write(self, record: GroupRecord, respond: Respond) -> None:
        """Handle a write operation of a client. A coordinator that is not active refuses it."""
        if self.context is None:
            respond(Errors.NOT_COORDINATOR)
        else:
            self.context.write(record, respond)

    def flush(self) -> None:
        """The linger time of the open batch is over. A coordinator that is out of sync with its log is loaded again.
        Errors: `ClusterError` if there is no open batch.
        """
        context = self._active()
        if not context.has_open_batch:
            raise ClusterError("the coordinator has no open batch to flush")
        try:
            context.flush()
        except OutOfSyncError:
            self._close()
            self._queue.append(Event(EventKind.LOAD, context.epoch))

    def handle_high_watermark(self) -> None:
        """Handle the event that the high watermark has put in the queue. Errors: `ClusterError` if there is none."""
        context = self._active()
        if context.listener.noted is None:
            raise ClusterError("the coordinator has heard no high watermark that it has not handled")
        context.handle_high_watermark()

    def _load(self, epoch: int) -> None:
        """Load the coordinator, if the broker leads and the log is valid; an active one only takes the epoch. Kafka:
        scheduleLoadOperation.
        """
        if self.context is not None:
            if self.context.epoch < epoch and self._bug is not CoordinatorBug.EPOCH_KEPT_BY_ACTIVE:
                self.context.epoch = epoch
        elif self._partition.is_leader:
            try:
                self.context = CoordinatorContext(self._partition, epoch, self._switches, self._bug)
            except InvalidRecordError:
                return  # it has failed, until the broker leads in another epoch

    def _close(self) -> None:
        self._active().close()
        self.context = None

    def _active(self) -> CoordinatorContext:
        if self.context is None:
            raise ClusterError("the coordinator of this broker is not active")
        return self.context
