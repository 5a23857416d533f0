"""Lemmas about which replicas hold entries that may be committed, and about exposed and acknowledged records; see
lemmas.py."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.properties.lemmas import (
    RECORD,
    elects_cleanly_with_kraft,
    has,
    is_choice,
    is_undecided,
    is_yet_to_lead,
    joins_isr_with_all,
    leads,
    leads_or_will,
    may_be_trusted,
    may_lead_after,
)
from isrcheck.models.kafka.properties.lemmas_log import coming_epoch, coming_record, has_agreed, keeps, will_be_same
from isrcheck.models.kafka.state.broker.roles import is_controllers_leader, presumes_leadership
from isrcheck.models.language import NONE, lemma

# ---------------------------------------------------------------------------------------- entries that may be committed


def keeps_offsets(s, leader, epoch, later):
    """The leader keeps its knowledge of its followers from one epoch through its re-elections up to the later epoch."""
    return later == epoch or (
        s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
        and all(s.metadata_leader[between] == leader for between in range(s.elections + 1) if epoch < between <= later)
    )


def may_yet_fetch(s, follower, leader, epoch):
    """The follower has heard of no later leader: it can still fetch from this leader in this epoch, perhaps after a
    restart, or in a later epoch in which the leader keeps its knowledge."""
    return any(
        s.controller_epoch == later or (s.is_up[follower] and s.leader_epoch[follower] <= later)
        for later in range(s.elections + 1)
        if later >= epoch and keeps_offsets(s, leader, epoch, later)
    )


def is_known_to_hold(s, follower, leader, epoch, offset):
    """The leader of this epoch relies, now or later, on a fetch by the follower from an offset above this one."""
    return offset < s.remote_log_end_offset[leader][follower] and (
        leads(s, leader, epoch) or s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
    )


def may_commit_with(s, leader, epoch, choice, offset):
    """Every member of this ISR is known to hold the leader's entry at this offset, or may still fetch it."""
    return is_choice(s, leader, epoch, choice) and all(
        r == leader or is_known_to_hold(s, r, leader, epoch, offset) or may_yet_fetch(s, r, leader, epoch)
        for r in range(s.replicas)
        if has(s, leader, epoch, choice, r)
    )


def may_commit(s, leader, epoch, offset):
    return any(may_commit_with(s, leader, epoch, choice, offset) for choice in range(s.partition_changes + 1 + RECORD))


def holds_entry_of(s, r, leader, offset):
    return (
        s.log_record[leader][offset] != NONE
        and s.log_record[r][offset] == s.log_record[leader][offset]
        and s.log_epoch[r][offset] == s.log_epoch[leader][offset]
        and keeps(s, r, offset)
    )


@lemma(applies=joins_isr_with_all)
def a_leader_knows_what_followers_have_fetched(s):
    """A known offset lies within the leader's log; a running follower with a known offset has been in the leader's
    epoch, or in an earlier epoch from which the leader kept its knowledge."""
    return all(
        follower != leader
        and s.remote_log_end_offset[leader][follower] <= s.log_end_offset[leader]
        and (
            s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
            or not has_agreed(s, follower, leader)
            or s.remote_log_end_offset[leader][follower] <= s.log_end_offset[follower]
        )
        and (
            not s.is_up[follower]
            or s.leader_epoch[follower] >= s.leader_epoch[leader]
            or (
                s.leader[follower] == leader
                and keeps_offsets(s, leader, s.leader_epoch[follower], s.leader_epoch[leader])
            )
        )
        for leader in range(s.replicas)
        for follower in range(s.replicas)
        if s.remote_log_end_offset[leader][follower] != NONE
    )


@lemma(applies=joins_isr_with_all)
def followers_hold_what_may_be_committed(s):
    """A follower keeps an entry that it fetched as long as its leader may commit the entry: later leaders then hold it
    as well, so no truncation removes it."""
    return all(
        holds_entry_of(s, follower, leader, offset)
        for leader in range(s.replicas)
        for epoch in range(s.elections + 1)
        for choice in range(s.partition_changes + 1 + RECORD)
        for offset in range(s.log_size)
        if may_commit_with(s, leader, epoch, choice, offset)
        for follower in range(s.replicas)
        if has(s, leader, epoch, choice, follower) and is_known_to_hold(s, follower, leader, epoch, offset)
    )


@lemma(applies=joins_isr_with_all)
def later_leaders_hold_what_may_be_committed(s):
    """A broker that leads, or may lead, after another leader holds every entry that the earlier leader, zombie or not,
    may commit; or it has not heard of the earlier epoch yet, and the earlier leader waits for it.

    A later leader holds the entry from before its own epoch: a follower that joins the ISR has everything up to the
    start of the epoch (KAFKA-7128).
    """
    return all(
        (
            may_yet_fetch(s, r, leader, epoch)
            or (
                holds_entry_of(s, r, leader, offset)
                and presumes_leadership(s, leader)
                and (leads(s, leader, epoch) or s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER)
            )
        )
        and (not presumes_leadership(s, r) or s.leader_epoch[r] <= epoch or offset < s.epoch_start_offset[r])
        for leader in range(s.replicas)
        for epoch in range(s.elections + 1)
        if leads_or_will(s, leader, epoch)
        for r in range(s.replicas)
        if r != leader and may_lead_after(s, r, leader, epoch)
        for offset in range(s.log_size)
        if may_commit(s, leader, epoch, offset)
    )


