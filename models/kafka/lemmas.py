"""Lemmas: invariants that Kafka does not promise, but that the proofs of its promises need.

Each lemma says in Kafka's terms why a promise holds. Together with the promises they are inductive: true initially, and
preserved by every step (checker/proofs/prove.py). First come lemmas about offsets in logs of any length; then those
about roles, elections and the ISR, or, with KRaft, about the controller's records; then logs, then commits.
"""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.actions.alter_partition import shared_end_offset
from isrcheck.models.kafka.state.broker import (
    controllers_min_insync_replicas,
    effective_min_insync_replicas,
    follows,
    has_enough_replicas,
    is_controllers_leader,
    is_in_maximal_isr,
    is_pending,
    presumes_leadership,
)
from isrcheck.models.kafka.state.clients import is_record
from isrcheck.models.kafka.state.controller import is_active
from isrcheck.models.kafka.state.log import largest_epoch_up_to
from isrcheck.models.kafka.state.values import (
    AlterPartition,
    BrokerEpoch,
    BrokerStateCheck,
    Controller,
    EpochBelowFirstEntry,
    EpochCacheAssign,
    Fetch,
    FollowerSkip,
    IsrChannel,
    MaximalIsr,
    Truncation,
)
from isrcheck.models.language import NONE, lemma

# -------------------------------------------------------------------------------------------------------------- offsets
#
# Lemmas for proofs about logs of every length: they order the offsets, however long the logs are.
#
# They read only fields whose array sizes do not depend on the log's length (checker/proofs/unbounded_abstraction.py).


@lemma(applies=lambda configuration: configuration.CONTROLLER == Controller.ZOOKEEPER, every_length=True)
def the_controller_names_a_leader(s):
    """With ZooKeeper, the controller always has a leader for the partition; the leader may be down."""
    return s.controller_leader != NONE


@lemma(every_length=True)
def answers_start_where_the_log_did(s):
    """A response answers a fetch from within the leader's log: the log start in it is not above the fetch offset."""
    return all(
        s.response_log_start_offset[follower][leader] <= s.fetch_offset[follower][leader]
        for follower in range(s.replicas)
        for leader in range(s.replicas)
        if s.fetch[follower][leader] == Fetch.ANSWERED
    )


@lemma(every_length=True)
def nobody_follows_itself(s):
    """A leader does not truncate, and no broker fetches from itself."""
    return all(
        s.fetch[r][r] == Fetch.NONE and not (s.is_truncating[r] and presumes_leadership(s, r))
        for r in range(s.replicas)
    )


@lemma(every_length=True)
def who_is_down_follows_nobody(s):
    """A process that is down has forgotten its leader, and has no request outstanding."""
    return all(
        s.is_up[r]
        or (
            s.leader[r] == NONE
            and not s.is_truncating[r]
            and all(s.fetch[r][leader] == Fetch.NONE for leader in range(s.replicas))
        )
        for r in range(s.replicas)
    )


# ----------------------------------------------------------------------- configurations in which the lemmas are claimed


def has_zookeeper(configuration):
    """The controller uses ZooKeeper. With KRaft, lemmas about the metadata records replace those for ZooKeeper."""
    return configuration.CONTROLLER == Controller.ZOOKEEPER


def elects_cleanly_with_zookeeper(configuration):
    """ZooKeeper's elections are safe: requests are fenced by epoch (KIP-320, FOLLOWER_SKIP), leaders are from the ISR,
    and a leader that missed a demotion forgets its followers or had no successor (missed_demotion.md)."""
    return (
        configuration.TRUNC == Truncation.KIP320
        and configuration.ISR_CHANNEL == IsrChannel.ZK
        and configuration.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER_AND_EPOCH
        and configuration.unclean_elections == 0
        and (configuration.preferred_elections == 0 or not configuration.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER)
    )


def elects_cleanly_with_kraft(configuration):
    """KRaft's elections are safe: the bugs of missed_demotion.md, stale_record.md and KAFKA-18991 are repaired, and the
    faults and changes that are listed here do not occur."""
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
    """Under this configuration, every elected broker holds every committed record."""
    return elects_cleanly_with_zookeeper(configuration) or elects_cleanly_with_kraft(configuration)


