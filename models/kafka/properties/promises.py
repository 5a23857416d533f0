"""Kafka's promises for a partition."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.broker.commit import is_in_maximal_isr
from isrcheck.models.kafka.state.broker.log import holds_record
from isrcheck.models.kafka.state.broker.min_isr import controllers_min_insync_replicas
from isrcheck.models.kafka.state.broker.record import (
    is_active,
    is_assigned,
    members_without,
    nobody_is_valid,
)
from isrcheck.models.kafka.state.broker.registration import is_out_of_service
from isrcheck.models.kafka.state.broker.roles import is_controllers_leader, is_live, presumes_leadership
from isrcheck.models.kafka.state.clients.readers import (
    first_read,
    is_exposed_as_committed,
    is_read,
    is_record,
    last_stable_offset,
)
from isrcheck.models.kafka.state.configuration import alters_partitions
from isrcheck.models.kafka.state.values import Controller, Failure, MaximalIsr, Stop, TransactionState
from isrcheck.models.language import NONE, always, always_step
from isrcheck.models.log import has_entry, logs_match, same_entry

# --------------------------------------------------------------------------------------------- when nothing is promised


def data_was_given_up(s):
    """The path contains a fault for which Kafka promises nothing: an unclean election, unflushed data, a lost disk."""
    return (
        s.unclean_elections_left < s.unclean_elections
        or s.power_losses_left < s.power_losses
        or s.disk_losses_left < s.disk_losses
    )


def nothing_was_promised(s):
    """The producer requested at most the leader's acknowledgement, or the path contains a fault with data loss."""
    return s.acks != Acks.ALL or data_was_given_up(s)


def failures(s):
    """What KIP-966 counts: losses of data or, with claimed_failures=UNCLEAN_SHUTDOWN, every unclean shutdown."""
    losses = s.power_losses - s.power_losses_left + s.disk_losses - s.disk_losses_left
    losses += s.folder_deletions - s.folder_deletions_left
    return losses + (s.crashes - s.crashes_left if s.claimed_failures == Failure.UNCLEAN_SHUTDOWN else 0)


def least_min_insync_replicas(s):
    """The smallest value that min.insync.replicas had on the path."""
    least = s.min_insync_replicas
    for change in range(s.min_isr_changes):
        if s.changed_min_isr[change] > 0:
            least = min(least, s.changed_min_isr[change])
    return least


def more_failed_than_claimed(s):
    """KIP-966 claims that min.insync.replicas - 1 failures lose nothing that was acknowledged with acks=all."""
    return (
        s.acks != Acks.ALL
        or s.unclean_elections_left < s.unclean_elections
        or failures(s) > min(least_min_insync_replicas(s), s.replicas) - 1
    )


def a_request_was_sent_again(s):
    """A producer sent a request again: without idempotence, a retry gives at-least-once delivery."""
    return (s.retries_left < s.retries and not s.enable_idempotence) or data_was_given_up(s)


def a_request_may_have_overtaken_another(s):
    """A request was sent again while a later one was in flight or had arrived: Kafka keeps the order only with one
    request in flight."""
    return (
        s.retries_left < s.retries and s.max_in_flight_requests > 1 and not s.enable_idempotence
    ) or data_was_given_up(s)


# ----------------------------------------------------------------------------------------------------------- properties


@always(permitted=data_was_given_up, every_length=True)
def offsets_ordered(s):
    """Log start offset <= last stable offset <= high watermark <= log end offset, on every replica."""
    return all(
        s.log_start_offset[r] <= last_stable_offset(s, r) <= s.high_watermark[r] <= s.log_end_offset[r]
        for r in range(s.replicas)
    )


def is_judged(s, r):
    """A broker that lost data and is down is not judged before it is back: until then, others may be preferred."""
    return s.CONTROLLER == Controller.ZOOKEEPER or s.is_up[r] or s.stopped_by[r] != Stop.LOSS


