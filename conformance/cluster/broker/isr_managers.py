"""The ISR of a leader, and the two ways to change it: a write in ZooKeeper, or a request to the controller.

In:  proposals of the partition; answers of the controller.
Out: writes of the ISR, or requests in the network; the answer, for the partition.

Source: fact sheet, sections 4.3 and 4.4; Kafka: IsrState, AlterIsrManager (ZkIsrManager, DefaultAlterIsrManager).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.switches import MaximalIsr
from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest, AlterIsrResponse
from isrcheck.conformance.cluster.network.messages import Errors

Answered = Callable[[AlterIsrResponse], None]
"""Takes the answer to a proposal."""


@dataclass(frozen=True)
class IsrState:
    """The ISR of record, as far as the leader knows, and the ISR that it has proposed, while it awaits the answer."""

    isr: frozenset[int] = frozenset()
    proposed: frozenset[int] | None = None

    @property
    def is_inflight(self) -> bool:
        """Whether a change is pending."""
        return self.proposed is not None

    def maximal_isr(self, rule: MaximalIsr = MaximalIsr.COMMITTED_AND_PROPOSED) -> frozenset[int]:
        """The members of both: either of them may be the ISR of record, from which the next leader is elected. The
        other rules are the mistakes that KIP-497 avoids.
        """
        if self.proposed is None or rule is MaximalIsr.COMMITTED:
            return self.isr
        return self.proposed if rule is MaximalIsr.PROPOSED else self.isr | self.proposed

    def is_answered_by(self, pending: IsrState, response: AlterIsrResponse, epochs: tuple[int, int]) -> bool:
        """Whether an answer is about the change that is pending still, and not older than the leader and partition
        epoch that the leader knows. Fact sheet 4.3.
        """
        leader_epoch, partition_epoch = epochs
        is_current = response.leader_epoch == leader_epoch and response.partition_epoch >= partition_epoch
        return self is pending and (response.error is Errors.INELIGIBLE_REPLICA or is_current)


class IsrManager(Protocol):
    """Where a partition submits its proposals."""

    def submit(self, proposal: AlterIsrRequest, answered: Answered) -> bool:
        """Propose an ISR; returns whether that was possible. `answered` may be called before this returns."""


class IsrStore(Protocol):
    """Where a leader writes the ISR: the controller's side of ReplicationUtils.updateLeaderAndIsr."""

    def write_isr(self, writer: int, leader_epoch: int, isr: frozenset[int]) -> int | None:
        """Write the ISR if the writer's leader epoch is the controller's; return the new partition epoch, or None."""


class ZkIsrManager:
    """Writes the ISR at once, or not at all."""

    def __init__(self, broker: int, store: IsrStore) -> None:
        self._broker = broker
        self._store = store

    def submit(self, proposal: AlterIsrRequest, answered: Answered) -> bool:
        """Write the ISR; returns whether it was written."""
        written = self._store.write_isr(self._broker, proposal.leader_epoch, proposal.isr)
        if written is None:
            return False
        answered(AlterIsrResponse(Errors.NONE, proposal.leader_epoch, written, proposal.isr))
        return True


class AlterIsrManager:
    """Asks the controller, one request at a time, and again until it has an answer. Kafka: DefaultAlterIsrManager."""

    def __init__(self, ask: Callable[[AlterIsrRequest], int], bug: Bug | None) -> None:
        """`ask` sends a request to the controller, and returns the number of the message."""
        self._ask = ask
        self._bug = bug
        self._outstanding: int | None = None
        self._submitted: tuple[AlterIsrRequest, Answered] | None = None

    def submit(self, proposal: AlterIsrRequest, answered: Answered) -> bool:
        """Send the proposal, unless an earlier one is unanswered; returns whether it was sent."""
        if self._submitted is not None and self._bug is not Bug.SECOND_ALTER_ISR_SENT:
            return False
        self._submitted = (proposal, answered)
        self._outstanding = self._ask(proposal)
        return True

    def disconnected(self, request: int) -> None:
        """The connection to the controller broke: send the same request again. Any other request is ignored."""
        if self._submitted is not None and self._outstanding == request:
            self._outstanding = self._ask(self._submitted[0])

    def receive(self, request: int, response: AlterIsrResponse) -> None:
        """Take the answer to the request with this number."""
        if self._submitted is not None and self._outstanding == request:
            answered = self._submitted[1]
            self._outstanding = self._submitted = None
            answered(response)
