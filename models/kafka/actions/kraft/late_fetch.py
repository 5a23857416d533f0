"""A fetch of a process that has ended reaches the leader after the broker has registered anew (KAFKA-15221).

The fetch was sent just before the end of the process, and says how long its log was then. Up to 3.6, the leader may
decide on it that the follower joins the ISR, and then name the broker epoch of the new process, whose first fetch has
arrived in between. Since 3.7 it compares the broker epochs.
"""

from isrcheck.models.kafka.actions.alter_partition import holds_log_start
from isrcheck.models.kafka.actions.faults import lose_disk
from isrcheck.models.kafka.state.broker.commit import advance_high_watermark
from isrcheck.models.kafka.state.broker.lifecycle import stop_broker
from isrcheck.models.kafka.state.broker.proposals import may_propose, propose_expansion
from isrcheck.models.kafka.state.broker.roles import can_ask, may_fetch
from isrcheck.models.kafka.state.fields import KraftReplica
from isrcheck.models.kafka.state.values import BrokerEpoch
from isrcheck.models.language import NONE, action, require


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
