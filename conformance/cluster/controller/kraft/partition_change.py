"""How a KRaft controller changes the record of the partition. Kafka: PartitionChangeBuilder.

In:  the record, the ISR and the assignment that it is to have, who may lead.
Out: the new record, or None if nothing changes.

The controller never compares logs. Source: fact sheet, sections 4.6, 4.7, 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.controller.election import Election
from isrcheck.conformance.cluster.controller.kraft.reassignment import Assignment, is_complete
from isrcheck.conformance.cluster.network.metadata_messages import PartitionRegistration


@dataclass(frozen=True)
class PartitionChange:
    """A change of the record to this target. `may_lead` tells the active brokers; `unclean` are brokers that have
    registered anew after an unclean shutdown, which may have lost records. A fail-over is Kafka's Election.ONLINE.
    `knows_elr` is Kafka's eligibleLeaderReplicasEnabled; without it, the ELR is forgotten. With
    `changes_directory`, there is always a new record.
    """

    partition: PartitionRegistration
    may_lead: Callable[[int], bool]
    min_isr: int
    switches: Switches
    bug: Bug | None
    target_isr: frozenset[int]
    target: Assignment
    election: Election = Election.FAIL_OVER
    unclean: frozenset[int] = frozenset()
    knows_elr: bool = True
    changes_directory: bool = False

    def build(self) -> PartitionRegistration | None:
        """The new record, in a new partition epoch; None if nothing changes."""
        if is_complete(self.target, self.target_isr, self.switches, self.bug):
            isr, target = self.target_isr - self.target.removing, Assignment(self.target.target)
            return replace(self, target_isr=isr, target=target)._built()
        return self._built()

    def _built(self) -> PartitionRegistration | None:
        before = self.partition
        elr = self._elr()
        leader, is_unclean = self._elected(elr)
        is_new = leader != before.leader
        isr = self.target_isr
        if is_new and leader is not None and (is_unclean or leader in elr):
            isr, elr = frozenset({leader}), frozenset() if is_unclean else elr - {leader}
        elif not isr and not self.knows_elr:
            isr = before.isr  # the last member stays
        after = replace(
            before,
            replicas=self.target.replicas,
            leader=leader,
            leader_epoch=before.leader_epoch + (is_new or self._starts_an_epoch()),
            isr=isr,
            elr=elr if self.knows_elr else frozenset(),
            last_known_leader=self._last_known_leader(leader, isr),
            adding=self.target.adding,
            removing=self.target.removing,
        )
        is_same = after == before and not self.changes_directory
        return None if is_same else replace(after, partition_epoch=before.partition_epoch + 1)

    def _elr(self) -> frozenset[int]:
        """Who was in ISR or ELR stays eligible until the ISR is large enough. Kafka: maybePopulateTargetElr.

        Kafka does not ask whether they are replicas still.
        """
        if not self.knows_elr:
            return self.partition.elr
        if len(self.target_isr) >= self.min_isr:
            return frozenset()
        former = self.partition.elr | self.partition.isr
        trusted = former if self.bug is Bug.UNCLEAN_BROKER_KEEPS_ELIGIBILITY else former - self.unclean
        if self.switches.ELR_WITHIN_REPLICAS:
            trusted &= frozenset(self.target.replicas)
        return trusted - self.target_isr

    def _elected(self, elr: frozenset[int]) -> tuple[int | None, bool]:
        """The leader, and whether it may lack records. A valid leader stays, but for a preferred election; otherwise
        the first valid broker in assignment order leads; the last known leader if ISR and ELR are empty.
        """
        order, leader = self.target.replicas, self.partition.leader
        if self.election is Election.PREFERRED and self._is_valid(order[0], elr):
            return order[0], False
        if leader is not None and self._is_valid(leader, elr):
            return leader, False
        valid = next((each for each in order if self._is_valid(each, elr)), None)
        if valid is not None:
            return valid, False
        last = self.partition.last_known_leader
        if last is not None and self._may_last_known_leader_lead(last, elr):
            return last, True
        if self.election is Election.UNCLEAN:
            acceptable = next((each for each in order if self.may_lead(each)), None)
            return acceptable, acceptable is not None
        return None, False

    def _may_last_known_leader_lead(self, last: int, elr: frozenset[int]) -> bool:
        """Kafka: canElectLastKnownLeader. Up to 4.0 it need not be alive (KAFKA-19522)."""
        if not self.knows_elr or (self.switches.LAST_KNOWN_LEADER_IS_ACTIVE and not self.may_lead(last)):
            return False
        return not (elr or self.target_isr) or (self.bug is Bug.LAST_KNOWN_LEADER_TOO_EARLY and self.may_lead(last))

    def _is_valid(self, replica: int, elr: Iterable[int]) -> bool:
        """Kafka: isValidNewLeader. Who cannot be elected is not asked whether it is active."""
        return (replica in self.target_isr or (not self.target_isr and replica in elr)) and self.may_lead(replica)

    def _starts_an_epoch(self) -> bool:
        """A leader that stays enters a new epoch if a replica is removed, and before 3.6 if the ISR becomes smaller.
        Kafka: triggerLeaderEpochBumpIfNeeded.
        """
        if not set(self.partition.replicas) <= set(self.target.replicas):
            return self.bug is not Bug.REMOVAL_KEEPS_LEADER_EPOCH
        return self.switches.EPOCH_BUMP_ON_SHRINK and not self.partition.isr <= self.target_isr

    def _last_known_leader(self, leader: int | None, isr: frozenset[int]) -> int | None:
        """Kept from the first time that nobody leads until somebody does. Kafka: maybeUpdateLastKnownLeader."""
        before = self.partition
        if not self.knows_elr:
            return before.last_known_leader
        if leader is not None:
            return None
        return before.leader if before.leader is not None and not isr else before.last_known_leader