def keeps_what_is_written(configuration):
    """The configuration satisfies `elects_cleanly`, loses no disk and no unflushed record, and deletes no record. A
    leader epoch cache has an epoch as soon as the epoch begins (KAFKA-7415), and forgets an epoch whose records are all
    gone (KAFKA-10706; with at most two elections, this does not matter)."""
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
    """The configuration satisfies `keeps_what_is_written`, and a follower needs every record from before the leader's
    epoch to join the ISR (KAFKA-7128)."""
    return keeps_what_is_written(configuration) and configuration.EXPAND_EPOCH_START


def sends_once(configuration):
    """No producer request is sent a second time."""
    return configuration.retries == 0


def appends_once(configuration):
    """`keeps_what_is_written` and `sends_once` hold, without transactions (two leaders can append the same marker)."""
    return keeps_what_is_written(configuration) and sends_once(configuration) and configuration.transactions == 0


# ------------------------------------------------------------------------------------------- present and future leaders


def leads(s, r, epoch):
    """The broker presumes leadership of this epoch, rightly or as a zombie."""
    return presumes_leadership(s, r) and s.leader_epoch[r] == epoch


def is_kept(s, partition_epoch):
    """The model keeps the metadata record of this partition epoch, because a running broker has not read it yet."""
    return 0 < partition_epoch <= s.controller_partition_epoch and any(
        s.is_up[r] and s.metadata_position[r] < partition_epoch for r in range(s.replicas)
    )


def is_news_for(s, r, partition_epoch):
    """The metadata record is newer than what this running broker knows, so the broker may still apply it."""
    return s.is_up[r] and s.partition_epoch[r] < partition_epoch <= s.controller_partition_epoch


