"""Kafka's promises for a partition and to its consumers, and states that must be reachable."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.actions.alter_partition import controller_handles_alter_partition
from isrcheck.models.kafka.actions.clients import producer_is_refused
from isrcheck.models.kafka.actions.faults import broker_restarts
from isrcheck.models.kafka.actions.leader import leader_handles_fetch
from isrcheck.models.kafka.state.broker import (
    controllers_min_insync_replicas,
    is_controllers_leader,
    is_in_maximal_isr,
    is_live,
    is_not_fenced,
    presumes_leadership,
    reads_from,
)
from isrcheck.models.kafka.state.clients import (
    first_read,
    is_exposed,
    is_exposed_as_committed,
    is_read,
    is_record,
    last_stable_offset,
)
from isrcheck.models.kafka.state.controller import (
    is_active,
    is_assigned,
    is_out_of_service,
    members_without,
    nobody_is_valid,
)
from isrcheck.models.kafka.state.fields import alters_partitions
from isrcheck.models.kafka.state.log import holds_record
from isrcheck.models.kafka.state.values import (
    AutoOffsetReset,
    Controller,
    Failure,
    IsolationLevel,
    MaximalIsr,
    PositionCheck,
    ShrinkRule,
    Stop,
    TransactionState,
)
from isrcheck.models.language import NONE, always, always_step, sometimes
from isrcheck.models.log import has_entry, logs_match, same_entry

# --------------------------------------------------------------------------------------------- when nothing is promised


def data_was_given_up(s):
    """A fault occurred after which Kafka promises nothing: an unclean election, a power loss, or the loss of a disk."""
    return (
        s.unclean_elections_left < s.unclean_elections
        or s.power_losses_left < s.power_losses
        or s.disk_losses_left < s.disk_losses
    )


def nothing_was_promised(s):
    """The producer requested at most the leader's acknowledgement, or there was a fault with data loss."""
    return s.acks != Acks.ALL or data_was_given_up(s)


def failures(s):
    """The number of failures that KIP-966 counts: losses of data or, with claimed_failures=UNCLEAN_SHUTDOWN, every
    unclean shutdown."""
    losses = s.power_losses - s.power_losses_left + s.disk_losses - s.disk_losses_left
    losses += s.folder_deletions - s.folder_deletions_left
    return losses + (s.crashes - s.crashes_left if s.claimed_failures == Failure.UNCLEAN_SHUTDOWN else 0)


def least_min_insync_replicas(s):
    """The smallest value that min.insync.replicas has had up to this state."""
    least = s.min_insync_replicas
    for change in range(s.min_isr_changes):
        if s.changed_min_isr[change] > 0:
            least = min(least, s.changed_min_isr[change])
    return least


def more_failed_than_claimed(s):
    """KIP-966 claims nothing: acks is not all, an election was unclean, or the failures reach min.insync.replicas."""
    return (
        s.acks != Acks.ALL
        or s.unclean_elections_left < s.unclean_elections
        or failures(s) > min(least_min_insync_replicas(s), s.replicas) - 1
    )


def a_request_was_sent_again(s):
    """A producer without idempotence sent a request again (at-least-once delivery), or data was given up."""
    return (s.retries_left < s.retries and not s.enable_idempotence) or data_was_given_up(s)


def a_request_may_have_overtaken_another(s):
    """A producer without idempotence sent a request again and may have several requests in flight, so a later request
    may have arrived before (Kafka keeps the order only with one request in flight); or data was given up."""
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
    """The promises are checked at this broker. With KRaft, a broker that lost data is left out until it is back,
    because the controller may prefer other brokers until then."""
    return s.CONTROLLER == Controller.ZOOKEEPER or s.is_up[r] or s.stopped_by[r] != Stop.LOSS


def was_deleted(s, record):
    """A client has deleted the record: nothing is promised about it, even if a broker still shows it."""
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

    "All" means: all that were acknowledged (otherwise, a producer does not commit) and that no client has deleted.
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

    DeleteRecords is answered once the low watermark has reached the requested offset: what is answered as deleted stays
    deleted at every replica that was live at the time of the answer (KIP-107).
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
    """No record whose deletion was confirmed to a client can be read at the controller's leader (KIP-107)."""
    return all(s.log_start_offset[r] >= s.answered_deletion for r in range(s.replicas) if is_controllers_leader(s, r))


