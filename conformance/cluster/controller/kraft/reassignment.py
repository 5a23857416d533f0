"""How a partition moves to other replicas. Kafka: PartitionReassignmentReplicas, PartitionReassignmentRevert.

In:  the assignment of the partition, and the replicas that an administrator wants.
Out: the assignment while the replicas are added and removed, the one after that, or the one before it.

A replica that is removed stays assigned until the reassignment completes. The ELR is not looked at. Source: Kafka's
classes of these names; for the completion, KAFKA-15665 and KAFKA-19975.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.switches import ReassignmentCompletion
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


def is_complete(assignment: Assignment, isr: frozenset[int], rule: ReassignmentCompletion, bug: Bug | None) -> bool:
    """Whether a reassignment is over, once this is the ISR. Kafka: maybeCompleteReassignment."""
    kept, target = isr - assignment.removing, frozenset(assignment.target)
    if not (assignment.adding or assignment.removing) or not kept or not target:
        return False
    if bug is Bug.REASSIGNMENT_COMPLETES_EARLY:
        return True
    if rule is ReassignmentCompletion.ALL_REPLICAS:
        return target <= kept
    has_fewer = rule is ReassignmentCompletion.ALL_REPLICAS_IF_FEWER and len(assignment.adding) < len(
        assignment.removing
    )
    return assignment.adding <= kept and (not has_fewer or target <= kept)


def reverted(present: Assignment) -> Assignment:
    """The assignment before the reassignment that is in progress. Kafka: PartitionReassignmentRevert."""
    return Assignment(tuple(each for each in present.replicas if each not in present.adding))
