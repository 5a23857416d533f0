"""Lemmas about the contents of logs, the responses in flight to them, and the epoch caches; see lemmas.py."""

from isrcheck.models.kafka.actions.diverging import shared_end_offset
from isrcheck.models.kafka.properties.lemmas import (
    announced_leader,
    appends_once,
    elects_cleanly,
    elects_cleanly_with_kraft,
    is_kept,
    is_yet_to_lead,
    keeps_what_is_written,
    leads,
    leads_or_will_again,
    sends_once,
)
from isrcheck.models.kafka.state.broker.epochs import largest_epoch_up_to
from isrcheck.models.kafka.state.broker.roles import follows, presumes_leadership
from isrcheck.models.kafka.state.clients.readers import is_record
from isrcheck.models.kafka.state.values import Fetch, Truncation
from isrcheck.models.language import NONE, lemma

# -------------------------------------------------------------------------- logs, now and after the responses in flight


def coming_record(s, r, offset):
    """The record at this offset now, or after the response in flight to this broker is applied."""
    record = s.log_record[r][offset]
    for leader in range(s.replicas):
        record = max(record, s.response_record[r][leader][offset])
    return record


def coming_epoch(s, r, offset):
    epoch = s.log_epoch[r][offset]
    for leader in range(s.replicas):
        epoch = max(epoch, s.response_epoch[r][leader][offset])
    return epoch


def will_be_same(s, a, b, offset):
    """Both replicas hold, or will hold, the same entry at this offset, or neither holds an entry."""
    return coming_record(s, a, offset) == coming_record(s, b, offset) and coming_epoch(s, a, offset) == coming_epoch(
        s, b, offset
    )


def holds_what_comes_to(s, holder, r, offset):
    """The holder has the entry that the replica `r` holds, or will hold, at this offset."""
    return s.log_record[holder][offset] == coming_record(s, r, offset) and s.log_epoch[holder][offset] == coming_epoch(
        s, r, offset
    )


def is_coming(s, epoch):
    """Some broker holds, or will hold, an entry of this epoch."""
    return any(coming_epoch(s, r, offset) == epoch for r in range(s.replicas) for offset in range(s.log_size))


def has_agreed(s, follower, leader):
    """The follower has found out which part of its log it shares with its leader's, and dropped the rest.

    With truncation on fetch, it has if a fetch in this epoch was served.
    """
    if s.TRUNC != Truncation.ON_FETCH:
        return follower != leader and follows(s, follower, leader) and not s.is_truncating[follower]
    return follower != leader and (
        (
            follows(s, follower, leader)
            and (s.fetch[follower][leader] == Fetch.PARKED or s.fetch[follower][leader] == Fetch.ANSWERED)
        )
        or (
            s.remote_log_end_offset[leader][follower] != NONE
            and s.leader_epoch[leader] == (s.leader_epoch[follower] if s.is_up[follower] else s.controller_epoch)
        )
    )


def keeps(s, r, offset):
    """No diverging response is in flight that makes the broker truncate its entry at this offset."""
    return s.TRUNC != Truncation.ON_FETCH or not any(
        s.fetch[r][leader] == Fetch.DIVERGING and shared_end_offset(s, r, leader) <= offset
        for leader in range(s.replicas)
    )


@lemma(applies=keeps_what_is_written)
def logs_end_at_their_end_offset(s):
    """A log has an entry at every offset below its end, none above, and only epochs that its broker has heard of."""
    return all(
        (s.log_record[r][offset] != NONE) == (offset < s.log_end_offset[r])
        and (s.log_epoch[r][offset] != NONE) == (offset < s.log_end_offset[r])
        and s.log_epoch[r][offset] <= (s.leader_epoch[r] if s.is_up[r] else s.controller_epoch)
        for r in range(s.replicas)
        for offset in range(s.log_size)
    )


