"""How a partition moves to other replicas. Kafka: PartitionReassignmentReplicas, PartitionReassignmentRevert.

In:  the assignment of the partition, and the replicas that an administrator wants.
Out: the assignment while the replicas are added and removed, the one after that, or the one before it.

A replica that is removed stays assigned until the reassignment completes. The ELR is not looked at. Source: Kafka's
classes of these names; for the completion, KAFKA-15665 and KAFKA-19975.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.network.metadata_messages import PartitionRegistration


@dataclass(frozen=True)
class Assignment:
    """The assigned replicas in order, and those of them that are added and removed."""

    replicas: tuple[int, ...]
    adding: frozenset[int] = frozenset()
    removing: frozenset[int] = frozenset()

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that stay."""
        return tuple(each for each in self.replicas if each not in self.removing)


def assignment_of(partition: PartitionRegistration) -> Assignment:
    """The present assignment of a partition."""
    return Assignment(partition.replicas, partition.adding, partition.removing)


def begun(present: Assignment, wanted: tuple[int, ...]) -> Assignment:
    """The assignment with which a reassignment to the wanted replicas begins. Kafka: changePartitionReassignment.

    What an unfinished reassignment adds or removes is kept if the new one adds or removes nothing: a replica can then
    be in both sets.
    """
    removing = frozenset(present.replicas) - frozenset(wanted)
    adding = frozenset(wanted) - frozenset(present.replicas)
    return Assignment((*wanted, *sorted(removing)), adding or present.adding, removing or present.removing)


def is_complete(assignment: Assignment, isr: frozenset[int], switches: Switches, bug: Bug | None) -> bool:
    """Whether a reassignment is over, once this is the ISR: the added replicas are in it, and so are the others that
    stay; up to 3.7 without the others (KAFKA-15665), since 4.3 without them unless it removes more replicas than it
    adds (KAFKA-19975). Kafka: maybeCompleteReassignment.
    """
    kept, target = isr - assignment.removing, frozenset(assignment.target)
    if not (assignment.adding or assignment.removing) or not kept or not target:
        return False
    if bug is Bug.REASSIGNMENT_COMPLETES_EARLY:
        return True
    has_fewer = len(assignment.adding) < len(assignment.removing)
    if switches.REASSIGNED_WITHOUT_THE_OTHERS or (switches.REASSIGNED_ONCE_ADDED and not has_fewer):
        return assignment.adding <= kept
    return target <= kept and (not switches.REASSIGNED_ONCE_ADDED or assignment.adding <= kept)


def reverted(present: Assignment) -> Assignment:
    """The assignment before the reassignment that is in progress. Kafka: PartitionReassignmentRevert."""
    return Assignment(tuple(each for each in present.replicas if each not in present.adding))
