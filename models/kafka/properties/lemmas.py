"""Lemmas: invariants that Kafka promises to nobody, but that the proofs of its promises need.

Each lemma says in Kafka's terms why a promise holds. Together with the promises they are inductive: true initially, and
preserved by every step (checker/proofs/prove.py). This file is about roles, elections and the ISR; lemmas_log.py about
the contents of logs, lemmas_commit.py about commits, and lemmas_offsets.py about offsets in logs of any length.
"""

from isrcheck.models.kafka.state.fields import EpochBelowFirstEntry, EpochCacheAssign, FollowerSkip, Truncation
from isrcheck.models.kafka.state.roles import presumes_leadership
from isrcheck.models.language import NONE, lemma

# ----------------------------------------------------------------------- configurations in which the lemmas are claimed


def elects_cleanly(configuration):
    """Requests are fenced by epoch (KIP-320, FOLLOWER_SKIP), leaders are elected from the ISR, and a leader that missed
    its demotion either forgets its followers' offsets or has had no successor in between (missed_demotion.md)."""
    return (
        configuration.TRUNC == Truncation.KIP320
        and configuration.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER_AND_EPOCH
        and configuration.unclean_elections == 0
        and (configuration.preferred_elections == 0 or not configuration.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER)
    )


def keeps_what_is_written(configuration):
    """In addition to `elects_cleanly`, no disk, unflushed record or old record is lost; and every epoch is entered
    where it starts (KAFKA-7415) and forgotten when none of its records is left (KAFKA-10706), or there are too few
    epochs for that to matter."""
    return (
        elects_cleanly(configuration)
        and configuration.power_losses == 0
        and configuration.disk_losses == 0
        and configuration.delete_records == 0
        and configuration.EPOCH_AT_BECOME_LEADER
        and configuration.EPOCH_CACHE_ASSIGN == EpochCacheAssign.REPLACE_CONFLICTING
        and configuration.EPOCH_BELOW_FIRST_ENTRY == EpochBelowFirstEntry.FIRST_START_OFFSET
        and (configuration.EPOCH_ENTRY_AT_END_DROPPED or configuration.elections <= 2)
    )


def joins_isr_with_all(configuration):
    """In addition, a follower needs every record before the leader's epoch to join the ISR (KAFKA-7128)."""
    return keeps_what_is_written(configuration) and configuration.EXPAND_EPOCH_START


def sends_once(configuration):
    """No producer request is sent a second time."""
    return configuration.retries == 0


def appends_once(configuration):
    """As `keeps_what_is_written` and `sends_once`, and there are no markers, which two leaders may append."""
    return keeps_what_is_written(configuration) and sends_once(configuration) and configuration.transactions == 0


# ------------------------------------------------------------------------------------------- present and future leaders


def leads(s, r, epoch):
    """The broker presumes leadership of this epoch, rightly or as a zombie."""
    return presumes_leadership(s, r) and s.leader_epoch[r] == epoch


def is_yet_to_lead(s, r, epoch):
    """The broker was elected for this epoch and runs, but has not heard of the election."""
    return s.is_up[r] and s.leader_epoch[r] < epoch and s.metadata_leader[epoch] == r


def leads_or_will(s, r, epoch):
    return leads(s, r, epoch) or is_yet_to_lead(s, r, epoch)


def leads_or_will_again(s, r, epoch):
    """The broker leads this epoch, or it went down as the controller's leader and will lead again after its restart."""
    return leads(s, r, epoch) or (not s.is_up[r] and s.controller_leader == r and s.controller_epoch == epoch)


def may_lead_after(s, r, epoch):
    """The broker leads a later epoch, is yet to lead one, or can be elected because it is in the controller's ISR."""
    return (
        s.controller_isr[r]
        or (presumes_leadership(s, r) and s.leader_epoch[r] > epoch)
        or any(is_yet_to_lead(s, r, later) for later in range(s.elections + 1) if later > epoch)
    )


def isr_has(s, leader, epoch, r):
    """The replica is in the ISR of this epoch's leader, or will be once that leader has heard of its election."""
    return s.isr[leader][r] if leads(s, leader, epoch) else s.metadata_isr[epoch][r]


# ------------------------------------------------------------------------------------------------ brokers and elections


@lemma
def faults_stay_within_their_budgets(s):
    """The remaining budget never exceeds the initial one. Bounces and crashes are not included: their number is not
    limited."""
    return (
        s.preferred_elections_left <= s.preferred_elections
        and s.unclean_elections_left <= s.unclean_elections
        and s.power_losses_left <= s.power_losses
        and s.disk_losses_left <= s.disk_losses
        and s.retries_left <= s.retries
    )