def was_deleted(s, record):
    """A client has deleted the record: nothing is promised about it any more, even if a broker still shows it."""
    return any(s.exposed_record[offset] == record for offset in range(s.log_size) if offset < s.deleted_before)


@always(permitted=nothing_was_promised)
def acked_not_lost(s):
    """The controller's leader holds every record that a producer regards as written, unless the record was deleted."""
    return all(
        holds_record(s, s.controller_leader, record) or was_deleted(s, record)
        for record in range(s.records)
        if s.acknowledged[record] and s.controller_leader != NONE and is_judged(s, s.controller_leader)
    )


@always(permitted=more_failed_than_claimed, applies=lambda configuration: configuration.ELR)
def tolerates_claimed_failures(s):
    """With ELR, nothing that was acknowledged is lost by fewer than min.insync.replicas failures (KIP-966)."""
    return all(
        holds_record(s, s.controller_leader, record) or was_deleted(s, record)
        for record in range(s.records)
        if s.acknowledged[record] and s.controller_leader != NONE and is_judged(s, s.controller_leader)
    )


@always(permitted=data_was_given_up)
def isr_is_complete(s):
    """Every member of the controller's ISR holds every entry that a leader has exposed and no client has deleted."""
    return all(
        s.log_record[member][offset] == s.exposed_record[offset]
        for member in range(s.replicas)
        if s.controller_isr[member] and is_judged(s, member)
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE and offset >= s.deleted_before
    )


@always(permitted=data_was_given_up)
def committed_agrees(s):
    """Replicas never differ at an offset below both their high watermarks and above the deleted records."""
    return all(
        same_entry(s, a, b, offset)
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
        for offset in range(s.log_size)
        if s.deleted_before <= offset < s.high_watermark[a] and offset < s.high_watermark[b]
        if has_entry(s, a, offset) and has_entry(s, b, offset)
    )


@always(permitted=data_was_given_up)
def log_matching(s):
    """Replicas with the same epoch at an offset have the same records up to that offset."""
    return logs_match(s)


@always(permitted=data_was_given_up)
def consistent_read(s):
    """All readers read the same record at an offset, namely the first that was readable there, until it is deleted."""
    return all(
        s.log_record[leader][offset] == first_read(s, offset)
        for leader in range(s.replicas)
        if presumes_leadership(s, leader)
        for offset in range(s.log_size)
        if offset >= s.deleted_before and is_read(s, leader, offset)
    )


def is_seen_as_committed(s, leader, record):
    """A read_committed reader of this leader receives the record."""
    return any(
        s.log_record[leader][offset] == record and is_exposed_as_committed(s, leader, offset)
        for offset in range(s.log_size)
    )


@always(permitted=data_was_given_up, applies=lambda configuration: configuration.transactions > 0)
def read_committed_is_atomic(s):
    """A read_committed reader sees all records of a transaction or none, and none of a transaction that was aborted.

    All records are those that were acknowledged (a producer does not commit otherwise) and that no client has deleted.
    """
    return all(
        is_seen_as_committed(s, leader, other) or was_deleted(s, other)
        for leader in range(s.replicas)
        if presumes_leadership(s, leader)
        for record in range(s.records)
        if s.transaction_of[record] != NONE and is_seen_as_committed(s, leader, record)
        for other in range(s.records)
        if s.acknowledged[other] and s.transaction_of[other] == s.transaction_of[record]
    ) and not any(
        s.transaction_state[transaction] == TransactionState.ABORTED
        for transaction in range(s.transactions)
        for offset in range(s.log_size)
        if s.read_committed_record[offset] != NONE and s.transaction_of[s.read_committed_record[offset]] == transaction
    )


def keeps_its_log(before, after, r):
    """The replica is live before and after the step, and the step is not its removal from the partition."""
    return is_live(before, r) and is_live(after, r) and (before.reassignments == 0 or after.leader[r] != NONE)