def announced_leader(s, epoch):
    """The epoch's leader while a running broker has not heard of the epoch; NONE afterwards, or without a leader."""
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
    """The leader's AlterPartition request has the current epochs, so it may be accepted, even after a first refusal."""
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
    """The leader is the controller's leader; the replica is in the leader's maximal ISR, or in the ISR of a metadata
    record that the leader may still apply, or in the ISR that the leader has requested from the controller."""
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
    """The broker leads, or was elected for, a later epoch than `epoch`, the epoch of `leader`; or it can be elected."""
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
refused; and the remaining ones, those of the records that it has yet to read."""


def is_choice(s, leader, epoch, choice):
    """The leader of the epoch may commit records, now or later, once all members of the ISR `choice` hold them."""
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
    """The replica is in `choice`, which is one of the ISRs with which the leader of the epoch may commit records."""
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
    """What is left of a budget never exceeds the initial budget; the proofs cover any number of bounces and crashes."""
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
    """A running broker knows a leader, and an epoch not above the controller's; a broker that is down knows neither."""
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
    """An election is announced while a running broker has not heard of it; the announced ISR has the announced leader.

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

    Until the controller's leader has heard of its election, the announced ISR is the controller's ISR.
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
    """A leader that was elected again, but has not heard of the epochs in between, had no successor in these epochs.

    After a failover, the old leader is outside the ISR until it has heard of its demotion and fetched from its
    successor. So a leader keeps its knowledge of its followers only if it had no successor (missed_demotion.md).
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
    """If a broker may lead after a leader, but knows no later epoch than the leader's, it is still in the leader's ISR.

    To join an ISR, a broker has to fetch in the controller's epoch, so it has heard of that epoch.
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


# ----------------------------------------------------------------------------------------------------------- the record
#
# Lemmas for clusters with a KRaft controller: records of the partition, leadership, and pending changes of the ISR.
#
# They do the work of the lemmas above, which are about ZooKeeper. A record is *kept* while a running broker has not
# read it.


# ------------------------------------------------------------------------------------------------- records and brokers


@lemma(applies=elects_cleanly_with_kraft)
def a_process_that_is_down_knows_nothing(s):
    """A broker that is down has forgotten what it knew; a running broker knows nothing newer than the controller."""
    return all(
        s.metadata_position[r] <= s.partition_epoch[r] <= s.controller_partition_epoch
        and s.leader_epoch[r] <= s.controller_epoch
        if s.is_up[r]
        else s.leader[r] == NONE
        and s.leader_epoch[r] == 0
        and s.partition_epoch[r] == 0
        and s.metadata_position[r] == 0
        for r in range(s.replicas)
    ) and not any(s.is_truncating[r] for r in range(s.replicas))


@lemma(applies=elects_cleanly_with_kraft)
def only_leaders_propose(s):
    """A broker that does not lead has no ISR, no pending change, no knowledge of followers, and no waiting producer."""
    return all(
        s.epoch_start_offset[r] == 0
        and not any(
            s.isr[r][member]
            or s.proposed_isr[r][member]
            or s.remote_log_end_offset[r][member] != NONE
            or s.remote_broker_epoch[r][member] != BrokerEpoch.UNKNOWN
            for member in range(s.replicas)
        )
        and not any(s.pending[record] == r for record in range(s.records))
        for r in range(s.replicas)
        if not presumes_leadership(s, r)
    )


@lemma(applies=elects_cleanly_with_kraft)
def records_rise(s):
    """The last metadata record has the controller's leader, leader epoch and ISR. From record to record, the leader
    epoch does not fall, and records with one leader epoch have one leader, which is in the ISR."""
    return all(
        s.metadata_leader_epoch[number] <= s.controller_epoch
        and all(s.metadata_isr[number][r] for r in range(s.replicas) if s.metadata_leader[number] == r)
        and (
            number < s.controller_partition_epoch
            or (
                s.metadata_leader[number] == s.controller_leader
                and s.metadata_leader_epoch[number] == s.controller_epoch
                and all(s.metadata_isr[number][r] == s.controller_isr[r] for r in range(s.replicas))
            )
        )
        and (s.metadata_leader_epoch[number] < s.controller_epoch or s.metadata_leader[number] == s.controller_leader)
        and all(
            s.metadata_leader_epoch[number] < s.metadata_leader_epoch[later]
            or (
                s.metadata_leader_epoch[number] == s.metadata_leader_epoch[later]
                and s.metadata_leader[number] == s.metadata_leader[later]
            )
            for later in range(s.partition_changes + 1)
            if later > number and is_kept(s, later)
        )
        if is_kept(s, number)
        else s.metadata_leader[number] == NONE
        and s.metadata_leader_epoch[number] == 0
        and not any(s.metadata_isr[number][r] for r in range(s.replicas))
        for number in range(s.partition_changes + 1)
    ) and all(s.controller_isr[r] for r in range(s.replicas) if s.controller_leader == r)


@lemma(applies=elects_cleanly_with_kraft)
def brokers_know_what_the_records_said(s):
    """Brokers that know the newest partition epoch know the controller's leader; brokers with the same leader epoch
    know the same leader; and a record that a broker may still apply has no earlier leader epoch than the broker."""
    return all(
        (s.leader_epoch[r] < s.controller_epoch or s.leader[r] == s.controller_leader)
        and (s.partition_epoch[r] < s.controller_partition_epoch or s.leader_epoch[r] == s.controller_epoch)
        and all(
            s.leader_epoch[r] < s.metadata_leader_epoch[number]
            or (s.leader_epoch[r] == s.metadata_leader_epoch[number] and s.leader[r] == s.metadata_leader[number])
            for number in range(s.partition_changes + 1)
            if is_news_for(s, r, number)
        )
        and all(
            (number < s.partition_epoch[r] and s.metadata_leader_epoch[number] < s.leader_epoch[r])
            or (s.leader_epoch[r] == s.metadata_leader_epoch[number] and s.leader[r] == s.metadata_leader[number])
            for number in range(s.partition_changes + 1)
            if is_kept(s, number) and number <= s.partition_epoch[r]
        )
        and all(
            (s.leader_epoch[r] != s.leader_epoch[other] or s.leader[r] == s.leader[other])
            and (s.partition_epoch[r] > s.partition_epoch[other] or s.leader_epoch[r] <= s.leader_epoch[other])
            for other in range(s.replicas)
            if s.is_up[other]
        )
        for r in range(s.replicas)
        if s.is_up[r]
    )


# --------------------------------------------------------------------------------------------- the controller's choices


@lemma(applies=elects_cleanly_with_kraft)
def the_leader_is_active(s):
    """The leader is neither fenced nor shutting down; a broker that is both fenced and shutting down is still up. A
    partition without a leader has an empty ISR or, without ELR, an ISR of one member."""
    members = sum(1 for r in range(s.replicas) if s.controller_isr[r])
    return (s.controller_leader != NONE or members == (0 if s.ELR else 1)) and all(
        is_active(s, r) if s.controller_leader == r else s.is_up[r] or not (s.is_fenced[r] and s.is_shutting_down[r])
        for r in range(s.replicas)
    )


@lemma(applies=elects_cleanly_with_kraft)
def the_last_known_leader_stands_for_a_leader(s):
    """With ELR, there is a last known leader exactly while nobody leads; with min.insync.replicas=1, no other broker is
    in the ELR."""
    if not s.ELR:
        return s.last_known_leader == NONE and not any(s.eligible_leader_replicas[r] for r in range(s.replicas))
    return (s.last_known_leader == NONE) == (s.controller_leader != NONE) and all(
        not s.eligible_leader_replicas[r] or s.last_known_leader == r or controllers_min_insync_replicas(s) > 1
        for r in range(s.replicas)
    )


# ------------------------------------------------------------------------------------------- pending changes of the ISR


@lemma(applies=elects_cleanly_with_kraft)
def requests_name_what_their_leader_knew(s):
    """An AlterPartition request has no newer epochs than the controller has, and none newer than its sender has. A
    leader without a request has no requested ISR."""
    return all(
        s.requested_isr[leader][leader]
        and s.requested_leader_epoch[leader] <= s.controller_epoch
        and s.requested_partition_epoch[leader] <= s.controller_partition_epoch
        and (
            s.alter_partition[leader] != AlterPartition.ACCEPTED
            or s.requested_partition_epoch[leader] < s.controller_partition_epoch
        )
        and (
            not s.is_up[leader]
            or (
                s.requested_leader_epoch[leader] <= s.leader_epoch[leader]
                and s.requested_partition_epoch[leader] <= s.partition_epoch[leader]
            )
        )
        if s.alter_partition[leader] != AlterPartition.NONE
        else s.requested_leader_epoch[leader] == 0
        and s.requested_partition_epoch[leader] == 0
        and not any(
            s.requested_isr[leader][r] or s.requested_broker_epoch[leader][r] != BrokerEpoch.UNKNOWN
            for r in range(s.replicas)
        )
        for leader in range(s.replicas)
    )


@lemma(applies=elects_cleanly_with_kraft)
def a_pending_change_is_on_its_way(s):
    """A leader is in its own ISR and in its proposed ISR. The request for a pending change is on its way, was refused
    because the controller knows newer epochs, or is answered; once ACCEPTED, the next record has the requested ISR.

    If a leader has dropped its change, the request for this change has an older epoch than the leader knows.
    """
    return all(
        s.isr[leader][leader]
        and (not is_pending(s, leader) or s.proposed_isr[leader][leader])
        and (
            (
                s.requested_leader_epoch[leader] == s.leader_epoch[leader]
                and s.requested_partition_epoch[leader] == s.partition_epoch[leader]
                and all(s.requested_isr[leader][r] == s.proposed_isr[leader][r] for r in range(s.replicas))
                and (
                    s.alter_partition[leader] != AlterPartition.ACCEPTED
                    or all(
                        s.metadata_leader[number] == leader
                        and s.metadata_leader_epoch[number] == s.leader_epoch[leader]
                        and all(s.metadata_isr[number][r] == s.requested_isr[leader][r] for r in range(s.replicas))
                        for number in range(s.partition_changes + 1)
                        if number == s.partition_epoch[leader] + 1
                    )
                )
                if s.alter_partition[leader] != AlterPartition.NONE
                else s.leader_epoch[leader] < s.controller_epoch
                or s.partition_epoch[leader] < s.controller_partition_epoch
            )
            if is_pending(s, leader)
            else s.alter_partition[leader] == AlterPartition.NONE
            or s.requested_leader_epoch[leader] < s.leader_epoch[leader]
            or s.requested_partition_epoch[leader] < s.partition_epoch[leader]
        )
        for leader in range(s.replicas)
        if presumes_leadership(s, leader)
    )


@lemma(applies=elects_cleanly_with_kraft)
def the_leader_counts_everyone_in_the_isr(s):
    """The maximal ISR of the controller's leader contains the controller's ISR. The maximal ISR of any leader contains
    the ISR of each record of the leader's epoch that the leader has not applied yet.

    Whatever the controller does by itself makes the ISR smaller; only an accepted request makes the ISR larger, and the
    leader made this request with its present knowledge.
    """
    return all(
        (
            s.partition_epoch[leader] < s.controller_partition_epoch
            or all(s.isr[leader][r] == s.controller_isr[r] for r in range(s.replicas))
        )
        and all(
            s.isr[leader][r] or (s.proposed_isr[leader][r] and s.alter_partition[leader] != AlterPartition.INELIGIBLE)
            for number in range(s.partition_changes + 1)
            if is_news_for(s, leader, number) and s.metadata_leader_epoch[number] == s.leader_epoch[leader]
            for r in range(s.replicas)
            if s.metadata_isr[number][r]
        )
        for leader in range(s.replicas)
        if presumes_leadership(s, leader)
    ) and all(
        s.metadata_isr[number][r]
        for leader in range(s.replicas)
        for number in range(s.partition_changes + 1)
        if is_news_for(s, leader, number) and s.metadata_leader[number] == leader
        for later in range(s.partition_changes + 1)
        if number < later <= s.controller_partition_epoch
        and s.metadata_leader_epoch[number] == s.metadata_leader_epoch[later]
        for r in range(s.replicas)
        if s.metadata_isr[later][r]
    )


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
    """The follower has found the common part of its log and its leader's, and dropped the rest.

    With truncation on fetch, it has done so once a fetch in this epoch was served.
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
    that hears of another epoch, or goes down, abandons its fetch. Without a fetch, the fields about it are cleared.
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
    """A response has entries from the fetch offset on without a gap, each from an epoch that the follower knows of."""
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
    """Along a log, epochs never fall: a leader appends in an epoch that is not earlier than any epoch in its log."""
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
    """A log holds its records in the order in which they were sent, because no record is sent a second time."""
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
    """This epoch has no leader; the controller or a broker knows this, or a broker will read a record that says it."""
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

    Entries in flight count, too. If the entries are at different offsets, the logs are equal up to the smaller offset.
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
    """While a broker leads an epoch, or will lead it again, it has every entry of the epoch that any replica has: only
    the leader appends in the epoch, and it does not truncate."""
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
    """A follower done truncating has only entries that its leader has, while the leader leads or will lead again."""
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
    """The broker entered the epoch as the epoch's leader, and has no record of the epoch."""
    return s.epoch_cache[r][epoch] != NONE and s.epoch_cache[r][epoch] == s.log_end_offset[r]