@lemma(applies=elects_cleanly)
def fetches_end_with_the_epoch(s):
    """A follower has at most one outstanding fetch: at its leader, from its current log end.

    While the fetch is parked, the leader leads the follower's epoch and has everything that the follower has. A broker
    that hears of another epoch, or goes down, abandons its fetch. Fields without meaning are cleared.
    """
    return all(
        not s.is_truncating[follower]
        and follower != leader
        and follows(s, follower, leader)
        and s.fetch_offset[follower][leader] == s.log_end_offset[follower]
        and (
            s.fetch[follower][leader] == Fetch.ANSWERED
            or (
                s.response_high_watermark[follower][leader] == 0
                and (
                    s.fetch[follower][leader] == Fetch.DIVERGING
                    or (
                        leads(s, leader, s.leader_epoch[follower])
                        and s.log_end_offset[follower] <= s.log_end_offset[leader]
                    )
                )
            )
        )
        if s.fetch[follower][leader] != Fetch.NONE
        else s.fetch_offset[follower][leader] == 0 and s.response_high_watermark[follower][leader] == 0
        for follower in range(s.replicas)
        for leader in range(s.replicas)
    )


@lemma
def responses_begin_at_the_offset_of_the_fetch(s):
    """A response contains nothing below the fetch offset, so it fits the log of the follower that sent the fetch."""
    return all(
        s.response_record[follower][leader][offset] == NONE
        or (s.fetch[follower][leader] == Fetch.ANSWERED and s.fetch_offset[follower][leader] <= offset)
        for follower in range(s.replicas)
        for leader in range(s.replicas)
        for offset in range(s.log_size)
    )


@lemma(applies=elects_cleanly)
def responses_start_where_the_log_ends(s):
    """A response contains entries from the fetch offset on without a gap, each from an epoch that the follower has
    heard of."""
    return all(
        (s.response_record[follower][leader][offset] == NONE) == (s.response_epoch[follower][leader][offset] == NONE)
        and (
            s.response_record[follower][leader][offset] == NONE
            or (
                s.fetch[follower][leader] == Fetch.ANSWERED
                and s.response_epoch[follower][leader][offset] <= s.leader_epoch[follower]
                and s.fetch_offset[follower][leader] <= offset
                and not any(
                    s.response_record[follower][leader][earlier] == NONE
                    for earlier in range(s.log_size)
                    if s.fetch_offset[follower][leader] <= earlier < offset
                )
            )
        )
        for follower in range(s.replicas)
        for leader in range(s.replicas)
        for offset in range(s.log_size)
    )


@lemma(applies=keeps_what_is_written)
def epochs_never_fall_along_a_log(s):
    """A leader appends in an epoch that is not earlier than any epoch in its log."""
    return all(
        coming_epoch(s, r, earlier) <= coming_epoch(s, r, offset)
        for r in range(s.replicas)
        for offset in range(s.log_size)
        if coming_epoch(s, r, offset) != NONE
        for earlier in range(s.log_size)
        if earlier < offset
    )


@lemma(applies=sends_once)
def records_stand_in_the_order_of_sending(s):
    """A leader appends the next record after all records that were sent before, and no record is sent again."""
    return all(
        coming_record(s, r, offset) < s.next_record
        and not any(
            coming_record(s, r, earlier) >= coming_record(s, r, offset)
            for earlier in range(s.log_size)
            if earlier < offset and is_record(s, coming_record(s, r, earlier))
        )
        for r in range(s.replicas)
        for offset in range(s.log_size)
        if is_record(s, coming_record(s, r, offset))
    )


@lemma(applies=appends_once)
def records_are_appended_once(s):
    """A record that is sent once has one offset and one epoch, on all brokers. Proofs do not need this lemma, but are
    longer without it."""
    return all(
        offset == other and coming_epoch(s, a, offset) == coming_epoch(s, b, other)
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
        for offset in range(s.log_size)
        if coming_record(s, a, offset) != NONE
        for other in range(s.log_size)
        if coming_record(s, a, offset) == coming_record(s, b, other)
    )