@always_step(permitted=data_was_given_up, applies=lambda configuration: configuration.delete_records > 0)
def low_watermark_is_minimum(before, after):
    """The low watermark is the minimum of the log starts of the live replicas, and no live replica falls below it.

    DeleteRecords is answered once the low watermark has reached its offset: what is answered as deleted stays deleted
    at every replica that was live then (KIP-107).
    """
    return all(
        any(
            is_live(before, b) and before.log_start_offset[b] <= after.log_start_offset[r]
            for b in range(before.replicas)
        )
        for r in range(before.replicas)
        if keeps_its_log(before, after, r)
    )


@always(permitted=data_was_given_up, applies=lambda c: c.delete_records > 0 and c.DELETION_IS_ANSWERED)
def deleted_records_stay_deleted(s):
    """Nothing that a client was told is deleted can be read at the controller's leader (KIP-107)."""
    return all(s.log_start_offset[r] >= s.answered_deletion for r in range(s.replicas) if is_controllers_leader(s, r))


def holds_duplicates(s, r):
    return any(
        s.log_record[r][offset] == s.log_record[r][later]
        for offset in range(s.log_size)
        for later in range(s.log_size)
        if offset < later and is_record(s, s.log_record[r][offset])
    )


def is_new_at(s, r, offset):
    """Whether the entry at this offset is the first copy of its record in this log."""
    return is_record(s, s.log_record[r][offset]) and not any(
        s.log_record[r][earlier] == s.log_record[r][offset] for earlier in range(s.log_size) if earlier < offset
    )


def holds_out_of_order(s, r):
    return any(
        s.log_record[r][later] < s.log_record[r][offset]
        for offset in range(s.log_size)
        for later in range(s.log_size)
        if offset < later and is_new_at(s, r, offset) and is_new_at(s, r, later)
    )


@always(permitted=a_request_was_sent_again)
def no_duplicates(s):
    """No record appears twice in the log of the controller's leader."""
    return not any(holds_duplicates(s, r) for r in range(s.replicas) if s.controller_leader == r)


@always(permitted=a_request_may_have_overtaken_another)
def order_preserved(s):
    """In the log of the controller's leader, records first appear in the order in which they were sent."""
    return not any(holds_out_of_order(s, r) for r in range(s.replicas) if s.controller_leader == r)


@always
def leader_in_isr(s):
    """The controller's leader is in the controller's ISR."""
    return all(s.controller_isr[r] for r in range(s.replicas) if s.controller_leader == r)


@always(applies=lambda configuration: configuration.reassignments > 0)
def isr_within_assigned(s):
    """Members of the ISR and of the ELR are assigned replicas: AR = ISR + OSR."""
    return all(
        s.is_assigned[r] or not (s.controller_isr[r] or s.eligible_leader_replicas[r]) for r in range(s.replicas)
    )


@always(permitted=data_was_given_up, applies=lambda configuration: configuration.ELR)
def elr_is_complete(s):
    """Every member of the ELR holds every entry that a leader has exposed and no client has deleted (KIP-966)."""
    return all(
        s.log_record[member][offset] == s.exposed_record[offset]
        for member in range(s.replicas)
        if s.eligible_leader_replicas[member] and is_judged(s, member)
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE and offset >= s.deleted_before
    )


@always(applies=lambda configuration: configuration.ELR)
def elr_fills_up_isr(s):
    """The ELR has no member of the ISR, and is empty while the ISR has min.insync.replicas members (KIP-966)."""
    return not any(
        s.eligible_leader_replicas[r]
        and (s.controller_isr[r] or members_without(s, NONE) >= controllers_min_insync_replicas(s))
        for r in range(s.replicas)
    )


@always(applies=lambda c: c.CONTROLLER == Controller.KRAFT and not c.RESTART_BEFORE_FENCING)
def isr_is_active(s):
    """No member of the ISR is fenced or shutting down (KIP-841); without ELR, its last member may be."""
    return not any(
        s.controller_isr[r] and not is_active(s, r) and (s.ELR or members_without(s, r) > 0) for r in range(s.replicas)
    )