@lemma(applies=keeps_what_is_written)
def caches_know_the_epochs_of_the_log(s):
    """A cache has each epoch of its log, at the offset of an entry of this epoch, and at most one epoch without
    entries, which is later than all epochs of the log. A leader's cache has the leader's own epoch."""
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
    """The cached start of the epoch is above the epoch's first record: an empty epoch came in between (KAFKA-10706)."""
    return any(s.log_epoch[r][offset] == epoch for offset in range(s.log_size) if offset < s.epoch_cache[r][epoch])


def has_nothing_but(s, r, leader):
    return not any(
        s.log_record[r][offset] != s.log_record[leader][offset] or s.log_epoch[r][offset] != s.log_epoch[leader][offset]
        for offset in range(s.log_size)
        if offset < s.log_end_offset[r]
    )


@lemma(applies=keeps_what_is_written)
def caches_name_where_epochs_start(s):
    """A cache has each epoch at the offset of the epoch's first record.

    Before 2.7 there is an exception (KAFKA-10706): a follower that led an epoch in which nothing was appended, and then
    fetched records of an older epoch, caches the older epoch at a later offset. With three epochs, such a follower
    follows the last leader, and never has to truncate its log again.
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
    """Only the leader of an epoch can have the epoch in its cache without holding a record of it; then no replica has
    a record of the epoch, and no other cache has the epoch.

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


