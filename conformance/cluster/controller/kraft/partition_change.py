"""How a KRaft controller changes the record of the partition. Kafka: PartitionChangeBuilder.

In:  the record, the ISR that it is to have, who may lead.
Out: the new record, or None if nothing changes.

The controller never compares logs. Source: fact sheet, sections 4.6, 4.7, 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.metadata_messages import PartitionRegistration


@dataclass(frozen=True)
class PartitionChange:
    """A change of the record to this target. `may_lead` tells the active brokers; `unclean` are brokers that have
    registered anew after an unclean shutdown, which may have lost records. A fail-over is Kafka's Election.ONLINE.
    """

    partition: PartitionRegistration
    may_lead: Callable[[int], bool]
    min_isr: int
    switches: Switches
    bug: Bug | None
    target_isr: frozenset[int]
    target_replicas: tuple[int, ...]
    election: Election = Election.FAIL_OVER
    unclean: frozenset[int] = frozenset()

    def build(self) -> PartitionRegistration | None:
        """The new record, in a new partition epoch; None if nothing changes."""
        before = self.partition
        elr = self._elr()
        leader, is_unclean = self._elected(elr)
        is_new = leader != before.leader
        isr = self.target_isr
        if is_new and leader is not None and (is_unclean or leader in elr):
            isr, elr = frozenset({leader}), frozenset() if is_unclean else elr - {leader}
        elif not isr and not self.switches.ELR:
            isr = before.isr  # the last member stays
        after = replace(
            before,
            replicas=self.target_replicas,
            leader=leader,
            leader_epoch=before.leader_epoch + (is_new or self._starts_an_epoch()),
            isr=isr,
            elr=elr,
            last_known_leader=self._last_known_leader(leader, isr),
        )
        return None if after == before else replace(after, partition_epoch=before.partition_epoch + 1)

    def _elr(self) -> frozenset[int]:
        """Who was in ISR or ELR stays eligible until the ISR is large enough. Kafka: maybePopulateTargetElr."""
        if not self.switches.ELR or len(self.target_isr) >= self.min_isr:
            return frozenset()
        former = self.partition.elr | self.partition.isr
        trusted = former if self.bug is Bug.UNCLEAN_BROKER_KEEPS_ELIGIBILITY else former - self.unclean
        return (trusted & set(self.target_replicas)) - self.target_isr

    def _elected(self, elr: frozenset[int]) -> tuple[int | None, bool]:
        """The leader, and whether it may lack records. A valid leader stays, but for a preferred election; otherwise
        the first valid broker in assignment order leads; the last known leader if ISR and ELR are empty.
        """
        order, leader = self.target_replicas, self.partition.leader
        valid = [each for each in order if self._is_valid(each, elr)]
        if self.election is Election.PREFERRED and order[0] in valid:
            return order[0], False
        if leader in valid:
            return leader, False
        if valid:
            return valid[0], False
        last = self.partition.last_known_leader
        nobody = not elr and not self.target_isr
        if self.switches.ELR and nobody and last is not None and self.may_lead(last):
            return last, True
        if self.bug is Bug.LAST_KNOWN_LEADER_TOO_EARLY and last is not None and self.may_lead(last):
            return last, True
        acceptable = [each for each in order if self.may_lead(each)]
        if self.election is Election.UNCLEAN and acceptable:
            return acceptable[0], True
        return None, False

    def _is_valid(self, replica: int, elr: Iterable[int]) -> bool:
        return self.may_lead(replica) and (replica in self.target_isr or (not self.target_isr and replica in elr))

    def _starts_an_epoch(self) -> bool:
        """A leader that stays enters a new epoch if a replica is removed, and before 3.6 if the ISR becomes smaller.
        Kafka: triggerLeaderEpochBumpIfNeeded.
        """
        if not set(self.partition.replicas) <= set(self.target_replicas):
            return self.bug is not Bug.REMOVAL_KEEPS_LEADER_EPOCH
        return self.switches.EPOCH_BUMP_ON_SHRINK and not self.partition.isr <= self.target_isr

    def _last_known_leader(self, leader: int | None, isr: frozenset[int]) -> int | None:
        """Kept from the first time that nobody leads until somebody does. Kafka: maybeUpdateLastKnownLeader."""
        if not self.switches.ELR or leader is not None:
            return None
        return self.partition.leader if self.partition.leader is not None and not isr else self._kept()

    def _kept(self) -> int | None:
        last = self.partition.last_known_leader
        return None if last not in self.target_replicas else last
