"""Fetches that take effect late: after their process has ended, or after what was checked is out of date."""

from isrcheck.models.kafka.actions.alter_partition import diverges, holds_log_start
from isrcheck.models.kafka.actions.faults import lose_disk
from isrcheck.models.kafka.state.broker import (
    advance_high_watermark,
    can_ask,
    clear_fetch,
    follows,
    is_known_replica,
    may_fetch,
    may_propose,
    presumes_leadership,
    propose_expansion,
    stop_broker,
)
from isrcheck.models.kafka.state.fields import KraftReplica
from isrcheck.models.kafka.state.log import end_offset_for, epoch_for, is_answered, latest_epoch, truncate_log
from isrcheck.models.kafka.state.values import BrokerEpoch, Fetch
from isrcheck.models.language import NONE, action, require

# ---------------------------------------------------------------------------------------- fetches of an earlier process
#
# A fetch of a process that has ended reaches the leader after the broker has registered anew (KAFKA-15221).
#
# The fetch was sent just before the end of the process, and says how long its log was then. Up to 3.6, the leader may
# decide on it that the follower joins the ISR, and then name the broker epoch of the new process, whose first fetch has
# arrived in between. Since 3.7 it compares the broker epochs.


def may_leave_fetch(s, follower, leader):
    return may_fetch(s, follower, leader) and s.log_end_offset[follower] <= s.log_end_offset[leader]


def stop_with_fetch_on_its_way(s, follower, leader):
    s.late_fetches_left -= 1
    s.late_fetch_offset[leader][follower] = s.log_end_offset[follower]
    stop_broker(s, follower)


@action(shows="{follower} from {leader}")
def broker_crashes_while_it_fetches(s, follower: KraftReplica, leader: KraftReplica):
    """The process dies; its last fetch is still on its way. What it had written stays written."""
    require(s.crashes_left > 0)
    require(s.late_fetches_left > 0)
    require(may_leave_fetch(s, follower, leader))
    s.crashes_left -= 1
    stop_with_fetch_on_its_way(s, follower, leader)


@action(shows="{follower} from {leader}")
def broker_loses_disk_while_it_fetches(s, follower: KraftReplica, leader: KraftReplica):
    """The machine dies, and restarts with an empty disk; its last fetch is still on its way."""
    require(s.disk_losses_left > 0)
    require(s.late_fetches_left > 0)
    require(s.log_end_offset[follower] > 0)
    require(may_leave_fetch(s, follower, leader))
    s.disk_losses_left -= 1
    stop_with_fetch_on_its_way(s, follower, leader)
    lose_disk(s, follower)


@action(shows="of {follower} at {leader}")
def leader_handles_late_fetch(s, leader: KraftReplica, follower: KraftReplica):
    """The leader decides that the follower joins the ISR by what an earlier process held; and the new process, which
    fetches at the same time, is named in the request. Kafka: Partition.maybeExpandIsr, addBrokerEpochToIsr.
    """
    require(s.LATE_FETCH_COUNTS)
    require(s.late_fetches > 0)
    require(s.late_fetch_offset[leader][follower] != NONE)
    require(can_ask(s, follower, leader))
    require(may_propose(s, leader))
    require(not s.isr[leader][follower])
    require(s.late_fetch_offset[leader][follower] >= s.high_watermark[leader])
    require(not s.EXPAND_EPOCH_START or s.late_fetch_offset[leader][follower] >= s.epoch_start_offset[leader])
    require(holds_log_start(s, leader, follower))
    s.late_fetch_offset[leader][follower] = NONE
    s.remote_log_end_offset[leader][follower] = s.log_end_offset[follower]
    s.remote_broker_epoch[leader][follower] = BrokerEpoch.REGISTERED
    propose_expansion(s, leader, follower)
    advance_high_watermark(s, leader)


@action(shows="of {follower} at {leader}")
def late_fetch_is_lost(s, leader: KraftReplica, follower: KraftReplica):
    """The fetch never arrives, or is refused."""
    require(s.late_fetches > 0)
    require(s.late_fetch_offset[leader][follower] != NONE)
    s.late_fetch_offset[leader][follower] = NONE


# ------------------------------------------------------------------------------------------------- fetches in two steps
#
# A fetch, and a diverging answer, in two steps each: what was checked can be out of date when it is applied.
#
# Kafka checks a fetch against the leader epoch under a read lock, gives the lock up, and takes it again to note how far
# the follower is: a change of leadership fits between the two (Partition.fetchRecords, updateFollowerFetchState). In
# the same way, a follower checks the epoch of a diverging answer under one lock, and truncates under another
# (AbstractFetcherThread.processFetchRequest, truncateOnFetchResponse). Both are switches that are off in every
# generation: then each is one step. The response to a fetch that counts late is left out: it is as if it were lost.


