"""Lemmas: invariants that Kafka promises to nobody, but that the proofs of its promises need.

Each lemma says in Kafka's terms why a promise holds. Together with the promises they are inductive: true initially, and
preserved by every step (checker/proofs/prove.py). This file is about roles, elections and the ISR; lemmas_log.py about
the contents of logs, lemmas_commit.py about commits, and lemmas_offsets.py about offsets in logs of any length.
"""

from isrcheck.models.kafka.state.broker.commit import (
    has_enough_replicas,
    is_in_maximal_isr,
)
from isrcheck.models.kafka.state.broker.min_isr import effective_min_insync_replicas
from isrcheck.models.kafka.state.broker.roles import is_controllers_leader, presumes_leadership
from isrcheck.models.kafka.state.values import (
    AlterPartition,
    BrokerStateCheck,
    Controller,
    EpochBelowFirstEntry,
    EpochCacheAssign,
    FollowerSkip,
    IsrChannel,
    MaximalIsr,
    Truncation,
)
from isrcheck.models.language import NONE, lemma

# ----------------------------------------------------------------------- configurations in which the lemmas are claimed


def has_zookeeper(configuration):
    """With a KRaft controller, lemmas_records.py says what these lemmas say."""
    return configuration.CONTROLLER == Controller.ZOOKEEPER


def elects_cleanly_with_zookeeper(configuration):
    """Requests are fenced by epoch (KIP-320, FOLLOWER_SKIP), leaders are elected from the ISR, and a leader that missed
    its demotion either forgets its followers' offsets or has had no successor in between (missed_demotion.md)."""
    return (
        configuration.TRUNC == Truncation.KIP320
        and configuration.ISR_CHANNEL == IsrChannel.ZK
        and configuration.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER_AND_EPOCH
        and configuration.unclean_elections == 0
        and (configuration.preferred_elections == 0 or not configuration.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER)
    )


def elects_cleanly_with_kraft(configuration):
    """The same for a KRaft controller, with the repairs of missed_demotion.md, stale_record.md and KAFKA-18991."""
    return (
        configuration.CONTROLLER == Controller.KRAFT
        and configuration.BROKER_STATE_CHECK == BrokerStateCheck.BROKER_EPOCH
        and configuration.RESPONSE_EPOCH_MATCHED
        and configuration.MAXIMAL_ISR == MaximalIsr.COMMITTED_AND_PROPOSED
        and not configuration.EPOCH_BUMP_ON_SHRINK
        and not configuration.EQUAL_PARTITION_EPOCH_REPLACES
        and not configuration.HW_FROM_DIVERGING_RESP
        and not configuration.LATE_FETCH_COUNTS
        and not configuration.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
        and not configuration.RESTART_BEFORE_FENCING
        and configuration.unclean_elections == 0
        and configuration.power_losses == 0
        and configuration.disk_losses == 0
        and configuration.reassignments == 0
        and configuration.min_isr_changes == 0
        and configuration.unregistrations == 0
        and configuration.folder_deletions == 0
        and configuration.directory_reports == 0
        and configuration.dropped_metadata == 0
        and configuration.replicas_of_partition_0 == 0
        and (configuration.LAST_KNOWN_LEADER_IS_ACTIVE or not configuration.ELR)
        and configuration.late_fetches == 0
    )


def elects_cleanly(configuration):
    """Whoever is elected holds every committed record."""
    return elects_cleanly_with_zookeeper(configuration) or elects_cleanly_with_kraft(configuration)


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


def is_kept(s, partition_epoch):
    """A running broker has not read the record of this partition epoch."""
    return 0 < partition_epoch <= s.controller_partition_epoch and any(
        s.is_up[r] and s.metadata_position[r] < partition_epoch for r in range(s.replicas)
    )


def is_news_for(s, r, partition_epoch):
    """The broker may apply this record, and then takes what it says."""
    return s.is_up[r] and s.partition_epoch[r] < partition_epoch <= s.controller_partition_epoch


def announced_leader(s, epoch):
    """The leader of this epoch, as long as a running broker has not heard of it; afterwards NONE."""
    if s.CONTROLLER == Controller.ZOOKEEPER:
        return s.metadata_leader[epoch]
    leader = NONE
    for number in range(s.partition_changes + 1):
        if s.metadata_leader_epoch[number] == epoch and s.metadata_leader[number] != NONE:
            leader = s.metadata_leader[number]
    return leader


def is_yet_to_lead(s, r, epoch):
    """The broker was elected for this epoch and runs, but has not heard of the election."""
    return s.is_up[r] and s.leader_epoch[r] < epoch and announced_leader(s, epoch) == r


def leads_or_will(s, r, epoch):
    return leads(s, r, epoch) or is_yet_to_lead(s, r, epoch)


def leads_or_will_again(s, r, epoch):
    """The broker leads this epoch, or it went down as the controller's leader and will lead again after its restart."""
    return leads(s, r, epoch) or (not s.is_up[r] and s.controller_leader == r and s.controller_epoch == epoch)


# ------------------------------------------------------------------- ISRs, those that may come, and who may be elected


