"""What befalls brokers: bounces, crashes, losses of power and of disks, and the restarts that follow.

A process that dies leaves its log as it was written; only a loss of power takes what was not flushed. What comes back
is the log and a checkpointed high watermark: any up to the last one that the broker had. Left out: a follower's high
watermark can fall (follower.py), and for up to five seconds its checkpoint is then above it.
"""

from isrcheck.models.kafka.state.commit import begin_to_lead
from isrcheck.models.kafka.state.epochs import drop_epochs_from
from isrcheck.models.kafka.state.fields import EndOffset, Replica
from isrcheck.models.kafka.state.log import begin_to_follow, clamp_high_watermark, truncate_log
from isrcheck.models.kafka.state.roles import (
    adopt_controllers_isr,
    forget_heard_metadata,
    forget_own_fetches,
    stop_leading,
)
from isrcheck.models.language import NONE, action, require


def stop_broker(s, broker):
    """The process ends. What it knew of leader and epoch is gone; responses that it had sent are still on their way."""
    stop_leading(s, broker)
    forget_own_fetches(s, broker)
    s.is_up[broker] = False
    s.is_truncating[broker] = False
    s.leader[broker] = NONE
    s.leader_epoch[broker] = 0
    forget_heard_metadata(s)


def start_broker(s, broker, checkpoint):
    """The process comes back with a checkpointed high watermark, and the controller tells it how things stand.

    An epoch that starts at the log end is dropped from the cache when the log is loaded. A leader goes on in its epoch,
    without what it knew of its followers; a follower has to agree with its leader about the log.
    """
    s.is_up[broker] = True
    s.high_watermark[broker] = min(checkpoint, s.log_end_offset[broker])
    clamp_high_watermark(s, broker)
    drop_epochs_from(s, broker, s.log_end_offset[broker])
    s.leader[broker] = s.controller_leader
    s.leader_epoch[broker] = s.controller_epoch
    if s.controller_leader == broker:
        adopt_controllers_isr(s, broker)
        begin_to_lead(s, broker)
    else:
        begin_to_follow(s, broker)
    forget_heard_metadata(s)


@action(shows="{broker} checkpoint {checkpoint}")
def broker_bounces(s, broker: Replica, checkpoint: EndOffset):
    """A broker that does not lead is back before the controller notices: it keeps its place in the ISR."""
    require(s.bounces_left > 0)
    require(s.is_up[broker])
    require(broker != s.controller_leader)
    require(checkpoint <= s.high_watermark[broker])
    s.bounces_left -= 1
    stop_broker(s, broker)
    start_broker(s, broker, checkpoint)


@action
def broker_crashes(s, broker: Replica):
    """The process dies; what it has written to its log is kept by the operating system."""
    require(s.crashes_left > 0)
    require(s.is_up[broker])
    s.crashes_left -= 1
    stop_broker(s, broker)


@action(shows="{broker} keeping {kept}")
def broker_loses_power(s, broker: Replica, kept: EndOffset):
    """The machine dies, and the end of the log from `kept` on had not been flushed.

    A log does not come back shorter than where it starts (the log start itself is taken for checkpointed).
    """
    require(s.power_losses_left > 0)
    require(s.is_up[broker])
    require(s.log_start_offset[broker] <= kept)
    require(kept < s.log_end_offset[broker])
    s.power_losses_left -= 1
    stop_broker(s, broker)
    truncate_log(s, broker, kept)
    s.high_watermark[broker] = min(s.high_watermark[broker], kept)


@action
def broker_loses_disk(s, broker: Replica):
    """The machine dies, and will come back with an empty disk."""
    require(s.disk_losses_left > 0)
    require(s.is_up[broker])
    require(s.log_end_offset[broker] > 0)
    s.disk_losses_left -= 1
    stop_broker(s, broker)
    truncate_log(s, broker, 0)
    s.high_watermark[broker] = 0


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A broker that is down comes back, unless as many as are down for good would then be missing."""
    require(not s.is_up[broker])
    require(sum(1 for r in range(s.replicas) if not s.is_up[r]) > s.brokers_down)
    require(checkpoint <= s.high_watermark[broker])
    start_broker(s, broker, checkpoint)