def holds_duplicates(s, r):
    return any(
        s.log_record[r][offset] == s.log_record[r][later]
        for offset in range(s.log_size)
        for later in range(s.log_size)
        if offset < later and is_record(s, s.log_record[r][offset])
    )


def is_new_at(s, r, offset):
    """The entry at this offset is the first copy of its record in this log."""
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
    """The controller's leader requests an ISR with this broker, while replicas are reassigned."""
    return s.reassignments > 0 and any(
        s.requested_isr[leader][r] for leader in range(s.replicas) if s.controller_leader == leader
    )


@always_step(applies=lambda configuration: configuration.CONTROLLER == Controller.KRAFT)
def elected_from_isr_or_elr(before, after):
    """An elected broker was in the ISR or in the ELR, unless the election is unclean, or the broker is the last known
    leader, or the change that elects it also lets it into the ISR and completes a reassignment."""
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
    """The partition has no leader only while no active broker is in the ISR or, if the ISR is empty, in the ELR."""
    return s.controller_leader != NONE or nobody_is_valid(s, NONE)


def may_end_the_wait(s, r):
    """The broker is not active, and can come back as the leader of a partition without a leader."""
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
    """A partition without a leader waits for a broker that can return: from ISR or ELR, or the last known leader.

    If no such broker existed, only an unclean election by hand would give the partition a leader again.
    """
    return s.controller_leader != NONE or any(may_end_the_wait(s, r) for r in range(s.replicas))


@always(applies=lambda configuration: configuration.reassignments > 0)
def leader_knows_the_reassignment(s):
    """A leader that has read all metadata records knows which replicas are assigned, and which are being added."""
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


# ------------------- Kafka's promises to a consumer: what it reads, what it skips, and how far it believes to be behind


def has_consumers(configuration):
    return configuration.consumers > 0


def a_position_was_reset(s):
    """A consumer skipped records, because auto.offset.reset is latest; or data was given up."""
    return data_was_given_up(s) or any(s.has_skipped[consumer] for consumer in range(s.consumers))


def data_was_lost_within_an_epoch(s):
    """There was a loss of power or of a disk: a leader can restart within its epoch, with less than it had."""
    return s.power_losses_left < s.power_losses or s.disk_losses_left < s.disk_losses


@always(permitted=data_was_given_up, applies=has_consumers)
def consumers_read_what_was_exposed(s):
    """What a consumer has read at an offset, from a leader or from a follower, is what a leader showed there first."""
    return all(
        s.consumed_record[consumer][offset] == first_read(s, offset)
        for consumer in range(s.consumers)
        for offset in range(s.log_size)
        if s.consumed_record[consumer][offset] != NONE and offset >= s.deleted_before
    )


@always(permitted=a_position_was_reset, applies=has_consumers)
def consumers_skip_nothing(s):
    """A consumer has read every readable record below its position, unless the record was deleted."""
    return all(
        s.consumed_record[consumer][offset] != NONE or not is_record(s, first_read(s, offset))
        for consumer in range(s.consumers)
        for offset in range(s.log_size)
        if s.deleted_before <= offset < s.position[consumer]
    )


@always_step(permitted=data_was_given_up, applies=has_consumers)
def lag_matches_isolation(before, after):
    """After a fetch, the lag of a consumer is the number of entries that it can still read at the broker that answered:
    the entries in the log below the high watermark or, with read_committed, below the last stable offset. If the
    consumer has read entries that the broker does not show, the lag is minus the number of these entries. Kafka:
    SubscriptionState.partitionLag."""
    return all(
        any(
            after.known_end_offset[consumer] - after.position[consumer] == entries_ahead(after, r, consumer)
            for r in range(after.replicas)
            if is_not_fenced(after, consumer, r) and reads_from(after, consumer, r)
        )
        for consumer in range(after.consumers)
        if has_fetched(before, after, consumer)
    )


def has_fetched(before, after, consumer):
    """The step answers a fetch of the consumer, with an entry or with a log end that is new to the consumer. A reset of
    the position, after which the epoch of the last entry is unknown, does not count as a fetch."""
    return after.known_end_offset[consumer] != before.known_end_offset[consumer] or (
        after.position[consumer] > before.position[consumer] and after.consumed_epoch[consumer] != NONE
    )


def entries_ahead(s, r, consumer):
    """The number of entries that the broker shows at or above the consumer's position, minus the number of entries
    below the position that the broker does not show."""
    return sum(1 for offset in range(s.log_size) if offset >= s.position[consumer] and is_shown(s, r, offset)) - sum(
        1
        for offset in range(s.log_size)
        if s.log_start_offset[r] <= offset < s.position[consumer] and not is_shown(s, r, offset)
    )