@lemma(applies=keeps_what_is_written)
def nothing_is_known_of_an_epoch_before_its_leader(s):
    """If the leader of an epoch has not heard of its election, no log has an entry of the epoch, no cache has the
    epoch, and no follower has reconciled its log with that leader's."""
    return all(
        not is_coming(s, epoch)
        and not any(
            s.epoch_cache[r][epoch] != NONE or (s.leader_epoch[r] == epoch and has_agreed(s, r, leader))
            for r in range(s.replicas)
        )
        for epoch in range(s.elections + 1)
        for leader in range(s.replicas)
        if is_yet_to_lead(s, leader, epoch)
    ) and not any(
        s.epoch_cache[r][epoch] != NONE
        for r in range(s.replicas)
        for epoch in range(s.elections + 1)
        if epoch > s.controller_epoch
    )


def is_leaderless(s, epoch):
    """The controller or a broker knows that this epoch has no leader, or a running broker will read so."""
    return (
        (s.controller_leader == NONE and s.controller_epoch == epoch)
        or any(s.is_up[r] and s.leader[r] == NONE and s.leader_epoch[r] == epoch for r in range(s.replicas))
        or any(
            is_kept(s, number) and s.metadata_leader[number] == NONE and s.metadata_leader_epoch[number] == epoch
            for number in range(s.partition_changes + 1)
        )
    )


@lemma(applies=lambda configuration: keeps_what_is_written(configuration) and elects_cleanly_with_kraft(configuration))
def nothing_is_known_of_an_epoch_without_a_leader(s):
    """No log has an entry of an epoch without a leader, and no cache has the epoch."""
    return not any(
        is_leaderless(s, epoch)
        and (is_coming(s, epoch) or any(s.epoch_cache[r][epoch] != NONE for r in range(s.replicas)))
        for epoch in range(s.elections + 1)
    )


@lemma(applies=keeps_what_is_written)
def coming_logs_match(s):
    """Two logs with an entry of the same epoch are equal up to that entry: each has what the leader of the epoch had.

    This also holds for entries in flight, and for entries at different offsets up to the smaller offset.
    """
    return all(
        will_be_same(s, a, b, below)
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
        for offset in range(s.log_size)
        if coming_epoch(s, a, offset) != NONE
        for other in range(s.log_size)
        if coming_epoch(s, a, offset) == coming_epoch(s, b, other)
        for below in range(s.log_size)
        if below <= offset and below <= other
    )


@lemma(applies=keeps_what_is_written)
def a_leader_has_all_of_its_epoch(s):
    """Only the leader of an epoch appends in it, and it does not truncate while it leads: no replica has more entries
    of the epoch."""
    return all(
        s.log_epoch[leader][offset] == epoch
        for leader in range(s.replicas)
        for epoch in range(s.elections + 1)
        if leads_or_will_again(s, leader, epoch)
        for r in range(s.replicas)
        for offset in range(s.log_size)
        if coming_epoch(s, r, offset) == epoch
    )


@lemma(applies=keeps_what_is_written)
def a_follower_has_agreed_with_its_leader(s):
    """A follower that is done truncating has only entries of its leader, while that one leads or will lead again."""
    return all(
        holds_what_comes_to(s, leader, follower, offset) and s.fetch[follower][leader] != Fetch.DIVERGING
        for follower in range(s.replicas)
        for leader in range(s.replicas)
        if has_agreed(s, follower, leader)
        if leads_or_will_again(s, leader, s.leader_epoch[follower] if s.is_up[follower] else s.leader_epoch[leader])
        for offset in range(s.log_size)
        if coming_record(s, follower, offset) != NONE
    )


# --------------------------------------------------------------------------------------------------------- epoch caches