@lemma(applies=lambda configuration: joins_isr_with_all(configuration) and elects_cleanly_with_kraft(configuration))
def who_is_proposed_has_caught_up(s):
    """A leader proposes a follower only if it has fetched everything from before the leader's epoch, and everything
    that the leader has exposed; such a follower has heard of the epoch."""
    return all(
        s.remote_log_end_offset[leader][r] >= s.epoch_start_offset[leader]
        and s.remote_log_end_offset[leader][r] >= s.high_watermark[leader]
        for leader in range(s.replicas)
        for r in range(s.replicas)
        if r != leader and s.proposed_isr[leader][r] and not s.isr[leader][r]
    ) and all(
        s.leader_epoch[r] == s.controller_epoch
        for leader in range(s.replicas)
        if is_undecided(s, leader)
        for r in range(s.replicas)
        if s.requested_isr[leader][r] and not s.controller_isr[r] and s.is_up[r]
    )


# ------------------------------------------------------------------------------------------------------ exposed entries


def is_known_exposed(s, r, offset):
    """The offset lies below this broker's high watermark, or below a high watermark that is in flight to the broker."""
    return offset < s.high_watermark[r] or (
        coming_record(s, r, offset) != NONE
        and any(offset < s.response_high_watermark[r][leader] for leader in range(s.replicas))
    )


def nothing_was_exposed_in(s, epoch):
    """The leader of this epoch, if any, exposed nothing: it waits for an ISR member that has not heard of the epoch."""
    return any(
        may_be_trusted(s, r) or any(is_yet_to_lead(s, r, later) for later in range(s.elections + 1) if later >= epoch)
        for r in range(s.replicas)
        if s.is_up[r] and s.leader_epoch[r] < epoch
    )


def nothing_was_exposed_between(s, epoch, later):
    """Nothing was exposed after `epoch`, up to and including `later`."""
    return all(nothing_was_exposed_in(s, between) for between in range(s.elections + 1) if epoch < between <= later)


@lemma(applies=joins_isr_with_all)
def high_watermarks_are_exposed(s):
    """No high watermark, at a broker or in flight, is above what a leader has exposed or above the log end: a broker
    never truncates entries that it knows to be exposed."""
    return all(
        s.high_watermark[r] <= s.log_end_offset[r]
        and not any(
            is_known_exposed(s, r, offset)
            and (s.exposed_record[offset] != coming_record(s, r, offset) or not keeps(s, r, offset))
            for offset in range(s.log_size)
        )
        for r in range(s.replicas)
    )


@lemma(applies=joins_isr_with_all)
def leaders_hold_what_followers_know(s):
    """An entry that a broker knows to be exposed was exposed up to its own epoch: its leader holds the entry, and so
    does every leader after the last one that exposed any such entry."""
    return all(
        s.log_record[leader][offset] == s.exposed_record[offset]
        and s.log_epoch[leader][offset] == coming_epoch(s, r, offset)
        and keeps(s, leader, offset)
        for leader in range(s.replicas)
        for epoch in range(s.elections + 1)
        if leads_or_will(s, leader, epoch)
        for r in range(s.replicas)
        if s.is_up[r] and nothing_was_exposed_between(s, epoch, s.leader_epoch[r])
        for offset in range(s.log_size)
        if is_known_exposed(s, r, offset)
    )


def leads_since_the_last_exposure(s, r):
    """The broker leads, or will lead, and no leader of a later epoch has exposed anything."""
    return any(
        leads_or_will(s, r, epoch) and nothing_was_exposed_between(s, epoch, s.controller_epoch)
        for epoch in range(s.elections + 1)
    )


def needs_what_was_exposed(s, r):
    """The broker leads after the last exposure, or may be elected."""
    return leads_since_the_last_exposure(s, r) or may_be_trusted(s, r)


@lemma(applies=joins_isr_with_all)
def leaders_hold_what_was_exposed(s):
    """Every leader after the last one that exposed an entry holds all exposed entries, and so does whoever may be
    elected."""
    return all(
        s.log_record[r][offset] == s.exposed_record[offset] and keeps(s, r, offset)
        for r in range(s.replicas)
        if needs_what_was_exposed(s, r)
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE
    )


@lemma(applies=joins_isr_with_all)
def what_was_exposed_is_one_entry(s):
    """All replicas that hold an exposed entry hold the same copy, with one epoch, even if the record was sent again."""
    return all(
        will_be_same(s, a, b, offset)
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE
        and (is_known_exposed(s, a, offset) or needs_what_was_exposed(s, a))
        and (is_known_exposed(s, b, offset) or needs_what_was_exposed(s, b))
    )


@lemma(applies=joins_isr_with_all)
def who_joins_the_isr_holds_what_was_exposed(s):
    """Every exposed entry lies below the high watermark of the controller's leader or below the start of its epoch, the
    two offsets that a follower has to reach to join the ISR (KAFKA-7128)."""
    return all(
        offset < s.high_watermark[leader] or offset < s.epoch_start_offset[leader]
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE
    )


@lemma(applies=lambda configuration: joins_isr_with_all(configuration) and configuration.acks == Acks.ALL)
def acknowledged_records_are_exposed(s):
    """With acks=all, a producer waits at a leader that holds its record, and is answered once the high watermark is
    above the record."""
    return all(
        any(s.exposed_record[offset] == record for offset in range(s.log_size))
        for record in range(s.records)
        if s.acknowledged[record]
    ) and all(
        any(s.log_record[leader][offset] == record for offset in range(s.log_size))
        for record in range(s.records)
        for leader in range(s.replicas)
        if s.pending[record] == leader
    )
