"""The request by which a leader asks the controller to change the ISR, and the answer. KIP-497; Kafka: AlterIsr.

In:  nothing.
Out: payloads for `Network.send`.

The sender's broker epoch is the number of its process, which every message carries. With KRaft the request is called
AlterPartition. Source: fact sheet, section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.network.messages import Errors


@dataclass(frozen=True)
class AlterIsrRequest:
    """A leader proposes an ISR, which is to replace that of the given partition epoch.

    `broker_epochs` are the processes of the followers in it from which the leader has heard last, as far as it has
    heard from them in this leadership (KIP-903).
    """

    leader_epoch: int
    partition_epoch: int
    isr: frozenset[int]
    broker_epochs: tuple[tuple[int, int], ...] = ()

    def broker_epoch_of(self, broker: int) -> int | None:
        """The process of a follower from which the leader has heard last; None if from none."""
        return dict(self.broker_epochs).get(broker)


@dataclass(frozen=True)
class AlterIsrResponse:
    """The record of the partition after the change; or an error, without one."""

    error: Errors
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: frozenset[int] = frozenset()
