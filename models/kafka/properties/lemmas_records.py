"""Lemmas for clusters with a KRaft controller: records of the partition, leadership, and pending changes of the ISR.

They do the work of lemmas.py, which is about ZooKeeper; see there. A record is *kept* while a running broker has not
read it.
"""

from isrcheck.models.kafka.properties.lemmas import elects_cleanly_with_kraft, is_kept, is_news_for
from isrcheck.models.kafka.state.broker.min_isr import controllers_min_insync_replicas
from isrcheck.models.kafka.state.broker.proposals import is_pending
from isrcheck.models.kafka.state.broker.record import is_active
from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch
from isrcheck.models.language import NONE, lemma

# ------------------------------------------------------------------------------------------------- records and brokers


@lemma(applies=elects_cleanly_with_kraft)
def a_process_that_is_down_knows_nothing(s):
    """A broker that is down has forgotten what it knew; one that runs knows nothing newer than the controller."""
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
    """The last record says what the controller knows. Later records have no earlier leader epochs, and an epoch has one
    leader, who is in the ISR."""
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
    """Who knows the newest partition epoch knows the controller's leader; all brokers with one leader epoch know the
    same leader; and what is news to a broker has no earlier leader epoch."""
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
    """The leader is neither fenced nor shutting down, and only a living broker is both. A partition without leader has
    no ISR or, without ELR, its last member."""
    members = sum(1 for r in range(s.replicas) if s.controller_isr[r])
    return (s.controller_leader != NONE or members == (0 if s.ELR else 1)) and all(
        is_active(s, r) if s.controller_leader == r else s.is_up[r] or not (s.is_fenced[r] and s.is_shutting_down[r])
        for r in range(s.replicas)
    )


@lemma(applies=elects_cleanly_with_kraft)
def the_last_known_leader_stands_for_a_leader(s):
    """With ELR, there is a last known leader as long as nobody leads, and no longer. With min.insync.replicas=1, only
    that one is eligible.
    """
    if not s.ELR:
        return s.last_known_leader == NONE and not any(s.eligible_leader_replicas[r] for r in range(s.replicas))
    return (s.last_known_leader == NONE) == (s.controller_leader != NONE) and all(
        not s.eligible_leader_replicas[r] or s.last_known_leader == r or controllers_min_insync_replicas(s) > 1
        for r in range(s.replicas)
    )


# ------------------------------------------------------------------------------------------- pending changes of the ISR


@lemma(applies=elects_cleanly_with_kraft)
def requests_name_what_their_leader_knew(s):
    """A request is not newer than the controller, nor than its leader; while a change is pending, it is that change."""
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
    """The leader is in its ISR and in the one that it proposes. Its request is on its way, was refused because the
    controller knows more, or is answered; the answer ACCEPTED is also the next record.

    The request of a change that was dropped is older than what its leader knows.
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
    """Who is in the ISR of record, or in one that is news to the leader of this epoch, is in the leader's maximal ISR.

    Whatever the controller does by itself makes the ISR smaller; only an accepted request makes it larger, and then it
    was made by what the leader knows now.
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
