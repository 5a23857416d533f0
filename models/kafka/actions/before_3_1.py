"""How a leader heard the answer to AlterPartition before 3.1: after a shrink of the ISR, the high watermark rose only
at the next fetch or append (KAFKA-13091). Only `kafka_liveness` has this rule; for the promises of the model `kafka`,
it makes no difference."""

from isrcheck.models.kafka.state.broker import advance_high_watermark, clear_request, forget_proposal, is_pending
from isrcheck.models.kafka.state.fields import AlteringReplica
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.language import action, require


@action(shows="{leader}")
def leader_hears_answer(s, leader: AlteringReplica):
    """The leader commits or drops its pending change of the ISR. Kafka: Partition.handleAlterIsrResponse."""
    require(
        s.alter_partition[leader] == AlterPartition.ACCEPTED or s.alter_partition[leader] == AlterPartition.INELIGIBLE
    )
    if is_pending(s, leader):
        is_smaller = any(s.isr[leader][r] and not s.proposed_isr[leader][r] for r in range(s.replicas))
        if s.alter_partition[leader] == AlterPartition.ACCEPTED:
            for r in range(s.replicas):
                s.isr[leader][r] = s.requested_isr[leader][r]
            s.partition_epoch[leader] = s.requested_partition_epoch[leader] + 1
        forget_proposal(s, leader)
        if not is_smaller:
            advance_high_watermark(s, leader)
    clear_request(s, leader)