def is_undecided(s, leader):
    """The request is not too old for the controller, which may yet accept it, even if a first answer said no."""
    return (
        (
            s.alter_partition[leader] == AlterPartition.REQUESTED
            or s.alter_partition[leader] == AlterPartition.INELIGIBLE
        )
        and s.controller_leader == leader
        and s.requested_leader_epoch[leader] == s.controller_epoch
        and s.requested_partition_epoch[leader] == s.controller_partition_epoch
    )


def is_counted_by(s, leader, r):
    """The leader of record counts the replica in its ISR, will do so when it reads a record, or has asked the
    controller to do so."""
    return s.controller_leader == leader and (
        (is_controllers_leader(s, leader) and is_in_maximal_isr(s, leader, r))
        or (is_undecided(s, leader) and s.requested_isr[leader][r])
        or any(
            s.metadata_isr[number][r]
            for number in range(s.partition_changes + 1)
            if is_news_for(s, leader, number) and s.metadata_leader_epoch[number] == s.controller_epoch
        )
    )


def is_trusted(s, r):
    """The controller may elect the replica now."""
    if s.CONTROLLER == Controller.ZOOKEEPER:
        return s.controller_isr[r]
    return s.controller_isr[r] or s.eligible_leader_replicas[r] or s.last_known_leader == r


def may_be_trusted(s, r):
    """The controller may elect the replica, now or after the next change of the ISR."""
    return is_trusted(s, r) or (
        s.CONTROLLER == Controller.KRAFT and any(is_counted_by(s, leader, r) for leader in range(s.replicas))
    )


def may_lead_after(s, r, leader, epoch):
    """The broker leads a later epoch than this leader, is yet to lead one, or can be elected."""
    return (
        is_trusted(s, r)
        or (presumes_leadership(s, r) and s.leader_epoch[r] > epoch)
        or any(is_yet_to_lead(s, r, later) for later in range(s.elections + 1) if later > epoch)
        or (
            s.CONTROLLER == Controller.KRAFT
            and any(
                is_counted_by(s, other, r)
                for other in range(s.replicas)
                if other != leader or s.controller_epoch != epoch
            )
        )
    )


MAXIMAL = 0
COMMITTED = 1
RECORD = 2
"""The ISRs with which a leader may commit (`choice`): its maximal ISR; the committed one alone, if the proposal was
answered with no; and, from here on, those of the records that it has yet to read."""


def is_choice(s, leader, epoch, choice):
    """The broker may commit with this ISR as the leader of the epoch, now or later."""
    if s.CONTROLLER == Controller.ZOOKEEPER:
        return choice == MAXIMAL and leads_or_will(s, leader, epoch)
    if choice < RECORD:
        return (
            leads(s, leader, epoch)
            and (choice == MAXIMAL or s.alter_partition[leader] == AlterPartition.INELIGIBLE)
            and (not s.HW_MINISR_GATE or has_enough_replicas(s, leader))
        )
    number = choice - RECORD
    return (
        is_news_for(s, leader, number)
        and s.metadata_leader[number] == leader
        and s.metadata_leader_epoch[number] == epoch
        and (
            not s.HW_MINISR_GATE
            or sum(1 for r in range(s.replicas) if s.metadata_isr[number][r])
            >= effective_min_insync_replicas(s, leader)
        )
    )


def has(s, leader, epoch, choice, r):
    """The replica is in this ISR."""
    if s.CONTROLLER == Controller.ZOOKEEPER:
        return s.isr[leader][r] if leads(s, leader, epoch) else s.metadata_isr[epoch][r]
    if choice == MAXIMAL:
        return is_in_maximal_isr(s, leader, r)
    if choice == COMMITTED:
        return s.isr[leader][r]
    return s.metadata_isr[choice - RECORD][r]


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
        and s.fencings_left <= s.fencings
        and s.shutdowns_left <= s.shutdowns
        and s.retries_left <= s.retries
    )


@lemma(applies=has_zookeeper)
def a_broker_that_is_down_knows_nothing(s):
    """A running broker knows a leader and an epoch that the controller has reached; one that is down knows neither."""
    return all(
        s.leader[r] != NONE and s.leader_epoch[r] <= s.controller_epoch
        if s.is_up[r]
        else s.leader[r] == NONE and s.leader_epoch[r] == 0 and not s.is_truncating[r]
        for r in range(s.replicas)
    )


@lemma(applies=has_zookeeper)
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


@lemma(applies=has_zookeeper)
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


@lemma(applies=has_zookeeper)
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


@lemma(applies=has_zookeeper)
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


@lemma(applies=elects_cleanly_with_zookeeper)
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
            and all(has(s, leader, epoch, MAXIMAL, r) or not s.metadata_isr[later][r] for r in range(s.replicas))
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
        has(s, leader, epoch, choice, r)
        for leader in range(s.replicas)
        for epoch in range(s.elections + 1)
        for choice in range(s.partition_changes + 1 + RECORD)
        if is_choice(s, leader, epoch, choice)
        for r in range(s.replicas)
        if s.controller_epoch == epoch or (s.is_up[r] and s.leader_epoch[r] <= epoch)
        if may_lead_after(s, r, leader, epoch)
    )
