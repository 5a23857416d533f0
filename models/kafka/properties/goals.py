"""States and steps that must be reachable, to show that the model is not vacuous: what Kafka has to be able to do."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.actions.alter_partition import controller_handles_alter_partition
from isrcheck.models.kafka.actions.clients import producer_is_refused
from isrcheck.models.kafka.actions.faults import broker_restarts
from isrcheck.models.kafka.actions.leader import leader_handles_fetch
from isrcheck.models.kafka.state.broker import is_controllers_leader, presumes_leadership
from isrcheck.models.kafka.state.clients import is_read, last_stable_offset
from isrcheck.models.kafka.state.values import Controller, ShrinkRule
from isrcheck.models.language import NONE, sometimes


def can_commit(configuration):
    return configuration.acks != Acks.ALL or configuration.min_insync_replicas <= configuration.replicas


def can_write(configuration):
    """Not every record is one that all replicas hold from the start."""
    return configuration.records > configuration.common_records


def can_lose_a_broker(configuration):
    """The controller can give up on a broker: with ZooKeeper on any, with KRaft if a session can expire."""
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
    """A leader that lives can have a successor. With KRaft, only budgets allow it, or a leader epoch of its own ISR."""
    return configuration.CONTROLLER == Controller.ZOOKEEPER or bool(
        configuration.fencings or configuration.preferred_elections or configuration.EPOCH_BUMP_ON_SHRINK
    )


@sometimes(
    applies=lambda c: (
        c.acks == Acks.ALL and can_commit(c) and can_fail_over(c) and c.replicas > 2 and can_leave_zombies(c)
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
    """A fetch brings a follower into the ISR; since 2.8, the leader's request that follows it."""
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
        c.acks == Acks.ALL
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
    """A last stable offset is below its high watermark."""
    return any(last_stable_offset(s, r) < s.high_watermark[r] <= s.log_end_offset[r] for r in range(s.replicas))


@sometimes(applies=lambda c: c.retries > 0 and c.acks != Acks.ZERO and c.log_size > 1)
def a_request_is_sent_again(before, after):
    return after.retries_left < before.retries_left