@action(shows="{leader} from {follower}")
def leader_admits_fetch(s, leader: KraftReplica, follower: KraftReplica):
    """The leader checks the epoch of a fetch, and reads the records; it does not note yet how far the follower is.

    Kafka: Partition.fetchRecords.
    """
    require(s.FETCH_IS_SPLIT)
    require(s.admitted_offset[leader][follower] == NONE)
    require(may_fetch(s, follower, leader))
    require(s.log_start_offset[leader] <= s.log_end_offset[follower] <= s.log_end_offset[leader])
    epoch = latest_epoch(s, follower)
    require(epoch == NONE or is_answered(s, leader, epoch))
    require(not diverges(s, leader, follower, epoch))
    s.admitted_offset[leader][follower] = s.log_end_offset[follower]


def may_join_by_former_state(s, leader, follower):
    """The old object says how far the follower is; the new one, whose process it is. Kafka: Partition.maybeExpandIsr,
    isReplicaIsrEligible.
    """
    return (
        may_propose(s, leader)
        and is_known_replica(s, leader, follower)
        and not s.isr[leader][follower]
        and s.remote_broker_epoch[leader][follower] == BrokerEpoch.REGISTERED
        and s.admitted_offset[leader][follower] >= s.high_watermark[leader]
        and (not s.EXPAND_EPOCH_START or s.admitted_offset[leader][follower] >= s.epoch_start_offset[leader])
        and holds_log_start(s, leader, follower)
    )


@action(shows="{leader} from {follower}")
def leader_counts_fetch(s, leader: KraftReplica, follower: KraftReplica):
    """The leader notes the offset of a fetch that it has checked before, whatever it has become in between.

    Kafka: Partition.updateFollowerFetchState, maybeExpandIsr.
    """
    require(s.FETCH_IS_SPLIT)
    require(s.admitted_offset[leader][follower] != NONE)
    if presumes_leadership(s, leader) and s.is_of_former_state[leader][follower]:
        if may_join_by_former_state(s, leader, follower):
            propose_expansion(s, leader, follower)
            advance_high_watermark(s, leader)
    elif presumes_leadership(s, leader):
        s.remote_log_end_offset[leader][follower] = s.admitted_offset[leader][follower]
        s.remote_broker_epoch[leader][follower] = BrokerEpoch.REGISTERED
        if may_join_by_former_state(s, leader, follower):
            propose_expansion(s, leader, follower)
        advance_high_watermark(s, leader)
    s.admitted_offset[leader][follower] = NONE
    s.is_of_former_state[leader][follower] = False


@action(shows="{follower} from {leader}")
def follower_checks_diverging_answer(s, follower: KraftReplica, leader: KraftReplica):
    """The follower finds the answer to be of its epoch, and notes what to truncate.

    Kafka: AbstractFetcherThread.processFetchRequest.
    """
    require(s.DIVERGING_ANSWER_IS_SPLIT)
    require(s.held_epoch[follower] == NONE)
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.DIVERGING)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    s.held_epoch[follower] = s.diverging_epoch[follower][leader]
    s.held_end_offset[follower] = s.diverging_end_offset[follower][leader]
    s.is_truncating[follower] = True
    clear_fetch(s, follower, leader)


def held_shared_end_offset(s, follower):
    """As in alter_partition.py, by the answer that is held."""
    epoch = s.held_epoch[follower]
    end_offset = s.held_end_offset[follower]
    if not is_answered(s, follower, epoch):
        return end_offset
    if epoch_for(s, follower, epoch) != epoch:
        return end_offset_for(s, follower, epoch)
    return min(end_offset, end_offset_for(s, follower, epoch))


@action(shows="{follower}")
def follower_truncates_as_noted(s, follower: KraftReplica):
    """The follower truncates, if it is a follower still or again: nobody looks at the epoch again.

    Not modelled: that the thread which fetches from a leader sends it nothing between check and truncation. Kafka:
    AbstractFetcherThread.truncateOnFetchResponse.
    """
    require(s.DIVERGING_ANSWER_IS_SPLIT)
    require(s.held_epoch[follower] != NONE)
    if s.leader[follower] != NONE and not presumes_leadership(s, follower):
        truncate_log(s, follower, held_shared_end_offset(s, follower))
        s.is_truncating[follower] = False
    s.held_epoch[follower] = NONE
    s.held_end_offset[follower] = 0
