"""The metadata log of a KRaft controller, as the steps of a trace write it.

In:  the steps of a trace, and the states before and after them.
Out: the metadata after each record.

The order of the records of one change is Kafka's: a broker is fenced after the partition has changed, and it is
unfenced or begins to shut down before. Source: ReplicationControlManager.handleBrokerFenced, handleBrokerUnfenced,
handleBrokerInControlledShutdown; ClusterControlManager.registerBroker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isrcheck.models.language.model import Step
from isrcheck.models.run import State

FENCE = ("controller_fences_broker", "controller_fences_leader", "controller_fences_last_leader")
SHUT_DOWN = ("broker_asks_to_shut_down", "leader_asks_to_shut_down", "last_leader_asks_to_shut_down")
UNFENCE = "controller_unfences_broker"
STOP = "broker_shuts_down"
UNREGISTER = "controller_unregisters_broker"
CONFIGURE = "operator_changes_min_insync_replicas"
RESTART = "broker_restarts"


@dataclass(frozen=True)
class Metadata:
    """The metadata after one record: the partition epoch, and for each broker whether it is fenced, whether it shuts
    down, and the number of its registered process; and how often min.insync.replicas was changed.
    """

    partition_epoch: int
    is_fenced: tuple[bool, ...]
    is_shutting_down: tuple[bool, ...]
    processes: tuple[int, ...]
    configurations: int = 0

    def is_active(self, broker: int) -> bool:
        """Whether a broker may join the ISR."""
        return not self.is_fenced[broker] and not self.is_shutting_down[broker]


class MetadataLog:
    """The metadata after each record, by offset."""

    def __init__(self, first: State) -> None:
        replicas = int(first.replicas)
        nobody = (False,) * replicas
        self.log = [Metadata(0, nobody, nobody, (1,) * replicas)]

    @property
    def end(self) -> int:
        """The offset of the last record."""
        return len(self.log) - 1

    def offsets(self, partition_epoch: int, least: int) -> range:
        """The offsets from `least` on at which the partition has had this epoch so far."""
        found = [offset for offset, one in enumerate(self.log) if one.partition_epoch == partition_epoch]
        return range(max(least, found[0]), found[-1] + 1) if found else range(0)

    def note(self, step: Step, before: State, after: State) -> None:
        """Append what a step writes."""
        if step.action == CONFIGURE:
            now = self.log[-1]
            epoch = int(after.controller_partition_epoch)
            self.log.append(replace(now, partition_epoch=epoch, configurations=now.configurations + 1))
            return
        if step.action in (*FENCE, STOP, RESTART, UNREGISTER):
            self._change_partition(after)
            self._change_broker(step, after)
        elif step.action == UNFENCE or step.action in SHUT_DOWN:
            self._change_broker(step, after)
            self._change_partition(after)
        else:
            self._change_partition(after)

    def _change_partition(self, after: State) -> None:
        epoch = int(after.controller_partition_epoch)
        if epoch != self.log[-1].partition_epoch:
            self.log.append(replace(self.log[-1], partition_epoch=epoch))

    def _change_broker(self, step: Step, after: State) -> None:
        broker, now = step.ordinals[0], self.log[-1]
        started = step.action == RESTART
        self.log.append(
            replace(
                now,
                is_fenced=_with(now.is_fenced, broker, bool(after.is_fenced[broker])),
                is_shutting_down=_with(now.is_shutting_down, broker, bool(after.is_shutting_down[broker])),
                processes=tuple(one + (started and r == broker) for r, one in enumerate(now.processes)),
            )
        )


def _with(flags: Sequence[bool], broker: int, flag: bool) -> tuple[bool, ...]:
    return tuple(flag if r == broker else one for r, one in enumerate(flags))