@lemma
def a_broker_that_is_down_knows_nothing(s):
    """A running broker knows a leader and an epoch that the controller has reached; one that is down knows neither."""
    return all(
        s.leader[r] != NONE and s.leader_epoch[r] <= s.controller_epoch
        if s.is_up[r]
        else s.leader[r] == NONE and s.leader_epoch[r] == 0 and not s.is_truncating[r]
        for r in range(s.replicas)
    )


@lemma
def only_leaders_remember_followers(s):
    """A broker that does not lead has no ISR, no follower's offset, and no waiting producer; a leader does not
    truncate.
    """
    return all(
        not s.is_truncating[r]
        if presumes_leadership(s, r)
        else s.epoch_start_offset[r] == 0
        and not any(s.isr[r][member] or s.remote_log_end_offset[r][member] != NONE for member in range(s.replicas))
        and not any(s.pending[record] == r for record in range(s.records))
        for r in range(s.replicas)
    )


@lemma
def elections_are_announced(s):
    """The announcement of an election stays while a running broker has not heard of it; its ISR contains the leader.

    The last announcement names the controller's leader.
    """
    return s.controller_leader != NONE and all(
        0 < epoch <= s.controller_epoch
        and all(s.metadata_isr[epoch][r] for r in range(s.replicas) if s.metadata_leader[epoch] == r)
        and (epoch < s.controller_epoch or s.metadata_leader[epoch] == s.controller_leader)
        if s.metadata_leader[epoch] != NONE
        else not any(s.metadata_isr[epoch][r] for r in range(s.replicas))
        and not any(s.is_up[r] and s.leader_epoch[r] < epoch <= s.controller_epoch for r in range(s.replicas))
        for epoch in range(s.elections + 1)
    )


@lemma
def an_epoch_has_one_leader(s):
    """All brokers that have heard of an epoch know the same leader for the epoch: the announced one."""
    return all(
        (s.leader_epoch[r] < s.controller_epoch or s.leader[r] == s.controller_leader)
        and all(
            s.leader[other] == s.leader[r]
            for other in range(s.replicas)
            if s.is_up[other] and s.leader_epoch[other] == s.leader_epoch[r]
        )
        and all(
            s.metadata_leader[epoch] == s.leader[r]
            for epoch in range(s.elections + 1)
            if s.leader_epoch[r] == epoch and s.metadata_leader[epoch] != NONE
        )
        for r in range(s.replicas)
        if s.is_up[r]
    )


# -------------------------------------------------------------------------------------------------------------- the ISR


@lemma
def leader_and_controller_share_the_isr(s):
    """A leader is in its own ISR, and the controller's leader has the controller's ISR: the two are written together.

    Until the leader has heard of its election, its ISR is the announced one.
    """
    return all(
        s.isr[leader][leader]
        and (s.leader_epoch[leader] < s.controller_epoch or s.isr[leader][r] == s.controller_isr[r])
        for leader in range(s.replicas)
        if presumes_leadership(s, leader)
        for r in range(s.replicas)
    ) and all(
        s.metadata_isr[epoch][r] == s.controller_isr[r]
        for epoch in range(s.elections + 1)
        if epoch == s.controller_epoch and is_yet_to_lead(s, s.controller_leader, epoch)
        for r in range(s.replicas)
    )


@lemma(applies=elects_cleanly)
def a_reelected_leader_was_not_replaced(s):
    """A leader that was elected again, and has not heard of the epochs in between, has had no successor in between.

    A leader that the controller gave up on leaves the ISR, and only a fetch from its successor brings it back; by then
    it has heard of its demotion. Its knowledge of its followers survives no other elections (missed_demotion.md).
    """
    return not s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER or all(
        (
            not s.controller_isr[leader]
            or s.controller_leader == leader
            or not any(leads_or_will(s, leader, epoch) for epoch in range(s.elections + 1))
        )
        and all(
            all(s.metadata_leader[between] == leader for between in range(s.elections + 1) if epoch < between < later)
            and all(isr_has(s, leader, epoch, r) or not s.metadata_isr[later][r] for r in range(s.replicas))
            for epoch in range(s.elections + 1)
            if leads_or_will(s, leader, epoch)
            for later in range(s.elections + 1)
            if later > epoch and s.metadata_leader[later] == leader
        )
        for leader in range(s.replicas)
    )


@lemma(applies=elects_cleanly)
def nobody_joins_an_isr_unheard(s):
    """A broker that can be elected, but knows no epoch after that of some leader, is still in that leader's ISR.

    To join an ISR, a broker fetches in the controller's epoch, so it has heard of that epoch.
    """
    return all(
        isr_has(s, leader, epoch, r)
        for leader in range(s.replicas)
        for epoch in range(s.elections + 1)
        if leads_or_will(s, leader, epoch)
        for r in range(s.replicas)
        if s.is_up[r] and s.leader_epoch[r] <= epoch and may_lead_after(s, r, epoch)
    )