# ---------------------------------------------------------------------------------------- entries that may be committed


def keeps_offsets(s, leader, epoch, later):
    """The leader keeps its knowledge of its followers from `epoch` to `later`, through its re-elections in between."""
    return later == epoch or (
        s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
        and all(s.metadata_leader[between] == leader for between in range(s.elections + 1) if epoch < between <= later)
    )


def may_yet_fetch(s, follower, leader, epoch):
    """The follower has heard of no later leader: it can still fetch from this leader in this epoch, perhaps after a
    restart, or in a later epoch in which the leader keeps its knowledge of its followers."""
    return any(
        s.controller_epoch == later or (s.is_up[follower] and s.leader_epoch[follower] <= later)
        for later in range(s.elections + 1)
        if later >= epoch and keeps_offsets(s, leader, epoch, later)
    )


def is_known_to_hold(s, follower, leader, epoch, offset):
    """From a fetch, the leader knows, or will know once it leads this epoch, that the follower holds this offset."""
    return offset < s.remote_log_end_offset[leader][follower] and (
        leads(s, leader, epoch) or s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
    )


def may_commit_with(s, leader, epoch, choice, offset):
    """Every member of the ISR `choice` is known to hold the leader's entry at this offset, or may still fetch it."""
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
    """The offset that a leader knows of a follower is within the leader's log. If the follower runs, its epoch is not
    older than the leader's; or the follower is in an earlier epoch of the same leader, which has kept the offset."""
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
    """A broker that leads, or may lead, in a later epoch than another leader holds every entry that the earlier leader,
    zombie or not, may commit; or the broker can still fetch from the earlier leader, which waits for it.

    A later leader holds each of these entries below the start of its own epoch, because a broker that joins an ISR has
    everything from before the epoch of the ISR's leader (KAFKA-7128).
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
    """A leader proposes a follower only if the follower has fetched everything from before the leader's epoch, and
    everything that the leader has exposed; the follower has heard of the epoch."""
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
    """No leader of an epoch after `epoch`, up to and including `later`, exposed anything."""
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
    """An entry that a broker knows to be exposed is held by the broker's leader and by all later leaders. An earlier
    leader holds the entry if no leader after it, up to the broker's epoch, has exposed anything."""
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
    """The broker is the last leader that exposed an entry, or a later leader, or may be elected."""
    return leads_since_the_last_exposure(s, r) or may_be_trusted(s, r)