def may_join_with_the_change(s, r):
    """The leader of record asks for an ISR with this broker, while replicas are reassigned."""
    return s.reassignments > 0 and any(
        s.requested_isr[leader][r] for leader in range(s.replicas) if s.controller_leader == leader
    )


@always_step(applies=lambda configuration: configuration.CONTROLLER == Controller.KRAFT)
def elected_from_isr_or_elr(before, after):
    """Whoever is elected was in the ISR or in the ELR, unless by an unclean election, as the last known leader, or by
    the change that lets it into the ISR and completes a reassignment."""
    return (
        after.controller_leader == before.controller_leader
        or after.controller_leader == NONE
        or after.unclean_elections_left < before.unclean_elections_left
        or after.controller_leader == before.last_known_leader
        or any(
            before.controller_isr[r] or before.eligible_leader_replicas[r] or may_join_with_the_change(before, r)
            for r in range(before.replicas)
            if after.controller_leader == r
        )
    )


@always(applies=lambda configuration: configuration.CONTROLLER == Controller.KRAFT)
def offline_only_if_nobody_is_valid(s):
    """The partition has no leader only while no active broker is in the ISR, nor in the ELR while the ISR is empty."""
    return s.controller_leader != NONE or nobody_is_valid(s, NONE)


def may_end_the_wait(s, r):
    """The broker is away and can come back as the leader of a partition that has none."""
    return (
        not is_active(s, r)
        and not is_out_of_service(s, r)
        and is_assigned(s, r)
        and (
            s.controller_isr[r]
            or (
                members_without(s, NONE) == 0
                and (
                    s.eligible_leader_replicas[r]
                    or (
                        s.last_known_leader == r
                        and not any(s.eligible_leader_replicas[other] for other in range(s.replicas))
                    )
                )
            )
        )
    )


@always(permitted=data_was_given_up, applies=lambda configuration: configuration.CONTROLLER == Controller.KRAFT)
def leaderless_partition_awaits_a_broker(s):
    """A partition without a leader waits for a broker that can return, of ISR or ELR, or the last known leader.

    Otherwise only an unclean election by hand gives it a leader again.
    """
    return s.controller_leader != NONE or any(may_end_the_wait(s, r) for r in range(s.replicas))


@always(applies=lambda configuration: configuration.reassignments > 0)
def leader_knows_the_reassignment(s):
    """A leader that has read everything, and knows of no newer change, knows which replicas are being added."""
    return all(
        s.knows_adding[leader][r] == s.is_adding[r] and s.knows_assigned[leader][r] == s.is_assigned[r]
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader) and s.metadata_position[leader] == s.controller_partition_epoch
        for r in range(s.replicas)
    )


def data_was_given_up_or_deleted(s):
    return data_was_given_up(s) or s.folder_deletions_left < s.folder_deletions


@always(
    permitted=data_was_given_up_or_deleted,
    applies=lambda c: alters_partitions(c) and c.MAXIMAL_ISR == MaximalIsr.COMMITTED_AND_PROPOSED,
)
def high_watermark_within_maximal_isr(s):
    """The high watermark of the controller's leader is never above the log end of a member of its maximal ISR."""
    return all(
        s.high_watermark[leader] <= s.log_end_offset[r]
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
        for r in range(s.replicas)
        if is_in_maximal_isr(s, leader, r) and s.is_up[r]
    )


@always
def one_leader_per_epoch(s):
    """No two brokers presume leadership in the same epoch."""
    return not any(
        presumes_leadership(s, a) and presumes_leadership(s, b) and s.leader_epoch[a] == s.leader_epoch[b]
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
    )


@always_step(every_length=True)
def high_watermark_monotonic(before, after):
    """A high watermark never falls while its broker leads one epoch without a restart.

    Followers and restarts are exempt: Kafka allows their high watermarks to fall.
    """
    return all(
        after.high_watermark[r] >= before.high_watermark[r]
        for r in range(before.replicas)
        if presumes_leadership(before, r)
        and presumes_leadership(after, r)
        and before.leader_epoch[r] == after.leader_epoch[r]
    )