def is_shown(s, r, offset):
    """The broker `r` sends the entry at `offset` to consumers of the configured isolation level."""
    return is_exposed(s, r, offset) and (
        s.isolation_level == IsolationLevel.READ_UNCOMMITTED or offset < last_stable_offset(s, r)
    )


@always_step(
    permitted=data_was_given_up,
    applies=lambda c: c.consumers > 0 and c.auto_offset_reset == AutoOffsetReset.LATEST,
)
def latest_does_not_go_back(before, after):
    """A consumer that is reset to the log end does not go below a log end that it knew before (KAFKA-2334)."""
    return all(
        before.known_end_offset[consumer] <= after.position[consumer]
        for consumer in range(before.consumers)
        if after.has_skipped[consumer] and not before.has_skipped[consumer]
    )


@always(
    permitted=data_was_lost_within_an_epoch,
    applies=lambda c: c.consumers > 0 and c.POSITION_CHECK != PositionCheck.NONE,
)
def truncation_is_detected(s):
    """A consumer that knows the epoch of the controller's leader has read what the leader's log holds: if records that
    it had read were truncated, it has noticed (KIP-320), and continues at the common prefix or has reset its
    position."""
    return all(
        s.log_record[leader][offset] == s.consumed_record[consumer][offset]
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
        for consumer in range(s.consumers)
        if s.consumer_leader_epoch[consumer] == s.leader_epoch[leader] and not s.has_skipped[consumer]
        for offset in range(s.log_size)
        if s.log_start_offset[leader] <= offset < s.position[consumer]
        if s.consumed_record[consumer][offset] != NONE
    )


@sometimes(applies=has_consumers)
def a_consumer_catches_up(s):
    """A consumer's position has reached the end of the log that the consumer knows."""
    return any(0 < s.position[consumer] == s.known_end_offset[consumer] for consumer in range(s.consumers))


@sometimes(applies=lambda c: c.consumers > 0 and c.follower_fetching and c.replicas > 1 and c.records > 1)
def a_follower_shows_less_than_its_leader(s):
    """A consumer has read all that a follower shows, and the follower's high watermark is below the leader's."""
    return any(
        0 < s.position[consumer] == s.known_end_offset[consumer] < s.high_watermark[leader]
        for consumer in range(s.consumers)
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
    )


@sometimes(applies=lambda c: c.consumers > 0 and c.follower_fetching and c.replicas > 1)
def a_lag_is_negative(s):
    """A consumer has read more than the broker of its last fetch shows."""
    return any(s.known_end_offset[consumer] < s.position[consumer] for consumer in range(s.consumers))


@sometimes(applies=lambda c: c.consumers > 0 and c.delete_records > 0)
def a_consumer_is_out_of_range_of_a_log(s):
    """A client has deleted the record at a consumer's position."""
    return any(
        s.position[consumer] < s.log_start_offset[leader]
        for consumer in range(s.consumers)
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
    )


# ---------------------------------------------------------------------------------------------------------------- goals
#
# States and steps that must be reachable, to show that the model is not vacuous: what Kafka has to be able to do.


def can_commit(configuration):
    return configuration.acks != Acks.ALL or configuration.min_insync_replicas <= configuration.replicas


def can_write(configuration):
    """There is a record to write: at least one record is not in the logs from the start."""
    return configuration.records > configuration.common_records


def can_lose_a_broker(configuration):
    """The controller can give up on a broker: with ZooKeeper always, with KRaft after a fault, fencing or shutdown."""
    return configuration.CONTROLLER == Controller.ZOOKEEPER or bool(
        configuration.crashes
        or configuration.power_losses
        or configuration.disk_losses
        or configuration.fencings
        or configuration.shutdowns
    )


def can_fail_over(configuration):
    return (
        configuration.elections > 0
        and configuration.replicas > 1
        and (can_lose_a_broker(configuration) or configuration.preferred_elections > 0)
    )


@sometimes(applies=can_write)
def a_write_is_acknowledged(before, after):
    return any(after.acknowledged[record] and not before.acknowledged[record] for record in range(before.records))


@sometimes(applies=can_commit)
def a_committed_record_is_read(s):
    """The controller's leader runs, knows that it leads, and exposes a record."""
    return any(
        is_controllers_leader(s, leader) and is_read(s, leader, offset)
        for leader in range(s.replicas)
        for offset in range(s.log_size)
    )


