"""The controller with ZooKeeper: the leader, its epoch, the ISR, elections, announcements.

In:  requests from the outside world (elections, notices of dead brokers), changes of the ISR, registrations.
Out: LeaderAndIsr in the network, one message per running broker, including the former leader.

A leader changes the ISR by a conditional write in ZooKeeper or, since 2.7, by AlterIsr; only the leader hears of this
change. The ISR is never empty: its last member stays when it dies. The controller never compares log offsets. Source:
fact sheet, sections 4.3 to 4.7 (ZooKeeper column), 4.9 (no ELR).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Start
from isrcheck.conformance.cluster.network.messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    Errors,
    IsrWrite,
    LeaderAndIsr,
)
from isrcheck.conformance.cluster.network.network import CONTROLLER, Message, Network


class Election(Enum):
    """The kinds of leader elections. Kafka: PartitionLeaderElectionAlgorithms (offline, preferred, unclean)."""

    FAIL_OVER = "fail-over"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


ProcessOf = Callable[[int], int]
"""The number of a broker's process; 0 if none runs."""


class Controller:
    """The controller, which decides who leads and records the ISR."""

    def __init__(
        self,
        start: Start,
        network: Network,
        process_of: ProcessOf,
        is_running: Callable[[int], bool],
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        self._replicas = range(start.replicas)
        self.leader = start.leader
        """The current leader, which may be dead."""
        self.leader_epoch = 0
        """The current leader epoch."""
        self.partition_epoch = 0
        """The number of changes of leader, epoch and ISR."""
        self.isr = start.in_sync
        """The current ISR."""
        self._broker_epochs = dict.fromkeys(self._replicas, 1)
        self._network = network
        self._process_of = process_of
        self._is_running = is_running
        self._switches = switches
        self._bug = bug
        self._isr_writes: list[IsrWrite] = []

    @property
    def isr_writes(self) -> tuple[IsrWrite, ...]:
        """Every write of the ISR in ZooKeeper that a leader tried, in order."""
        return tuple(self._isr_writes)

    @property
    def metadata(self) -> LeaderAndIsr:
        """The metadata that a registering broker receives."""
        return LeaderAndIsr(self.leader, self.leader_epoch, self.isr, self.partition_epoch)

    def live_brokers(self) -> frozenset[int]:
        """The brokers that run."""
        return frozenset(each for each in self._replicas if self._is_running(each))

    def write_isr(self, writer: int, leader_epoch: int, isr: frozenset[int]) -> int | None:
        """Write an ISR; return the new partition epoch; None if `writer` does not lead in `leader_epoch`. Sheet 4.4."""
        is_accepted = (writer, leader_epoch) == (self.leader, self.leader_epoch)
        is_accepted |= self._bug is Bug.ISR_WRITE_UNCONDITIONAL
        self._isr_writes.append(IsrWrite(writer, leader_epoch, isr, is_accepted))
        if not is_accepted:
            return None
        self._change_isr(isr)
        return self.partition_epoch

    def receive(self, message: Message) -> None:
        """Handle AlterIsr: adopt the proposed ISR, or refuse it. Kafka: KafkaController.alterIsrs."""
        assert isinstance(message.payload, AlterIsrRequest), f"{message}: this is a defect of the cluster"
        assert isinstance(message.source, int), f"{message}: this is a defect of the cluster"
        error = self._error_for(message.source, message.source_process, message.payload)
        if error is not Errors.NONE:
            self._network.reply(message, AlterIsrResponse(error), 0)
            return
        if message.payload.isr != self.isr:  # otherwise, the answer to the same request was lost
            self._change_isr(message.payload.isr)
        answer = AlterIsrResponse(Errors.NONE, self.leader_epoch, self.partition_epoch, self.isr)
        self._network.reply(message, answer, 0)

    def _error_for(self, sender: int, process: int, request: AlterIsrRequest) -> Errors:
        """Return the error with which the controller refuses a proposed ISR, or NONE. If the proposed ISR is the
        present ISR, an old partition epoch is accepted. Fact sheet 4.5, ZooKeeper column."""
        if process != self._broker_epochs[sender]:
            return Errors.STALE_BROKER_EPOCH
        if (sender, request.leader_epoch) != (self.leader, self.leader_epoch):
            is_refused = self._bug is not Bug.ISR_WRITE_UNCONDITIONAL
            return Errors.FENCED_LEADER_EPOCH if is_refused else Errors.NONE
        if request.partition_epoch != self.partition_epoch and request.isr != self.isr:
            return Errors.INVALID_UPDATE_VERSION
        return Errors.NONE

    def elect(self, kind: Election, candidate: int) -> None:
        """Make a running replica the leader in a new epoch, and announce it.

        A fail-over replaces the leader, dead or alive, and removes the former leader from the ISR. A preferred election
        keeps the ISR. An unclean election makes the candidate the only member of the ISR. Errors: `ClusterError` if the
        candidate cannot win an election of this kind.
        """
        if not self._is_running(candidate):
            raise ClusterError(f"election: broker {candidate} is not alive; restart or thaw it first")
        if candidate == self.leader:
            raise ClusterError(
                f"election: broker {candidate} leads already, in epoch {self.leader_epoch}; elect another broker"
            )
        if kind is Election.UNCLEAN:
            alive = [each for each in sorted(self.isr) if self._is_running(each)]
            if alive:
                raise ClusterError(
                    f"unclean election: ISR members {alive} are alive; request a {Election.FAIL_OVER.value}"
                )
            self.isr = frozenset({candidate})
        elif candidate not in self.isr:
            raise ClusterError(f"{kind.value}: broker {candidate} is not in the ISR {sorted(self.isr)}; name a member")
        elif kind is Election.FAIL_OVER:
            self.isr -= {self.leader}
        elif not self._is_running(self.leader):
            raise ClusterError(f"preferred election: leader {self.leader} is not alive; request a fail-over")
        self.leader = candidate
        self._announce_new_epoch()

    def notice_dead(self, broker: int) -> None:
        """Remove a dead follower from the ISR, in a new epoch. Kafka: ReplicaStateMachine; fact sheet 4.7. Errors:
        `ClusterError` for a broker that is alive, that leads, or that is not in the ISR."""
        if self._is_running(broker):
            raise ClusterError(f"broker {broker} is alive; crash or freeze it first")
        if broker == self.leader:
            raise ClusterError(f"broker {broker} leads; request an election")
        if broker not in self.isr:
            raise ClusterError(f"broker {broker} is not in the ISR {sorted(self.isr)}; name a member")
        self.isr -= {broker}
        self._announce_new_epoch()

    def must_accept(self, broker: int) -> None:
        """Do nothing: with ZooKeeper, the controller accepts every broker that restarts."""

    def register(self, broker: int, *, was_clean: bool = False) -> None:
        """Send the current metadata to a new process of a broker; the broker epoch is the process's number (KIP-380).

        A new broker epoch reveals a restart that was too quick to be noticed otherwise. Since 2.8 (in Kafka, since
        2.2), this restart first counts as a failure: the broker leaves the ISR, and if it led, the first other live
        member of the ISR, if any, is elected. Kafka: KafkaController.processBrokerChange.
        """
        self._broker_epochs[broker] = self._process_of(broker)
        others = [each for each in sorted(self.isr - {broker}) if self._is_running(each)]
        if not self._switches.asks_controller or broker not in self.isr or self.isr == {broker}:
            self._send(broker)
        elif broker != self.leader:
            self.isr -= {broker}
            self._announce_new_epoch()
        elif others:
            self.elect(Election.FAIL_OVER, others[0])
        else:
            self._send(broker)

    def _change_isr(self, isr: frozenset[int]) -> None:
        self.isr = isr
        self.partition_epoch += 1

    def _announce_new_epoch(self) -> None:
        self.leader_epoch += 1
        self.partition_epoch += 1
        for broker in self._replicas:
            if self._process_of(broker):
                self._send(broker)

    def _send(self, broker: int) -> None:
        self._network.send(CONTROLLER, broker, self.metadata, destination_process=self._process_of(broker))