@lemma(applies=joins_isr_with_all)
def leaders_hold_what_was_exposed(s):
    """The last leader that exposed an entry, all later leaders, and every broker that may be elected hold all exposed
    entries."""
    return all(
        s.log_record[r][offset] == s.exposed_record[offset] and keeps(s, r, offset)
        for r in range(s.replicas)
        if needs_what_was_exposed(s, r)
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE
    )


@lemma(applies=joins_isr_with_all)
def what_was_exposed_is_one_entry(s):
    """Replicas that know an entry to be exposed, or need it, hold the same copy, even if the record was sent again."""
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
    """Every exposed entry lies below the high watermark of the controller's leader or below the start of that leader's
    epoch, the two offsets that a follower has to reach to join the ISR (KAFKA-7128)."""
    return all(
        offset < s.high_watermark[leader] or offset < s.epoch_start_offset[leader]
        for leader in range(s.replicas)
        if is_controllers_leader(s, leader)
        for offset in range(s.log_size)
        if s.exposed_record[offset] != NONE
    )


@lemma(applies=lambda configuration: joins_isr_with_all(configuration) and configuration.acks == Acks.ALL)
def acknowledged_records_are_exposed(s):
    """With acks=all, every acknowledged record is exposed, because producers are answered once the high watermark is
    above the record. A producer waits only at a leader that holds its record."""
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
