"""Projects what only a KRaft controller and its brokers have onto the model.

In:  a `ClusterView`.
Out: a mapping from the names of variables to their cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest, AlterIsrResponse
from isrcheck.conformance.cluster.network.messages import Errors, FetchRequest
from isrcheck.conformance.cluster.network.metadata_messages import PartitionRegistration
from isrcheck.conformance.cluster.views import BrokerView, ClusterView
from isrcheck.models.kafka.state import fields as configuration
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Stop
from isrcheck.models.language import NONE

has_kraft: Callable[[Any], bool] = configuration.has_kraft

Cells = tuple[int | None, ...]

Proposals = Mapping[int, AlterIsrRequest]
"""Requests to change the ISR, by the numbers of their messages."""

NO_REQUEST = AlterIsrRequest(0, 0, frozenset())


class KraftProjection:
    """The model's view of a cluster with KRaft."""

    def __init__(self, configuration: Any, view: ClusterView, has_lost: Collection[int], proposals: Proposals) -> None:
        """`has_lost` are the brokers that are down and have lost a part of their logs; `proposals` the requests to
        change the ISR.
        """
        self.configuration = configuration
        self.view = view
        self.has_lost = has_lost
        self.proposals = proposals
        self.log = view.controller.log
        self.now = self.log[-1]
        self.replicas = range(configuration.replicas)
        self.positions = {
            b.number: self.log[b.metadata_offset].partition.partition_epoch if b.is_up else 0 for b in view.brokers
        }

    def all(self) -> dict[str, Cells]:
        """The cells of each variable."""
        return {**self._controller(), **self._brokers(), **self._alter_partition(), **self._late_fetches()}

    def _controller(self) -> dict[str, Cells]:
        record, assigns = self.now.partition, self.configuration.reassignments > 0
        awaited = [self._awaited(epoch) for epoch in range(self.configuration.partition_changes + 1)]
        last = NONE if record.last_known_leader is None else record.last_known_leader
        return {
            "controller_leader": (_broker(record.leader),),
            "controller_epoch": (record.leader_epoch,),
            "controller_isr": self._members(record.isr),
            "controller_partition_epoch": (record.partition_epoch,),
            "metadata_partition_epoch": (),
            "metadata_leader": tuple(NONE if one is None else _broker(one.leader) for one in awaited),
            "metadata_leader_epoch": tuple(0 if one is None else one.leader_epoch for one in awaited),
            "metadata_isr": tuple(cell for one in awaited for cell in self._members(() if one is None else one.isr)),
            "is_assigned": self._members(record.replicas) if assigns else (),
            "metadata_assigned": tuple(
                cell
                for one in (awaited if assigns else ())
                for cell in self._members(() if one is None else one.replicas)
            ),
            "is_adding": self._members(record.adding) if assigns else (),
            "is_removing": self._members(record.removing) if assigns else (),
            "metadata_adding": tuple(
                cell
                for one in (awaited if assigns else ())
                for cell in self._members(() if one is None else one.adding)
            ),
            "is_unregistered": tuple(
                int(not one.is_registered) for one in (self.now.brokers if self.configuration.unregistrations else ())
            ),
            "is_fenced": tuple(int(one.is_fenced) for one in self.now.brokers),
            "is_shutting_down": tuple(int(self._shuts_down(b)) for b in self.view.brokers),
            "eligible_leader_replicas": self._members(record.elr),
            "last_known_leader": (last,),
        }

    def _shuts_down(self, broker: BrokerView) -> bool:
        """Whether a broker shuts down. The registration says so until the next one, also of a process that has ended;
        the model forgets it when that is fenced.
        """
        registered = self.now.brokers[broker.number]
        return registered.in_controlled_shutdown and (broker.is_up or not registered.is_fenced)

    def _awaited(self, epoch: int) -> PartitionRegistration | None:
        """The record of a partition epoch, if a running broker has not read it."""
        if not any(b.is_up and self.positions[b.number] < epoch for b in self.view.brokers):
            return None
        return next((image.partition for image in self.log if image.partition.partition_epoch == epoch), None)

    def _brokers(self) -> dict[str, Cells]:
        brokers, offsets = self.view.brokers, self.view.controller.shutdown_offsets
        known = [dict(b.leadership.broker_epochs) if b.leadership else {} for b in brokers]
        return {
            "metadata_position": tuple(self.positions.values()),
            "stopped_by": tuple(self._stop(b) for b in brokers),
            "shutdown_partition_epoch": tuple(
                self.log[offset].partition.partition_epoch if offset >= 0 else 0 for offset in offsets
            ),
            "remote_broker_epoch": tuple(self._process(of.get(r, 0), r) for of in known for r in self.replicas),
            "flushed_offset": tuple(b.recovery_point for b in brokers),
        }

    def _stop(self, broker: BrokerView) -> int:
        if broker.is_up:
            return Stop.CRASH
        if broker.has_stopped_cleanly:
            return Stop.SHUTDOWN
        return Stop.LOSS if broker.number in self.has_lost else Stop.CRASH

    def _process(self, number: int, broker: int) -> int:
        """What a broker epoch means: none is known, the registered process, or an earlier one."""
        if not number:
            return BrokerEpoch.UNKNOWN
        last = max(image.brokers[broker].broker_epoch for image in self.log)  # of an unregistered one: its last process
        is_registered = number == last
        return BrokerEpoch.REGISTERED if is_registered else BrokerEpoch.EARLIER

    def _alter_partition(self) -> dict[str, Cells]:
        brokers = self.view.brokers
        requests = [self._request(broker) for broker in brokers]
        proposed = [b.leadership.proposed_isr if b.leadership else None for b in brokers]
        return {
            "partition_epoch": tuple(b.partition_epoch for b in brokers),
            "proposed_isr": tuple(cell for isr in proposed for cell in self._members(isr or ())),
            "alter_partition": tuple(stage for stage, _ in requests),
            "requested_leader_epoch": tuple(request.leader_epoch for _, request in requests),
            "requested_partition_epoch": tuple(request.partition_epoch for _, request in requests),
            "requested_isr": tuple(cell for _, request in requests for cell in self._members(request.isr)),
            "requested_broker_epoch": tuple(
                self._process(request.broker_epoch_of(r) or 0, r) for _, request in requests for r in self.replicas
            ),
        }

    def _request(self, broker: BrokerView) -> tuple[int, AlterIsrRequest]:
        """The stage of a broker's request to the controller, and the request."""
        for message in self.view.network:
            told = message.payload
            if message.source == broker.number and isinstance(told, AlterIsrRequest):
                return AlterPartition.REQUESTED, told
            if message.destination == broker.number and isinstance(told, AlterIsrResponse):
                asked = self.proposals[message.in_reply_to if message.in_reply_to is not None else -1]
                is_good = told.error is Errors.NONE
                return AlterPartition.ACCEPTED if is_good else AlterPartition.INELIGIBLE, asked
        return AlterPartition.NONE, NO_REQUEST

    def _late_fetches(self) -> dict[str, Cells]:
        if not self.configuration.late_fetches:
            return {}
        late = {
            (message.destination, message.source): message.payload.fetch_offset
            for message in self.view.network
            if isinstance(message.payload, FetchRequest) and isinstance(message.source, int)
            if message.source_process != self.view.brokers[message.source].process
        }
        return {"late_fetch_offset": tuple(late.get((r, f), NONE) for r in self.replicas for f in self.replicas)}

    def _members(self, members: Collection[int]) -> Cells:
        return tuple(int(r in members) for r in self.replicas)


def _broker(number: int | None) -> int:
    return NONE if number is None else number