def is_empty_epoch(s, r, epoch):
    """The broker entered this epoch as its leader, and has no record of it."""
    return s.epoch_cache[r][epoch] != NONE and s.epoch_cache[r][epoch] == s.log_end_offset[r]


@lemma(applies=keeps_what_is_written)
def caches_know_the_epochs_of_the_log(s):
    """A cache has every epoch of its log, at an entry of that epoch, and at most one more: the last, which is empty.

    A leader's cache has the leader's own epoch.
    """
    return all(
        (
            s.epoch_cache[r][epoch] < s.log_end_offset[r]
            and all(
                s.log_epoch[r][offset] == epoch for offset in range(s.log_size) if s.epoch_cache[r][epoch] == offset
            )
        )
        or (
            is_empty_epoch(s, r, epoch)
            and not any(s.log_epoch[r][offset] >= epoch for offset in range(s.log_size))
            and not any(is_empty_epoch(s, r, earlier) for earlier in range(s.elections + 1) if earlier < epoch)
        )
        if s.epoch_cache[r][epoch] != NONE
        else not leads(s, r, epoch) and not any(s.log_epoch[r][offset] == epoch for offset in range(s.log_size))
        for r in range(s.replicas)
        for epoch in range(s.elections + 1)
    )


def is_entered_late(s, r, epoch):
    """The cached start of this epoch is above its first record, which came after an empty epoch (KAFKA-10706)."""
    return any(s.log_epoch[r][offset] == epoch for offset in range(s.log_size) if offset < s.epoch_cache[r][epoch])


def has_nothing_but(s, r, leader):
    return not any(
        s.log_record[r][offset] != s.log_record[leader][offset] or s.log_epoch[r][offset] != s.log_epoch[leader][offset]
        for offset in range(s.log_size)
        if offset < s.log_end_offset[r]
    )


@lemma(applies=keeps_what_is_written)
def caches_name_where_epochs_start(s):
    """A cache has each epoch at the offset of its first record.

    Before 2.7 there is an exception: a follower that led an epoch in which nothing was appended, and continued with
    records of an older epoch (KAFKA-10706). With three epochs, such a follower follows the last leader, and its log is
    reconciled for good.
    """
    return all(
        not s.EPOCH_ENTRY_AT_END_DROPPED
        and s.controller_epoch == s.elections
        and (not s.is_up[r] or s.leader_epoch[r] == s.elections)
        and not is_yet_to_lead(s, s.controller_leader, s.elections)
        and any(
            leader != r and has_nothing_but(s, r, leader)
            for leader in range(s.replicas)
            if s.controller_leader == leader
        )
        for r in range(s.replicas)
        for epoch in range(s.elections + 1)
        if is_entered_late(s, r, epoch)
    )


@lemma(applies=keeps_what_is_written)
def empty_epochs_are_their_leaders(s):
    """Only the leader of an epoch can have it in its cache without a record of it; then no replica has a record of the
    epoch, and no other cache has the epoch.

    Since 2.7 a follower that is done truncating has forgotten such an epoch.
    """
    return all(
        (epoch < s.controller_epoch or s.controller_leader == r)
        and (not s.is_up[r] or epoch <= s.leader_epoch[r])
        and (announced_leader(s, epoch) == NONE or announced_leader(s, epoch) == r)
        and not any(
            (other != r and s.epoch_cache[other][epoch] != NONE)
            or (s.is_up[other] and s.leader_epoch[other] == epoch and s.leader[other] != r)
            for other in range(s.replicas)
        )
        and not is_coming(s, epoch)
        and (
            not s.EPOCH_ENTRY_AT_END_DROPPED
            or not s.is_up[r]
            or presumes_leadership(s, r)
            or not any(
                has_agreed(s, r, leader) and largest_epoch_up_to(s, leader, epoch) != NONE
                for leader in range(s.replicas)
            )
        )
        for r in range(s.replicas)
        for epoch in range(s.elections + 1)
        if is_empty_epoch(s, r, epoch)
    )
