"""min.insync.replicas: a record of the metadata log, which the controller counts at once, and each broker once it has
read it. Both limit it by a number of replicas.
"""


def min_insync_replicas_after(s, changes):
    """min.insync.replicas after so many changes."""
    minimum = s.min_insync_replicas
    if s.min_isr_changes > 0:
        for change in range(s.min_isr_changes):
            if change < changes:
                minimum = s.changed_min_isr[change]
    return minimum


def known_min_insync_replicas(s, broker):
    """min.insync.replicas as far as the broker has read the metadata log."""
    return (
        min_insync_replicas_after(s, s.min_isr_changes_read[broker]) if s.min_isr_changes > 0 else s.min_insync_replicas
    )


def known_replicas(s, leader):
    """How many replicas the leader knows of, with those that are added or removed."""
    return sum(1 for r in range(s.replicas) if s.knows_assigned[leader][r]) if s.reassignments > 0 else s.replicas


def effective_min_insync_replicas(s, leader):
    """The raw number before 3.7; since then at most the number of replicas. Kafka: Partition.effectiveMinIsr."""
    known = known_min_insync_replicas(s, leader)
    return min(known, known_replicas(s, leader)) if s.HW_MINISR_GATE else known


def present_min_insync_replicas(s):
    """min.insync.replicas by the last record of the metadata log. With RAISED_MIN_ISR_AWAITS_BROKERS, at most what
    every running broker knows."""
    present = min_insync_replicas_after(s, s.min_isr_changes - s.min_isr_changes_left)
    if s.RAISED_MIN_ISR_AWAITS_BROKERS:
        for r in range(s.replicas):
            if s.is_up[r]:
                present = min(present, known_min_insync_replicas(s, r))
    return present


def counted_replicas(s):
    """The replicas that limit the controller's min.insync.replicas: those of partition 0 of the topic, with those that
    are added or removed. Kafka: ReplicationControlManager.getTopicEffectiveMinIsr.
    """
    if s.replicas_of_partition_0 > 0 and not s.MIN_ISR_OF_OWN_REPLICAS:
        return s.replicas_of_partition_0
    return sum(1 for r in range(s.replicas) if s.is_assigned[r]) if s.reassignments > 0 else s.replicas


def controllers_min_insync_replicas(s):
    return min(present_min_insync_replicas(s), counted_replicas(s))