@sometimes(applies=can_commit)
def a_record_is_exposed(s):
    return s.exposed_record[0] != NONE


@sometimes(applies=can_fail_over)
def a_new_leader_takes_over(s):
    return any(presumes_leadership(s, r) and s.leader_epoch[r] > 0 for r in range(s.replicas))


@sometimes(applies=lambda c: can_write(c) and can_commit(c) and can_fail_over(c))
def a_follower_truncates(before, after):
    return any(after.is_up[r] and after.log_end_offset[r] < before.log_end_offset[r] for r in range(before.replicas))


def can_leave_zombies(configuration):
    """A leader that still runs can have a successor. With KRaft, this takes a budget for fencings or preferred
    elections, or EPOCH_BUMP_ON_SHRINK."""
    return configuration.CONTROLLER == Controller.ZOOKEEPER or bool(
        configuration.fencings or configuration.preferred_elections or configuration.EPOCH_BUMP_ON_SHRINK
    )


@sometimes(
    applies=lambda c: (
        can_write(c)
        and c.acks == Acks.ALL
        and can_commit(c)
        and can_fail_over(c)
        and c.replicas > 2
        and can_leave_zombies(c)
    )
)
def a_zombie_acknowledges(before, after):
    """A leader that the controller has replaced acknowledges a record to a producer."""
    return any(
        after.acknowledged[record] and not before.acknowledged[record] and before.pending[record] == zombie
        for record in range(before.records)
        for zombie in range(before.replicas)
        if presumes_leadership(after, zombie) and after.leader_epoch[zombie] < after.controller_epoch
    )


@sometimes(applies=lambda c: c.replicas > 1)
def a_follower_joins_the_isr(before, after, taken):
    """A follower joins the ISR by a fetch; since 2.8, by the leader's AlterPartition request after the fetch."""
    return (taken == leader_handles_fetch or taken == controller_handles_alter_partition) and any(  # noqa: SIM109 - no `in`
        after.controller_isr[r] and not before.controller_isr[r] for r in range(before.replicas)
    )


@sometimes(
    applies=lambda c: (
        can_write(c) and c.acks == Acks.ALL and c.min_insync_replicas > 1 and (c.records > 1 or can_lose_a_broker(c))
    )
)
def a_producer_is_refused(before, after, taken):
    """A leader refuses a produce request with NOT_ENOUGH_REPLICAS, before anything is appended."""
    return taken == producer_is_refused


@sometimes(
    applies=lambda c: (
        can_write(c)
        and c.acks == Acks.ALL
        and 1 < c.min_insync_replicas <= c.replicas
        and not c.HW_MINISR_GATE
        and c.SHRINK_RULE != ShrinkRule.LAG_MESSAGES
    )
)
def an_appended_record_is_refused(before, after):
    """NOT_ENOUGH_REPLICAS_AFTER_APPEND: a record is committed, but its producer receives an error."""
    return any(
        before.pending[record] != NONE
        and after.pending[record] == NONE
        and not after.acknowledged[record]
        and any(after.exposed_record[offset] == record for offset in range(after.log_size))
        and not any(before.exposed_record[offset] == record for offset in range(after.log_size))
        for record in range(before.records)
    )


@sometimes(applies=lambda c: can_commit(c) and c.crashes > 0 and c.replicas > 1)
def a_restart_finds_a_stale_high_watermark(before, after, taken):
    return taken == broker_restarts and any(
        after.high_watermark[r] < before.high_watermark[r] for r in range(before.replicas)
    )


@sometimes(applies=lambda c: c.delete_records > 0 and can_commit(c) and c.records > 1 and c.log_size > 1)
def a_log_starts_above_zero(s):
    """A log start offset is above 0, and the log still has records."""
    return any(0 < s.log_start_offset[r] < s.log_end_offset[r] for r in range(s.replicas))


@sometimes(applies=lambda c: c.transactions > 0 and can_commit(c))
def an_open_transaction_holds_readers_back(s):
    """A replica's last stable offset is below its high watermark."""
    return any(last_stable_offset(s, r) < s.high_watermark[r] <= s.log_end_offset[r] for r in range(s.replicas))


@sometimes(applies=lambda c: c.retries > 0 and c.acks != Acks.ZERO and c.log_size > 1)
def a_request_is_sent_again(before, after):
    return after.retries_left < before.retries_left
